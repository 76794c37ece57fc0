#include "pay/did_document.h"

#include <openssl/sha.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"
#include "pay/jws.h"

#define KID_BYTES 2048
#define COORDINATE 32

static void
put_string(struct buf *out, const char *name, const char *s)
{
	json_key(out, name);
	json_put_string(out, s);
}

static void
put_base64url(
    struct buf *out, const char *name, const uint8_t *data, size_t len)
{
	json_key(out, name);
	buf_addc(out, '"');
	hex_base64url(out, data, len);
	buf_addc(out, '"');
}

/* ---- keys ---- */

/* kid NULL: left out, since the method around the key has it as its id. */
static void
put_ed_jwk(struct buf *out, const struct edkey *k, const char *kid)
{
	buf_adds(out, "{\"kty\":\"OKP\",\"crv\":\"Ed25519\"");
	put_base64url(out, "x", edkey_public(k), EDKEY_PUBLIC);
	put_string(out, "alg", "EdDSA");
	put_string(out, "use", "sig");
	if (kid != NULL)
		put_string(out, "kid", kid);
	buf_addc(out, '}');
}

static void
put_evm_jwk(struct buf *out, const struct eth_signer *s, const char *kid)
{
	const uint8_t *point = eth_signer_point(s);

	buf_adds(out, "{\"kty\":\"EC\",\"crv\":\"secp256k1\"");
	put_base64url(out, "x", point, COORDINATE);
	put_base64url(out, "y", point + COORDINATE, COORDINATE);
	put_string(out, "alg", "ES256K");
	put_string(out, "use", "sig");
	if (kid != NULL)
		put_string(out, "kid", kid);
	buf_addc(out, '}');
}

/* did#thumbprint (RFC 7638), as every other key. */
static void
evm_kid(struct buf *out, const char *did, const struct eth_signer *s)
{
	const uint8_t *point = eth_signer_point(s);
	uint8_t hash[SHA256_DIGEST_LENGTH];
	OWN_BUF struct buf text;

	buf_init(&text, 256);
	buf_adds(&text, "{\"crv\":\"secp256k1\",\"kty\":\"EC\"");
	put_base64url(&text, "x", point, COORDINATE);
	put_base64url(&text, "y", point + COORDINATE, COORDINATE);
	buf_addc(&text, '}');
	if (buf_status(&text) != ST_OK ||
	    SHA256(text.data, text.len, hash) == NULL) {
		out->st = ST_NOMEM;
		return;
	}
	buf_addf(out, "%s#", did);
	hex_base64url(out, hash, sizeof(hash));
}

/* The name of published key number i into kid. False behind the last one; *ed
 * is NULL for the EVM key. */
static bool
next_key(const struct edkey **ed, struct buf *kid, const char *did,
    const struct keyring *keys, size_t i)
{
	*ed = keyring_published(keys, i);
	buf_clear(kid);
	if (*ed != NULL) {
		jws_put_kid(kid, did, *ed);
		return true;
	}
	/* Behind those comes the EVM key, once. */
	if (keyring_evm(keys) == NULL || keyring_published(keys, i - 1) == NULL)
		return false;
	evm_kid(kid, did, keyring_evm(keys));
	return true;
}

/* ---- the documents ---- */

static void
put_method(struct buf *out, const char *did, const char *kid,
    const struct edkey *ed, const struct eth_signer *evm)
{
	json_sep(out);
	buf_addc(out, '{');
	put_string(out, "id", kid);
	put_string(out, "type", "JsonWebKey2020");
	put_string(out, "controller", did);
	json_key(out, "publicKeyJwk");
	if (ed != NULL)
		put_ed_jwk(out, ed, NULL);
	else
		put_evm_jwk(out, evm, NULL);
	buf_addc(out, '}');
}

void
did_document_put(struct buf *out, const char *did, const struct keyring *keys)
{
	const struct edkey *ed;
	OWN_BUF struct buf kid;

	buf_init(&kid, KID_BYTES);
	buf_adds(out, "{\"@context\":[\"https://www.w3.org/ns/did/v1\","
		      "\"https://w3id.org/security/suites/jws-2020/v1\"]");
	put_string(out, "id", did);
	json_key(out, "verificationMethod");
	buf_addc(out, '[');
	for (size_t i = 0; next_key(&ed, &kid, did, keys, i); i++)
		put_method(out, did, buf_cstr(&kid), ed, keyring_evm(keys));
	buf_addc(out, ']');
	json_key(out, "assertionMethod");
	buf_addc(out, '[');
	for (size_t i = 0; next_key(&ed, &kid, did, keys, i); i++) {
		json_sep(out);
		json_put_string(out, buf_cstr(&kid));
	}
	buf_adds(out, "]}");
	if (buf_status(&kid) != ST_OK)
		out->st = buf_status(&kid);
}

void
did_document_put_jwks(
    struct buf *out, const char *did, const struct keyring *keys)
{
	const struct edkey *ed;
	OWN_BUF struct buf kid;

	buf_init(&kid, KID_BYTES);
	buf_adds(out, "{\"keys\":[");
	for (size_t i = 0; next_key(&ed, &kid, did, keys, i); i++) {
		json_sep(out);
		if (ed != NULL)
			put_ed_jwk(out, ed, buf_cstr(&kid));
		else
			put_evm_jwk(out, keyring_evm(keys), buf_cstr(&kid));
	}
	buf_adds(out, "]}");
	if (buf_status(&kid) != ST_OK)
		out->st = buf_status(&kid);
}

/* ---- finding a key ---- */

static bool
is_text(const struct cJSON *obj, const char *name, const char *text)
{
	const char *s = json_string(json_get(obj, name));

	return s != NULL && strcmp(s, text) == 0;
}

/* The element of list whose member `name` is kid; NULL if there is none. */
static const struct cJSON *
named(const struct cJSON *list, const char *name, const char *kid)
{
	const struct cJSON *v;

	for (v = json_first(list); v != NULL; v = json_next(v))
		if (json_is_object(v) && is_text(v, name, kid))
			return v;
	return NULL;
}

static bool
listed(const struct cJSON *list, const char *kid)
{
	const struct cJSON *v;

	for (v = json_first(list); v != NULL; v = json_next(v))
		if (json_string(v) != NULL && strcmp(json_string(v), kid) == 0)
			return true;
	return false;
}

static enum status
read_jwk(uint8_t public[EDKEY_PUBLIC], const struct cJSON *jwk, struct fault *f)
{
	const char *x = json_string(json_get(jwk, "x"));
	OWN_BUF struct buf b;

	buf_init(&b, EDKEY_PUBLIC);
	if (!json_is_object(jwk) || x == NULL || !is_text(jwk, "kty", "OKP") ||
	    !is_text(jwk, "crv", "Ed25519") ||
	    hex_unbase64(&b, x, strlen(x)) != ST_OK || b.len != EDKEY_PUBLIC)
		return fault_set(
		    f, ST_FORMAT, "the key of that name is no Ed25519 key");
	memcpy(public, b.data, EDKEY_PUBLIC);
	return ST_OK;
}

static enum status
find_in_did(uint8_t public[EDKEY_PUBLIC], const struct cJSON *doc,
    const char *did, const char *kid, struct fault *f)
{
	const struct cJSON *method =
	    named(json_get(doc, "verificationMethod"), "id", kid);

	if (!is_text(doc, "id", did))
		return fault_set(f, ST_FORMAT,
		    "the DID document is not the one of %.200s", did);
	if (method == NULL || !listed(json_get(doc, "assertionMethod"), kid))
		return fault_set(f, ST_NOT_FOUND,
		    "the DID document has no key %.250s to sign with", kid);
	return read_jwk(public, json_get(method, "publicKeyJwk"), f);
}

enum status
did_document_find(uint8_t public[EDKEY_PUBLIC], const struct cJSON *doc,
    const char *did, const char *kid, struct fault *f)
{
	const struct cJSON *jwk;

	if (json_is_array(json_get(doc, "verificationMethod")))
		return find_in_did(public, doc, did, kid, f);
	if (!json_is_array(json_get(doc, "keys")))
		return fault_set(f, ST_FORMAT,
		    "this is neither a DID document nor a JWK set");
	jwk = named(json_get(doc, "keys"), "kid", kid);
	if (jwk == NULL)
		return fault_set(
		    f, ST_NOT_FOUND, "the JWK set has no key %.250s", kid);
	return read_jwk(public, jwk, f);
}
