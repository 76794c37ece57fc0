/*
 * libFuzzer: what somebody hands us as a receipt, and what an issuer's host
 * answers as its keys: the input is cut at its first zero byte into the two.
 * Nothing may break, and nothing that the fuzzer makes up can be signed with
 * the key that we never show it.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "pay/did.h"
#include "pay/receipt_check.h"

#define OURS                                                                   \
	"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\","                     \
	"\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\","               \
	"\"kid\":\"did:web:a#k\"}]}"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
look_up(const char *did)
{
	OWN_BUF struct buf origin, path;

	buf_init(&origin, 1 << 16);
	buf_init(&path, 1 << 16);
	if (did_document_url(&origin, &path, did) != ST_OK)
		return;
	must(strncmp(buf_cstr(&origin), "https://", 8) == 0);
	must(strpbrk(buf_cstr(&origin) + 8, "/@?# \\") == NULL);
	must(path.data[0] == '/' && strpbrk(buf_cstr(&path), "?# \\") == NULL);
	must(strstr(buf_cstr(&path), "/../") == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *cut = memchr(data, 0, size);
	size_t first = cut == NULL ? size : (size_t)(cut - data);
	const char *keys = cut == NULL ? "" : (const char *)cut + 1;
	size_t n_keys = cut == NULL ? 0 : size - first - 1;
	struct fault f = { .st = ST_OK };
	struct receipt_check c;
	enum status st;

	st = receipt_check_open(&c, (const char *)data, first, &f);
	if (st != ST_OK) {
		must(f.st == st && f.message[0] != '\0' && c.file == NULL);
		return 0;
	}
	look_up(c.issuer);
	must(receipt_check_signature(&c, OURS, strlen(OURS), &f) != ST_OK);
	(void)!receipt_check_signature(&c, keys, n_keys, &f);
	(void)!receipt_check_request(&c, keys, n_keys, &f);
	(void)!receipt_check_answer(&c, NULL, 0, &f);
	(void)!receipt_check_answer(&c, keys, n_keys, &f);
	receipt_check_close(&c);
	return 0;
}
