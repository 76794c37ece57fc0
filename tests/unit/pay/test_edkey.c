/* Keys as text, their names, and signatures by the RFCs' own vectors. */
#include "keys_fixture.h"

#include "base/hex.h"
#include "pay/edkey.h"

static struct edkey *
well_known(void)
{
	struct edkey *k = NULL;

	assert_int_equal(edkey_read(&k, KEYS_PEM, strlen(KEYS_PEM)), ST_OK);
	return k;
}

static void
base64url_is(const uint8_t *data, size_t len, const char *expected)
{
	OWN_BUF struct buf b;

	buf_init(&b, 1024);
	hex_base64url(&b, data, len);
	assert_string_equal(buf_cstr(&b), expected);
}

/* RFC 8037 A.1 to A.4. */
static void
rfc8037(void **state)
{
	static const char input[] =
	    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
	struct edkey *k = well_known();
	uint8_t sig[EDKEY_SIGNATURE];

	(void)state;
	base64url_is(edkey_public(k), EDKEY_PUBLIC, KEYS_X);
	assert_string_equal(edkey_id(k), KEYS_ID);
	assert_int_equal(edkey_sign(sig, k, input, strlen(input)), ST_OK);
	base64url_is(sig, sizeof(sig),
	    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhV"
	    "sPt9g7sVvpAr_MuM0KAg");
	assert_true(edkey_signed(edkey_public(k), input, strlen(input), sig));
	edkey_close(k);
}

/* Any bit of key, text or signature. */
static void
changed(void **state)
{
	static const char text[] = "what was signed";
	uint8_t sig[EDKEY_SIGNATURE], key[EDKEY_PUBLIC];
	struct edkey *k = well_known();
	char other[sizeof(text)];

	(void)state;
	assert_int_equal(edkey_sign(sig, k, text, sizeof(text)), ST_OK);
	memcpy(key, edkey_public(k), sizeof(key));
	for (size_t i = 0; i < 8 * sizeof(sig); i++) {
		sig[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_false(edkey_signed(key, text, sizeof(text), sig));
		sig[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	for (size_t i = 0; i < 8 * sizeof(key); i++) {
		key[i / 8] ^= (uint8_t)(1u << i % 8);
		assert_false(edkey_signed(key, text, sizeof(text), sig));
		key[i / 8] ^= (uint8_t)(1u << i % 8);
	}
	for (size_t i = 0; i < sizeof(text); i++) {
		memcpy(other, text, sizeof(text));
		other[i] ^= 1;
		assert_false(edkey_signed(key, other, sizeof(text), sig));
	}
	assert_false(edkey_signed(key, text, sizeof(text) - 1, sig));
	assert_true(edkey_signed(key, text, sizeof(text), sig));
	edkey_close(k);
}

static void
written_and_read(void **state)
{
	struct edkey *k = NULL, *again = NULL, *public = NULL;
	uint8_t sig[EDKEY_SIGNATURE];
	OWN_BUF struct buf b;

	(void)state;
	assert_int_equal(edkey_make(&k), ST_OK);
	buf_init(&b, EDKEY_PEM);
	edkey_put_private(&b, k);
	assert_int_equal(edkey_read(&again, buf_cstr(&b), b.len), ST_OK);
	assert_string_equal(edkey_id(again), edkey_id(k));
	assert_int_equal(edkey_sign(sig, again, "x", 1), ST_OK);
	assert_true(edkey_signed(edkey_public(k), "x", 1, sig));

	buf_clear(&b);
	edkey_put_public(&b, k);
	assert_null(strstr(buf_cstr(&b), "PRIVATE"));
	assert_int_equal(edkey_read(&public, buf_cstr(&b), b.len), ST_OK);
	assert_string_equal(edkey_id(public), edkey_id(k));
	assert_int_equal(edkey_sign(sig, public, "x", 1), ST_BUG);
	buf_clear(&b);
	edkey_put_private(&b, public);
	assert_int_equal(buf_status(&b), ST_BUG);

	edkey_close(public);
	public = NULL;
	assert_int_equal(edkey_make(&public), ST_OK);
	assert_string_not_equal(edkey_id(public), edkey_id(k));
	edkey_close(k);
	edkey_close(again);
	edkey_close(public);
	edkey_close(NULL);
}

static void
no_key(void **state)
{
	/* The last two: a P-256 key, and one that wants a password. */
	static const char *const texts[] = { "", "x", "PRIVATE KEY",
		"-----BEGIN PRIVATE KEY-----\nMC4C\n-----END PRIVATE KEY-----",
		"-----BEGIN PUBLIC KEY-----\n"
		"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAExfMHg5RXkF2KPU08vp8sYE1A"
		"FNKv\n"
		"QAvhwC7LKVuYB0rTjDX3dGgjKUEEJrhUkXQdZKTNbNbvnhRtVZZvE1GfOQ==\n"
		"-----END PUBLIC KEY-----\n",
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMC4C\n"
		"-----END ENCRYPTED PRIVATE KEY-----" };
	struct edkey *k = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(
		    edkey_read(&k, texts[i], strlen(texts[i])), ST_FORMAT);
		assert_null(k);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rfc8037),
		cmocka_unit_test(changed),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
