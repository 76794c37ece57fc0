/*
 * The service's signing keys: one for receipts, one for the offers and receipts
 * of the x402 extension, what earlier ones were (published for as long as their
 * receipts may be checked), and perhaps an EVM key from the settings.
 *
 * They are files in STATE_DIR/keys, which only the gate's user may read:
 * receipts.pem and offers.pem are private keys, old-ID.pem public ones. Loaded
 * once and never changed, so threads may share it.
 */
#ifndef KEYRING_H
#define KEYRING_H

#include <stddef.h>

#include "base/status.h"
#include "pay/edkey.h"
#include "pay/eth.h"

#define KEYRING_OLD 64 /* earlier keys, at most */

struct keyring;

/* Load the keys, making those that are not there. evm_key is 0x and 64 hex
 * digits, or NULL. ST_OK; else f in words: ST_REFUSED (a file that others may
 * read, or that is another user's), ST_FORMAT (no key in it), ST_IO,
 * ST_NOMEM. */
enum status keyring_open(struct keyring **out, const char *state_dir,
    const char *evm_key, struct fault *f) __attribute__((warn_unused_result));
void keyring_close(struct keyring *k); /* NULL is fine */

const struct edkey *keyring_receipts(const struct keyring *k);
const struct edkey *keyring_offers(const struct keyring *k);
const struct eth_signer *keyring_evm(const struct keyring *k); /* or NULL */

/* All Ed25519 keys that are published: those two, then the earlier ones. NULL
 * behind the last. */
const struct edkey *keyring_published(const struct keyring *k, size_t i);

/* Make new keys in the place of both. The public halves of those that were
 * there stay, as earlier ones. A running service goes on with the keys that it
 * loaded. As keyring_open(), and ST_TOO_BIG: there are too many earlier ones
 * already. */
enum status keyring_rotate(const char *state_dir, struct fault *f)
    __attribute__((warn_unused_result));

#endif
