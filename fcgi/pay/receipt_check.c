#include "pay/receipt_check.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/jcs.h"
#include "base/json.h"
#include "pay/did.h"
#include "pay/did_document.h"
#include "pay/jws.h"

#define RECEIPT_BYTES (64u << 10) /* ours take two */
#define HEADER_BYTES 4096
#define INPUT_BYTES (128u << 10)
/* The canonical text of an answer: 16 MiB of output, each byte six. */
#define ANSWER_BYTES (256u << 20)

/* Of a whole answer: 60000 values of a result, 64 files, all within 100. */
static const struct json_caps FILE_CAPS = { .depth = 200, .values = 1 << 20 };
static const struct json_caps HEADER_CAPS = { .depth = 2, .values = 8 };
static const struct json_caps KEYS_CAPS = { .depth = 16, .values = 8192 };

/* ---- base64url ---- */

/* Decode exactly what an encoder of ours writes; hex_unbase64() alone would
 * take other spellings, and a changed character could go unseen. */
static enum status
unbase64url(struct buf *out, const char *text, size_t len)
{
	OWN_BUF struct buf again;
	enum status st = hex_unbase64(out, text, len);

	buf_init(&again, len);
	if (st != ST_OK)
		return st;
	hex_base64url(&again, out->data, out->len);
	if (buf_status(&again) == ST_NOMEM)
		return ST_NOMEM;
	return again.len == len && memcmp(again.data, text, len) == 0
		   ? ST_OK
		   : ST_FORMAT;
}

/* ---- the file ---- */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Text is JSON, or JSON in base64url, as a header carries it. */
static enum status
parse_file(struct cJSON **out, const char *text, size_t len, struct fault *f)
{
	OWN_BUF struct buf plain;
	struct fault why = { .st = ST_BUG };
	enum status st;

	buf_init(&plain, len);
	while (len > 0 && is_blank(text[len - 1]))
		len--;
	while (len > 0 && is_blank(text[0])) {
		text++;
		len--;
	}
	if (len > 0 && text[0] != '{' &&
	    unbase64url(&plain, text, len) == ST_OK) {
		text = buf_cstr(&plain);
		len = plain.len;
	}
	st = json_parse(out, text, len, &FILE_CAPS, &why);
	if (st == ST_FORMAT)
		return fault_set(f, st, "this is no JSON: %s", why.message);
	if (st != ST_OK)
		return fault_set(f, st, "no memory");
	return ST_OK;
}

/* ---- the signature's header ---- */

/* Keep the kid of a header that is exactly {"alg","kid","typ"}, ours to the
 * byte. */
static enum status
read_header(struct receipt_check *c, const char *text, size_t len)
{
	OWN_JSON struct cJSON *header = NULL;
	OWN_BUF struct buf plain, exact;
	const char *kid;
	enum status st;

	buf_init(&plain, HEADER_BYTES);
	buf_init(&exact, HEADER_BYTES);
	st = unbase64url(&plain, text, len);
	if (st == ST_OK)
		st = json_parse(
		    &header, buf_cstr(&plain), plain.len, &HEADER_CAPS, NULL);
	if (st != ST_OK)
		return st;
	kid = json_string(json_get(header, "kid"));
	if (kid == NULL)
		return ST_FORMAT;
	buf_adds(&exact, "{\"alg\":\"EdDSA\",\"kid\":");
	json_put_string(&exact, kid);
	buf_adds(&exact, ",\"typ\":\"" JWS_RECEIPT_TYPE "\"}");
	if (buf_status(&exact) != ST_OK)
		return buf_status(&exact);
	if (strcmp(buf_cstr(&exact), buf_cstr(&plain)) != 0 ||
	    exact.len != plain.len)
		return ST_FORMAT;
	c->kid = strdup(kid);
	return c->kid == NULL ? ST_NOMEM : ST_OK;
}

/* Where the signature proper begins, behind "header..". NULL if the text has
 * another form. */
static const char *
mac_of(const char *signature, size_t *header)
{
	const char *dot = strchr(signature, '.');

	if (dot == NULL || dot[1] != '.' || strchr(dot + 2, '.') != NULL)
		return NULL;
	*header = (size_t)(dot - signature);
	return dot + 2;
}

static enum status
read_names(struct receipt_check *c, struct fault *f)
{
	size_t header, n;
	enum status st;

	c->issuer = json_string(json_get(c->receipt, "issuer"));
	c->signature = json_string(json_get(c->receipt, "signature"));
	if (c->issuer == NULL || c->signature == NULL)
		return fault_set(
		    f, ST_FORMAT, "the receipt has no issuer or no signature");
	if (strncmp(c->issuer, DID_PREFIX, sizeof(DID_PREFIX) - 1) != 0 ||
	    strlen(c->issuer) >= DID_BYTES)
		return fault_set(
		    f, ST_FORMAT, "the receipt's issuer is no did:web name");
	if (mac_of(c->signature, &header) == NULL)
		return fault_set(f, ST_REFUSED,
		    "the signature is no JWS with detached content "
		    "(header..signature)");
	st = read_header(c, c->signature, header);
	if (st == ST_NOMEM)
		return fault_set(f, st, "no memory");
	if (st != ST_OK)
		return fault_set(f, ST_REFUSED,
		    "the signature's header is not exactly {\"alg\":\"EdDSA\","
		    "\"kid\":...,\"typ\":\"" JWS_RECEIPT_TYPE "\"}");
	n = strlen(c->issuer);
	if (strncmp(c->kid, c->issuer, n) != 0 || c->kid[n] != '#' ||
	    c->kid[n + 1] == '\0')
		return fault_set(f, ST_REFUSED,
		    "the signature names a key that is not the issuer's");
	return ST_OK;
}

enum status
receipt_check_open(
    struct receipt_check *c, const char *text, size_t len, struct fault *f)
{
	enum status st;

	*c = (struct receipt_check){ .file = NULL };
	st = parse_file(&c->file, text, len, f);
	if (st != ST_OK)
		return st;
	c->receipt = c->file;
	if (json_is_object(json_get(c->file, "receipt"))) {
		c->answer = c->file;
		c->receipt = json_get(c->file, "receipt");
	}
	if (!json_is_object(c->receipt))
		st = fault_set(f, ST_FORMAT, "this is no JSON object");
	else
		st = read_names(c, f);
	if (st != ST_OK)
		receipt_check_close(c);
	return st;
}

void
receipt_check_close(struct receipt_check *c)
{
	json_free(c->file);
	free(c->kid);
	*c = (struct receipt_check){ .file = NULL };
}

/* ---- the signature ---- */

/* "header.base64url(receipt without signature)". */
static enum status
signing_input(struct buf *out, const struct receipt_check *c, size_t header)
{
	OWN_BUF struct buf payload;

	buf_init(&payload, RECEIPT_BYTES);
	jcs_write_without(&payload, c->receipt, "signature");
	if (buf_status(&payload) != ST_OK)
		return buf_status(&payload);
	buf_add(out, c->signature, header);
	buf_addc(out, '.');
	hex_base64url(out, payload.data, payload.len);
	return buf_status(out);
}

enum status
receipt_check_signature(const struct receipt_check *c, const char *keys,
    size_t len, struct fault *f)
{
	OWN_JSON struct cJSON *doc = NULL;
	OWN_BUF struct buf sig, input;
	uint8_t public[EDKEY_PUBLIC];
	size_t header = 0;
	const char *mac = mac_of(c->signature, &header);
	enum status st;

	buf_init(&sig, EDKEY_SIGNATURE);
	buf_init(&input, INPUT_BYTES);
	st = json_parse(&doc, keys, len, &KEYS_CAPS, NULL);
	if (st != ST_OK)
		return fault_set(f, st, "the keys are no JSON");
	st = did_document_find(public, doc, c->issuer, c->kid, f);
	if (st != ST_OK)
		return st;
	st = signing_input(&input, c, header);
	if (st == ST_NOMEM)
		return fault_set(f, st, "no memory");
	if (st != ST_OK)
		return fault_set(
		    f, ST_REFUSED, "the receipt is longer than any is");
	if (unbase64url(&sig, mac, strlen(mac)) != ST_OK ||
	    sig.len != EDKEY_SIGNATURE ||
	    !edkey_signed(public, input.data, input.len, sig.data))
		return fault_set(f, ST_REFUSED,
		    "the signature does not fit: the receipt was changed, or "
		    "another key signed it");
	return ST_OK;
}

/* ---- what it is the receipt of ---- */

static enum status
same_digest(const struct receipt_check *c, const char *member, const void *data,
    size_t len, const char *what, struct fault *f)
{
	const char *told = json_string(json_get(c->receipt, member));
	char digest[65];
	enum status st = jcs_sha256(digest, data, len);

	if (st != ST_OK)
		return fault_set(f, st, "no digest could be made");
	if (told == NULL)
		return fault_set(
		    f, ST_REFUSED, "the receipt has no %s", member);
	if (strcmp(told, digest) != 0)
		return fault_set(f, ST_REFUSED,
		    "%s is another than the receipt's (%s)", what, member);
	return ST_OK;
}

enum status
receipt_check_request(const struct receipt_check *c, const char *body,
    size_t len, struct fault *f)
{
	return same_digest(
	    c, "requestDigest", body, len, "the request body", f);
}

/* The JCS form of these members (in their order) of answer; one that is not
 * there is null, or, if all must be there, an error. */
static enum status
members(struct buf *out, const struct cJSON *answer, const char *const *names,
    bool all)
{
	buf_addc(out, '{');
	for (size_t i = 0; names[i] != NULL; i++) {
		const struct cJSON *v = json_get(answer, names[i]);

		if (v == NULL && all)
			return ST_FORMAT;
		json_key(out, names[i]);
		if (v == NULL)
			buf_adds(out, "null");
		else
			jcs_write(out, v);
	}
	buf_addc(out, '}');
	return buf_status(out);
}

static enum status
check_output(
    const struct receipt_check *c, const struct cJSON *answer, struct fault *f)
{
	static const char *const names[] = { "exitCode", "outcome", "stderr",
		"stdout", "truncated", NULL };
	OWN_BUF struct buf b;
	enum status st;

	buf_init(&b, ANSWER_BYTES);
	st = members(&b, answer, names, true);
	if (st == ST_FORMAT)
		return fault_set(f, st, "this is no answer of /execute");
	if (st != ST_OK)
		return fault_set(f, st, "the answer is too long to check");
	return same_digest(c, "outputDigest", b.data, b.len,
	    "output, outcome or exit code", f);
}

static enum status
check_extras(
    const struct receipt_check *c, const struct cJSON *answer, struct fault *f)
{
	static const char *const names[] = { "outputs", "result", NULL };
	OWN_BUF struct buf b;

	buf_init(&b, ANSWER_BYTES);
	if (json_get(answer, "outputs") == NULL &&
	    json_get(answer, "result") == NULL &&
	    json_get(c->receipt, "extrasDigest") == NULL)
		return ST_OK;
	if (members(&b, answer, names, false) != ST_OK)
		return fault_set(
		    f, ST_TOO_BIG, "the answer is too long to check");
	return same_digest(
	    c, "extrasDigest", b.data, b.len, "value or files", f);
}

static enum status
check_payment(
    const struct receipt_check *c, const struct cJSON *answer, struct fault *f)
{
	static const char *const names[][2] = { { "payer", "payer" },
		{ "amount", "amount" }, { "asset", "asset" },
		{ "network", "network" }, { "transaction", "reference" } };
	const struct cJSON *paid = json_get(answer, "payment");
	const struct cJSON *told = json_get(c->receipt, "payment");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *a = json_string(json_get(paid, names[i][0]));
		const char *b = json_string(json_get(told, names[i][1]));

		if (a == NULL || b == NULL || strcmp(a, b) != 0)
			return fault_set(f, ST_REFUSED,
			    "payment.%s is another than the receipt's",
			    names[i][0]);
	}
	return ST_OK;
}

enum status
receipt_check_answer(const struct receipt_check *c, const char *text,
    size_t len, struct fault *f)
{
	OWN_JSON struct cJSON *other = NULL;
	const struct cJSON *answer = c->answer;
	enum status st = ST_OK;

	if (text != NULL) {
		st = parse_file(&other, text, len, f);
		answer = other;
	}
	if (st != ST_OK)
		return st;
	if (!json_is_object(answer))
		return fault_set(f, ST_FORMAT, "this is no answer of /execute");
	st = check_output(c, answer, f);
	if (st == ST_OK)
		st = check_extras(c, answer, f);
	return st == ST_OK ? check_payment(c, answer, f) : st;
}
