#include "pay/keyring.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/own.h"
#include "pay/keyring_files.h"

struct keyring {
	struct edkey *receipts;
	struct edkey *offers;
	struct edkey *old[KEYRING_OLD];
	size_t n_old;
	struct eth_signer *evm;
};

static enum status
open_evm(struct keyring *k, const char *text, struct fault *f)
{
	uint8_t secret[32];
	enum status st = hex_decode0x(secret, sizeof(secret), text);

	if (st == ST_OK)
		st = eth_signer_open(&k->evm, secret);
	explicit_bzero(secret, sizeof(secret));
	if (st != ST_OK)
		fault_set(f, st,
		    "offer_signing_key_file: there is no secp256k1 key in it");
	return st;
}

/* The key of a file, or a new one that is now in that file. */
static enum status
open_or_make(struct edkey **out, const struct keyring_files *d,
    const char *name, struct fault *f)
{
	enum status st = keyring_files_read(out, d, name, f);

	if (st != ST_NOT_FOUND)
		return st;
	st = edkey_make(out);
	if (st != ST_OK)
		return fault_set(f, st, "a key could not be made");
	return keyring_files_write(d, name, *out, true, f);
}

static bool
is_published(const struct keyring *k, const struct edkey *key)
{
	const struct edkey *p = keyring_published(k, 0);

	for (size_t i = 0; p != NULL; p = keyring_published(k, ++i))
		if (strcmp(edkey_id(p), edkey_id(key)) == 0)
			return true;
	return false;
}

/* One earlier key. A rotation that was cut short may have left the present one
 * among them. */
static enum status
add_old(
    void *ctx, const struct keyring_files *d, const char *name, struct fault *f)
{
	struct keyring *k = ctx;
	struct edkey *key = NULL;
	enum status st = keyring_files_read(&key, d, name, f);

	if (st != ST_OK)
		return st;
	if (is_published(k, key)) {
		edkey_close(key);
		return ST_OK;
	}
	if (k->n_old == KEYRING_OLD) {
		edkey_close(key);
		return fault_set(f, ST_TOO_BIG,
		    "there are more than %d earlier keys", KEYRING_OLD);
	}
	k->old[k->n_old++] = key;
	return ST_OK;
}

static enum status
load(struct keyring *k, const struct keyring_files *d, struct fault *f)
{
	enum status st = open_or_make(&k->receipts, d, KEYRING_RECEIPTS, f);

	if (st == ST_OK)
		st = open_or_make(&k->offers, d, KEYRING_OFFERS, f);
	if (st == ST_OK)
		st = keyring_files_old(d, add_old, k, f);
	return st;
}

enum status
keyring_open(struct keyring **out, const char *state_dir, const char *evm_key,
    struct fault *f)
{
	struct keyring *k = calloc(1, sizeof(*k));
	struct keyring_files d;
	enum status st;

	*out = NULL;
	if (k == NULL)
		return fault_set(f, ST_NOMEM, "no memory for keys");
	st = keyring_files_open(&d, state_dir, f);
	if (st == ST_OK) {
		st = load(k, &d, f);
		keyring_files_close(&d);
	}
	if (st == ST_OK && evm_key != NULL)
		st = open_evm(k, evm_key, f);
	if (st == ST_OK)
		*out = k;
	else
		keyring_close(k);
	return st;
}

void
keyring_close(struct keyring *k)
{
	if (k == NULL)
		return;
	edkey_close(k->receipts);
	edkey_close(k->offers);
	for (size_t i = 0; i < k->n_old; i++)
		edkey_close(k->old[i]);
	eth_signer_close(k->evm);
	free(k);
}

const struct edkey *
keyring_receipts(const struct keyring *k)
{
	return k->receipts;
}

const struct edkey *
keyring_offers(const struct keyring *k)
{
	return k->offers;
}

const struct eth_signer *
keyring_evm(const struct keyring *k)
{
	return k->evm;
}

const struct edkey *
keyring_published(const struct keyring *k, size_t i)
{
	if (i == 0)
		return k->receipts;
	if (i == 1)
		return k->offers;
	return i - 2 < k->n_old ? k->old[i - 2] : NULL;
}

/* ---- rotation ---- */

static enum status
replace(const struct keyring_files *d, const char *name,
    const struct edkey *present, struct fault *f)
{
	char old[KEYRING_FILES_NAME];
	struct edkey *made = NULL;
	enum status st;

	/* First what must not be lost, then the new key over it. */
	keyring_files_old_name(old, edkey_id(present));
	st = keyring_files_write(d, old, present, false, f);
	if (st != ST_OK)
		return st;
	st = edkey_make(&made);
	if (st != ST_OK)
		return fault_set(f, st, "a key could not be made");
	st = keyring_files_write(d, name, made, true, f);
	edkey_close(made);
	return st;
}

enum status
keyring_rotate(const char *state_dir, struct fault *f)
{
	struct keyring *k = calloc(1, sizeof(*k));
	struct keyring_files d;
	enum status st;

	if (k == NULL)
		return fault_set(f, ST_NOMEM, "no memory for keys");
	st = keyring_files_open(&d, state_dir, f);
	if (st != ST_OK) {
		keyring_close(k);
		return st;
	}
	st = load(k, &d, f);
	if (st == ST_OK && k->n_old + 2 > KEYRING_OLD)
		st = fault_set(f, ST_TOO_BIG,
		    "there are %zu earlier keys; remove those whose receipts "
		    "nobody will check any more",
		    k->n_old);
	if (st == ST_OK)
		st = replace(&d, KEYRING_RECEIPTS, k->receipts, f);
	if (st == ST_OK)
		st = replace(&d, KEYRING_OFFERS, k->offers, f);
	keyring_files_close(&d);
	keyring_close(k);
	return st;
}
