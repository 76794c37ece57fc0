/* Key files: made once, kept, refused when others can read them, replaced. */
#include "keys_fixture.h"

static struct keyring *
opened(const struct keys_folder *d)
{
	struct fault f = { .st = ST_OK };
	struct keyring *k = NULL;

	if (keyring_open(&k, d->path, NULL, &f) != ST_OK)
		fail_msg("%s", f.message);
	return k;
}

static void
refused(const struct keys_folder *d, enum status st, const char *says)
{
	struct fault f = { .st = ST_OK };
	struct keyring *k = NULL;

	assert_int_equal(keyring_open(&k, d->path, NULL, &f), st);
	assert_null(k);
	if (strstr(f.message, says) == NULL)
		fail_msg("it says: %s", f.message);
}

static mode_t
mode_of(const struct keys_folder *d, const char *name)
{
	char path[192];
	struct stat sb;

	keys_path(path, d, name);
	assert_int_equal(lstat(path, &sb), 0);
	return sb.st_mode & 07777;
}

static void
made_once(void **state)
{
	struct keys_folder d;
	struct keyring *first, *second;

	(void)state;
	keys_folder_make(&d);
	umask(0);
	first = opened(&d);
	assert_int_equal(mode_of(&d, ""), 0700);
	assert_int_equal(mode_of(&d, "receipts.pem"), 0600);
	assert_int_equal(mode_of(&d, "offers.pem"), 0600);
	assert_int_equal(keys_count(&d, ".new"), 0);
	assert_string_not_equal(
	    edkey_id(keyring_receipts(first)), edkey_id(keyring_offers(first)));
	assert_ptr_equal(keyring_published(first, 0), keyring_receipts(first));
	assert_ptr_equal(keyring_published(first, 1), keyring_offers(first));
	assert_null(keyring_published(first, 2));
	assert_null(keyring_evm(first));

	second = opened(&d);
	assert_string_equal(edkey_id(keyring_receipts(first)),
	    edkey_id(keyring_receipts(second)));
	assert_string_equal(
	    edkey_id(keyring_offers(first)), edkey_id(keyring_offers(second)));
	keyring_close(first);
	keyring_close(second);
	keyring_close(NULL);
	keys_folder_drop(&d);
}

static void
given(void **state)
{
	char text[ETH_ADDRESS_TEXT];
	struct keyring *k = keys_well_known(KEYS_EVM);

	(void)state;
	assert_string_equal(edkey_id(keyring_receipts(k)), KEYS_ID);
	eth_address_text(text, eth_signer_address(keyring_evm(k)));
	assert_string_equal(text, KEYS_EVM_ADDRESS);
	keyring_close(k);
}

static void
not_ours_alone(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0601, 0666 };
	struct keys_folder d;
	struct keyring *k = NULL;
	char path[192];

	(void)state;
	keys_folder_make(&d);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		keys_put(&d, "receipts.pem", KEYS_PEM, modes[i]);
		refused(&d, ST_REFUSED, "receipts.pem must be a file");
	}
	keys_put(&d, "receipts.pem", KEYS_PEM, 0600);
	keys_put(&d, "offers.pem", KEYS_PEM, 0644);
	refused(&d, ST_REFUSED, "chmod 600");
	/* A link may lead to what is not ours. */
	keys_path(path, &d, "offers.pem");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("receipts.pem", path), 0);
	refused(&d, ST_IO, "offers.pem");
	assert_int_equal(unlink(path), 0);
	if (geteuid() == 0) {
		keys_put(&d, "offers.pem", KEYS_PEM, 0600);
		assert_int_equal(chown(path, 65534, 65534), 0);
		refused(&d, ST_REFUSED, "offers.pem must be a file");
		assert_int_equal(unlink(path), 0);
	}
	keys_put(&d, "offers.pem", KEYS_PEM, 0600);
	k = opened(&d);
	keyring_close(k);
	keys_folder_drop(&d);
}

static void
no_keys(void **state)
{
	static const char *const texts[] = { "", "nonsense",
		KEYS_PEM "and much more than any key has: "
			 "................................................"
			 "................................................"
			 "................................................" };
	struct fault f = { .st = ST_OK };
	struct keyring *k = NULL;
	struct keys_folder d;

	(void)state;
	keys_folder_make(&d);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		keys_put(&d, "receipts.pem", texts[i], 0600);
		refused(&d, ST_FORMAT, "no Ed25519 key");
	}
	keys_put(&d, "receipts.pem", KEYS_PEM, 0600);
	assert_int_equal(
	    keyring_open(&k, d.path,
		"0x000000000000000000000000000000000000000000000000000000000000"
		"0000",
		&f),
	    ST_FORMAT);
	assert_non_null(strstr(f.message, "offer_signing_key_file"));
	assert_null(k);
	assert_int_equal(keyring_open(&k, "/nowhere", NULL, &f), ST_IO);
	keys_folder_drop(&d);
}

static void
rotated(void **state)
{
	struct fault f = { .st = ST_OK };
	char ids[3][EDKEY_ID];
	struct keys_folder d;
	struct keyring *k;
	size_t n = 0, found = 0;

	(void)state;
	keys_folder_make(&d);
	k = opened(&d);
	snprintf(ids[0], EDKEY_ID, "%s", edkey_id(keyring_receipts(k)));
	snprintf(ids[1], EDKEY_ID, "%s", edkey_id(keyring_offers(k)));
	keyring_close(k);
	assert_int_equal(keyring_rotate(d.path, &f), ST_OK);
	k = opened(&d);
	snprintf(ids[2], EDKEY_ID, "%s", edkey_id(keyring_receipts(k)));
	assert_string_not_equal(ids[2], ids[0]);
	assert_string_not_equal(edkey_id(keyring_offers(k)), ids[1]);
	for (; keyring_published(k, n) != NULL; n++)
		for (int i = 0; i < 3; i++)
			found += strcmp(edkey_id(keyring_published(k, n)),
				     ids[i]) == 0;
	assert_int_equal(n, 4);
	assert_int_equal(found, 3);
	assert_int_equal(keys_count(&d, "old-"), 2);
	keyring_close(k);
	keys_folder_drop(&d);
}

/* The private half of an old key is nowhere any more; a rotation that ended
 * after its first step changes nothing. */
static void
cut_short(void **state)
{
	static const char public[] =
	    "-----BEGIN PUBLIC KEY-----\n"
	    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
	    "-----END PUBLIC KEY-----\n";
	char path[192], text[512] = "";
	struct keys_folder d;
	struct fault f;
	struct keyring *k;
	int fd;

	(void)state;
	keys_folder_make(&d);
	keys_put(&d, "receipts.pem", KEYS_PEM, 0600);
	keys_put(&d, "old-" KEYS_ID ".pem", public, 0600);
	keys_put(&d, ".new", "half", 0600);
	k = opened(&d);
	assert_string_equal(edkey_id(keyring_receipts(k)), KEYS_ID);
	assert_null(keyring_published(k, 2));
	keyring_close(k);
	assert_int_equal(keyring_rotate(d.path, &f), ST_OK);
	k = opened(&d);
	assert_non_null(keyring_published(k, 3));
	assert_null(keyring_published(k, 4));
	keyring_close(k);
	keys_path(path, &d, "old-" KEYS_ID ".pem");
	fd = open(path, O_RDONLY);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, public);
	keys_folder_drop(&d);
}

static void
too_many(void **state)
{
	struct fault f = { .st = ST_OK };
	struct keys_folder d;
	struct keyring *k;

	(void)state;
	keys_folder_make(&d);
	for (int i = 0; i < KEYRING_OLD / 2; i++)
		assert_int_equal(keyring_rotate(d.path, &f), ST_OK);
	assert_int_equal(keyring_rotate(d.path, &f), ST_TOO_BIG);
	assert_non_null(strstr(f.message, "earlier keys"));
	k = opened(&d);
	assert_non_null(keyring_published(k, KEYRING_OLD + 1));
	assert_null(keyring_published(k, KEYRING_OLD + 2));
	keyring_close(k);
	keys_folder_drop(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(made_once),
		cmocka_unit_test(given),
		cmocka_unit_test(not_ours_alone),
		cmocka_unit_test(no_keys),
		cmocka_unit_test(rotated),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
