#include "pay/jws.h"

#include "base/hex.h"
#include "base/json.h"

#define HEADER_BYTES 4096 /* a DID of a site takes 1600 at most */
#define INPUT_BYTES 8192  /* the header in base64url, and two dots */

void
jws_put_kid(struct buf *out, const char *did, const struct edkey *k)
{
	buf_adds(out, did);
	buf_addc(out, '#');
	buf_adds(out, edkey_id(k));
}

/* Members in their sorted order; type may be NULL. */
static void
put_header(
    struct buf *out, const struct edkey *k, const char *did, const char *type)
{
	OWN_BUF struct buf kid;
	OWN_BUF struct buf b;

	buf_init(&kid, HEADER_BYTES);
	buf_init(&b, HEADER_BYTES);
	jws_put_kid(&kid, did, k);
	buf_adds(&b, "{\"alg\":\"EdDSA\"");
	json_key(&b, "kid");
	json_put_string(&b, buf_cstr(&kid));
	if (type != NULL) {
		json_key(&b, "typ");
		json_put_string(&b, type);
	}
	buf_addc(&b, '}');
	if (buf_status(&kid) != ST_OK)
		out->st = buf_status(&kid);
	else if (buf_status(&b) != ST_OK)
		out->st = buf_status(&b);
	else
		hex_base64url(out, b.data, b.len);
}

static void
put(struct buf *out, const struct edkey *k, const char *did, const char *type,
    bool detached, const void *payload, size_t len)
{
	uint8_t sig[EDKEY_SIGNATURE];
	OWN_BUF struct buf input;
	size_t header;
	enum status st = ST_BUG;

	buf_init(&input, INPUT_BYTES + 2 * len);
	put_header(&input, k, did, type);
	header = input.len;
	buf_addc(&input, '.');
	hex_base64url(&input, payload, len);
	st = buf_status(&input);
	if (st == ST_OK)
		st = edkey_sign(sig, k, input.data, input.len);
	if (st != ST_OK) {
		out->st = st;
		return;
	}
	if (detached) {
		buf_add(out, input.data, header);
		buf_addc(out, '.');
	} else {
		buf_add(out, input.data, input.len);
	}
	buf_addc(out, '.');
	hex_base64url(out, sig, sizeof(sig));
}

void
jws_put(struct buf *out, const struct edkey *k, const char *did,
    const void *payload, size_t len)
{
	put(out, k, did, NULL, false, payload, len);
}

void
jws_put_detached(struct buf *out, const struct edkey *k, const char *did,
    const char *type, const void *payload, size_t len)
{
	put(out, k, did, type, true, payload, len);
}
