/* What a holder of a receipt checks: any change anywhere is found. */
#include "pay/receipt_check.h"

#include "keys_fixture.h"

#include "base/hex.h"
#include "base/jcs.h"
#include "pay/did_document.h"
#include "pay/receipt.h"

#define DID "did:web:api.example.com"
#define BODY "{\"runtime\":\"python3\",\"source\":\"print(1)\"}"
#define TX "0x7777777777777777777777777777777777777777777777777777777777777777"
#define JWKS                                                                   \
	"{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" KEYS_X      \
	"\",\"kid\":\"" DID "#" KEYS_ID "\"}]}"
#define PAYMENT(last)                                                          \
	"{\"payer\":\"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\","           \
	"\"amount\":\"1000\","                                                 \
	"\"asset\":\"0x036CbD53842c5426634e7929541eC2318f3dCF7e\","            \
	"\"network\":\"eip155:84532\",\"" last "\":\"" TX "\"}"

/* A receipt of BODY and of the output "1\n"; with extras where a value was
 * asked for. */
static void
put_receipt(struct buf *out, bool extras)
{
	char request[65], output[65], more[65];
	struct edkey *k = NULL;
	struct receipt r = { .request_digest = request,
		.output_digest = output,
		.payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		.amount = "1000",
		.asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
		.network = "eip155:84532",
		.reference = TX,
		.price_micros = 1000,
		.tier = "small",
		.limits = { .timeout_ms = 10000 },
		.outcome = "completed",
		.duration_tenths = 123,
		.exited = true,
		.runtime = "python3",
		.issued_at = 1740672089,
		.issuer = DID };
	OWN_BUF struct buf value;

	buf_init(&value, 64);
	buf_adds(&value, "{\"json\":[1,2]}");
	assert_int_equal(jcs_sha256(request, BODY, strlen(BODY)), ST_OK);
	assert_int_equal(
	    receipt_output_digest(output, &r, "1\n", 2, "", 0), ST_OK);
	assert_int_equal(receipt_extras_digest(more, NULL, &value), ST_OK);
	if (extras)
		r.extras_digest = more;
	assert_int_equal(edkey_read(&k, KEYS_PEM, strlen(KEYS_PEM)), ST_OK);
	receipt_put(out, &r, k);
	assert_int_equal(buf_status(out), ST_OK);
	edkey_close(k);
}

/* An answer of /execute around it; more is added to it. */
static void
put_answer(
    struct buf *out, const char *stdout_text, const char *more, bool extras)
{
	buf_addf(out,
	    "{\"outcome\":\"completed\",\"stdout\":\"%s\",\"stderr\":\"\","
	    "\"exitCode\":0,\"truncated\":{\"stdout\":false,"
	    "\"stderr\":false},\"payment\":" PAYMENT(
		"transaction") ",%s"
			       "\"receipt\":",
	    stdout_text, more);
	put_receipt(out, extras);
	buf_addc(out, '}');
}

/* All that there is to check. */
static enum status
checked(const char *text, size_t len, const char *keys, struct fault *f)
{
	struct receipt_check c;
	enum status st = receipt_check_open(&c, text, len, f);

	if (st != ST_OK)
		return st;
	st = receipt_check_signature(&c, keys, strlen(keys), f);
	if (st == ST_OK)
		st = receipt_check_request(&c, BODY, strlen(BODY), f);
	if (st == ST_OK && c.answer != NULL)
		st = receipt_check_answer(&c, NULL, 0, f);
	receipt_check_close(&c);
	return st;
}

static void
holds(const struct buf *b)
{
	struct fault f = { .st = ST_OK };

	if (checked(buf_cstr(b), b->len, JWKS, &f) != ST_OK)
		fail_msg("%s in %s", f.message, buf_cstr(b));
}

static void
fails(const struct buf *b, enum status st, const char *says)
{
	struct fault f = { .st = ST_OK };

	assert_int_equal(checked(buf_cstr(b), b->len, JWKS, &f), st);
	if (strstr(f.message, says) == NULL)
		fail_msg("it says: %s", f.message);
}

static void
forms(void **state)
{
	OWN_BUF struct buf receipt, answer, coded;

	(void)state;
	buf_init(&receipt, 8192);
	buf_init(&answer, 8192);
	buf_init(&coded, 16384);
	put_receipt(&receipt, false);
	holds(&receipt);
	hex_base64url(&coded, receipt.data, receipt.len);
	buf_adds(&coded, "\r\n");
	holds(&coded);
	put_answer(&answer, "1\\n", "", false);
	holds(&answer);
	buf_clear(&answer);
	put_answer(&answer, "1\\n", "\"result\":{\"json\":[1,2]},", true);
	holds(&answer);
}

/* Every byte of a receipt, as it was sent. */
static void
any_byte(void **state)
{
	static const char others[] = "0aZ\"}";
	struct fault f;
	OWN_BUF struct buf b;
	size_t tried = 0;

	(void)state;
	buf_init(&b, 8192);
	put_receipt(&b, false);
	for (size_t i = 0; i < b.len; i++) {
		uint8_t was = b.data[i];

		for (size_t k = 0; k < sizeof(others) - 1; k++) {
			if ((uint8_t)others[k] == was)
				continue;
			b.data[i] = (uint8_t)others[k];
			if (checked(buf_cstr(&b), b.len, JWKS, &f) == ST_OK)
				fail_msg(
				    "taken, byte %zu: %s", i, buf_cstr(&b));
			tried++;
		}
		b.data[i] = was;
	}
	assert_true(tried > 4000);
	holds(&b);
}

/* The answer around it. */
static void
other_answers(void **state)
{
	OWN_BUF struct buf b;
	char *at;

	(void)state;
	buf_init(&b, 8192);
	put_answer(&b, "2\\n", "", false);
	fails(&b, ST_REFUSED, "outputDigest");
	buf_clear(&b);
	put_answer(&b, "1\\n", "\"result\":{\"json\":[1,2]},", false);
	fails(&b, ST_REFUSED, "extrasDigest");
	buf_clear(&b);
	put_answer(&b, "1\\n", "\"result\":{\"json\":[1,3]},", true);
	fails(&b, ST_REFUSED, "extrasDigest");
	buf_clear(&b);
	put_answer(&b, "1\\n", "", true);
	fails(&b, ST_REFUSED, "extrasDigest");
	buf_clear(&b);
	put_answer(&b, "1\\n", "", false);
	at = strstr((char *)b.data, "\"1000\"");
	at[1] = '9';
	fails(&b, ST_REFUSED, "payment.amount");
	at[1] = '1';
	at = strstr((char *)b.data, "stderr");
	at[0] = 'x';
	fails(&b, ST_FORMAT, "no answer");
}

static void
request(void **state)
{
	struct receipt_check c;
	struct fault f = { .st = ST_OK };
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 8192);
	put_receipt(&b, false);
	assert_int_equal(
	    receipt_check_open(&c, buf_cstr(&b), b.len, &f), ST_OK);
	assert_string_equal(c.issuer, DID);
	assert_string_equal(c.kid, DID "#" KEYS_ID);
	assert_int_equal(
	    receipt_check_request(&c, BODY " ", sizeof(BODY " ") - 1, &f),
	    ST_REFUSED);
	assert_int_equal(receipt_check_answer(&c, "{}", 2, &f), ST_FORMAT);
	assert_int_equal(receipt_check_answer(&c, NULL, 0, &f), ST_FORMAT);
	receipt_check_close(&c);
}

/* Headers that a careless verifier would take: each in the place of ours. */
static void
headers(void **state)
{
	static const char *const texts[] = {
		"{\"alg\":\"none\",\"kid\":\"" DID "#" KEYS_ID
		"\",\"typ\":\"tollbox-receipt\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"" DID "#" KEYS_ID "\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"" DID "#" KEYS_ID
		"\",\"typ\":\"JWT\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"" DID "#" KEYS_ID
		"\",\"typ\":\"tollbox-receipt\",\"b64\":false}",
		"{\"alg\":\"EdDSA\",\"kid\":\"" DID "#" KEYS_ID
		"\",\"typ\":\"tollbox-receipt\"} ",
		"{\"kid\":\"" DID "#" KEYS_ID
		"\",\"alg\":\"EdDSA\",\"typ\":\"tollbox-receipt\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"did:web:evil.example#" KEYS_ID
		"\",\"typ\":\"tollbox-receipt\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"" DID
		"#\",\"typ\":\"tollbox-receipt\"}",
		"{\"alg\":\"EdDSA\",\"kid\":\"" DID
		"\",\"typ\":\"tollbox-receipt\"}",
		"[]",
		"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		OWN_BUF struct buf b, changed;
		const char *from, *to;

		buf_init(&b, 8192);
		buf_init(&changed, 8192);
		put_receipt(&b, false);
		from = strstr(buf_cstr(&b), "\"signature\":\"") + 13;
		to = strstr(from, "..");
		buf_add(
		    &changed, b.data, (size_t)(from - (const char *)b.data));
		hex_base64url(&changed, texts[i], strlen(texts[i]));
		buf_adds(&changed, to);
		fails(&changed, ST_REFUSED, "signature");
	}
}

static void
no_receipts(void **state)
{
	static const char *const texts[] = { "", "x", "{", "[]", "7", "{}",
		"{\"receipt\":7}", "{\"receipt\":{}}",
		"{\"issuer\":\"" DID "\",\"signature\":7}",
		"{\"issuer\":\"" DID "\",\"issuer\":\"" DID
		"\",\"signature\":\"a..b\"}",
		"{\"issuer\":\"did:key:z\",\"signature\":\"a..b\"}",
		"{\"issuer\":7,\"signature\":\"a..b\"}", "e30", "bnVsbA" };
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		f = (struct fault){ .st = ST_OK };
		assert_int_equal(
		    checked(texts[i], strlen(texts[i]), JWKS, &f), ST_FORMAT);
		assert_true(f.message[0] != '\0');
	}
}

static void
signatures(void **state)
{
	static const char *const texts[] = { "", "a.b.c", "a..b..c", "..", "a.",
		"a..", "..b", "a...b" };
	struct receipt_check c;
	struct fault f;
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 1024);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buf_clear(&b);
		buf_addf(&b, "{\"issuer\":\"" DID "\",\"signature\":\"%s\"}",
		    texts[i]);
		assert_int_equal(
		    receipt_check_open(&c, buf_cstr(&b), b.len, &f),
		    ST_REFUSED);
	}
}

/* The keys' side: another key of the same name, none, nonsense. */
static void
keys(void **state)
{
	static const struct {
		const char *text;
		enum status st;
	} rows[] = {
		{ "{\"keys\":[]}", ST_NOT_FOUND },
		{ "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":"
		  "\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURp\",\"kid\":"
		  "\"" DID "#" KEYS_ID "\"}]}",
		    ST_FORMAT },
		{ "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":"
		  "\"Tcs7mheZUshnGhgMzWCAb2mD_m4y14RpKFv53H_F7FE\",\"kid\":"
		  "\"" DID "#" KEYS_ID "\"}]}",
		    ST_REFUSED },
		{ "", ST_FORMAT },
		{ "7", ST_FORMAT },
	};
	struct fault f;
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 8192);
	put_receipt(&b, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
		    checked(buf_cstr(&b), b.len, rows[i].text, &f), rows[i].st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),
		cmocka_unit_test(any_byte),
		cmocka_unit_test(other_answers),
		cmocka_unit_test(request),
		cmocka_unit_test(headers),
		cmocka_unit_test(no_receipts),
		cmocka_unit_test(signatures),
		cmocka_unit_test(keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
