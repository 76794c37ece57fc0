#include "pay/receipt.h"

#include "keys_fixture.h"

#include "base/jcs.h"
#include "base/json.h"

#define REQUEST                                                                \
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define OUTPUT                                                                 \
	"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define TX "0x7777777777777777777777777777777777777777777777777777777777777777"

static struct receipt
completed(void)
{
	return (struct receipt){
		.request_digest = REQUEST,
		.output_digest = OUTPUT,
		.payer = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		.amount = "1000",
		.asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
		.network = "eip155:84532",
		.reference = TX,
		.price_micros = 1000,
		.tier = "small",
		.limits = { .timeout_ms = 10000,
		    .memory_bytes = 268435456,
		    .output_bytes = 1048576,
		    .work_bytes = 67108864 },
		.outcome = "completed",
		.duration_tenths = 123,
		.exited = true,
		.exit_code = 0,
		.status = ST_OK,
		.runtime = "python3",
		.issued_at = 1740672089,
		.issuer = "did:web:api.example.com",
	};
}

/* Signed with the well-known key. */
static void
put(struct buf *out, const struct receipt *r)
{
	struct edkey *k = NULL;

	assert_int_equal(edkey_read(&k, KEYS_PEM, strlen(KEYS_PEM)), ST_OK);
	receipt_put(out, r, k);
	assert_int_equal(buf_status(out), ST_OK);
	edkey_close(k);
}

#define FIRST                                                                  \
	"{\"issuedAt\":1740672089,\"issuer\":\"did:web:api.example.com\","     \
	"\"limits\":{\"maxMemoryBytes\":268435456,"                            \
	"\"maxOutputBytes\":1048576,\"timeoutMs\":10000,"                      \
	"\"workDirBytes\":67108864},\"outputDigest\":\"" OUTPUT "\","          \
	"\"payment\":{\"amount\":\"1000\","                                    \
	"\"asset\":\"0x036CbD53842c5426634e7929541eC2318f3dCF7e\","            \
	"\"network\":\"eip155:84532\","                                        \
	"\"payer\":\"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266\","            \
	"\"reference\":\"" TX "\"},\"price\":\"$0.0010\","                     \
	"\"priceUsd\":0.001,\"requestDigest\":\"" REQUEST "\","                \
	"\"runtime\":\"python3\""
#define REST                                                                   \
	",\"status\":{\"billable\":true,\"category\":\"success\","             \
	"\"code\":null},\"tier\":\"small\",\"usage\":{\"durationMs\":12.3,"    \
	"\"exitCode\":0,\"outcome\":\"completed\",\"truncated\":{"             \
	"\"stderr\":false,\"stdout\":false}}}"

/* The signature was made by node's crypto: over the header, a dot and the
 * base64url of FIRST REST. */
static void
test_text(void **state)
{
	struct receipt r = completed();
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 4096);
	put(&b, &r);
	assert_string_equal(buf_cstr(&b), FIRST
	    ",\"signature\":\"eyJhbGciOiJFZERTQSIsImtpZCI6ImRpZDp3ZWI6YXBp"
	    "LmV4YW1wbGUuY29tI2tQcktfcW14VldhWVZBOXd3QkY2SXVvM3ZWeno3VHhI"
	    "Q1R3WEJ5Z3JTNGsiLCJ0eXAiOiJ0b2xsYm94LXJlY2VpcHQifQ..bnEs6yL2"
	    "RE6r0y8Q-M2m_krJnFg1I45nzI9azpZx9AlgdNb5MmL_RWnKV8CL_07CLDcJ"
	    "BEan-jOT6ROzWhCcAw\"" REST);
}

/* A key that cannot sign, and no room: an error each, no receipt. */
static void
test_unsigned(void **state)
{
	static const char public[] =
	    "-----BEGIN PUBLIC KEY-----\n"
	    "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
	    "-----END PUBLIC KEY-----\n";
	struct receipt r = completed();
	struct edkey *k = NULL;
	OWN_BUF struct buf b, small;

	(void)state;
	buf_init(&b, 4096);
	buf_init(&small, 500);
	assert_int_equal(edkey_read(&k, public, strlen(public)), ST_OK);
	receipt_put(&b, &r, k);
	assert_int_equal(buf_status(&b), ST_BUG);
	receipt_put(&small, &r, k);
	assert_true(buf_status(&small) != ST_OK);
	edkey_close(k);
}

/* The text is its own canonical form, whatever is in it. */
static void
test_canonical(void **state)
{
	static const enum status ends[] = { ST_OK, ST_SANDBOX_TIMEOUT,
		ST_EXECUTION_MEMORY_LIMIT_EXCEEDED,
		ST_EXECUTION_OUTPUT_LIMIT_EXCEEDED, ST_EXECUTION_RUNTIME_ERROR,
		ST_EXECUTION_RUNTIME_ERROR_NETWORK_DISABLED,
		ST_EXECUTION_RUNTIME_ERROR_POSSIBLE_SANDBOX_DENIAL };
	static const uint64_t tenths[] = { 0, 1, 9, 10, 120, 123, 3000000 };
	static const struct json_caps caps = { .depth = 8, .values = 100 };
	struct receipt r = completed();

	(void)state;
	r.reference = "tx \"\\\n\xc3\xa9";
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		OWN_JSON struct cJSON *v = NULL;
		OWN_BUF struct buf b, again;

		buf_init(&b, 4096);
		buf_init(&again, 4096);
		r.status = ends[i];
		r.duration_tenths = tenths[i];
		r.price_micros = tenths[i] * 7 + 1;
		r.truncated_stderr = i % 2 == 0;
		r.exit_code = (int)i - 3;
		put(&b, &r);
		assert_int_equal(
		    json_parse(&v, buf_cstr(&b), b.len, &caps, NULL), ST_OK);
		jcs_write(&again, v);
		assert_string_equal(buf_cstr(&b), buf_cstr(&again));
		if (ends[i] != ST_OK)
			assert_string_equal(json_string(json_get(
						json_get(v, "status"), "code")),
			    status_api(ends[i])->code);
	}
}

static void
test_duration(void **state)
{
	static const struct {
		uint64_t tenths;
		const char *text;
	} rows[] = { { 0, "\"durationMs\":0," }, { 1, "\"durationMs\":0.1," },
		{ 10, "\"durationMs\":1," }, { 120, "\"durationMs\":12," },
		{ 125, "\"durationMs\":12.5," },
		{ 2999999, "\"durationMs\":299999.9," } };
	struct receipt r = completed();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		OWN_BUF struct buf b;

		buf_init(&b, 4096);
		r.duration_tenths = rows[i].tenths;
		put(&b, &r);
		assert_non_null(strstr(buf_cstr(&b), rows[i].text));
	}
}

static void
assert_output(const struct receipt *r, const char *out, size_t out_len,
    const char *err, size_t err_len, const char *expected)
{
	char hash[65];

	assert_int_equal(
	    receipt_output_digest(hash, r, out, out_len, err, err_len), ST_OK);
	assert_string_equal(hash, expected);
}

/* Hashes by Python, as above, of the object that api.md section 6 names. */
static void
test_output_digest(void **state)
{
	static const char out[] = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 "
				  "\xe2\x80\xa8\xef\xbf\xbd\0/";
	static const char err[] = "Traceback \"x\"\\\t\r\b\f\x1b[0m\x7f";
	struct receipt r = completed();

	(void)state;
	assert_output(&r, "hello\n", 6, "", 0,
	    "4eefbfc5196aa052e2035e39aa57778e1c61921764e123bf0ad177ac707061c6");
	/* Price, limits and time do not count. */
	r.duration_tenths = 5;
	r.price_micros = 1;
	r.tier = "large";
	assert_output(&r, "hello\n", 6, "", 0,
	    "4eefbfc5196aa052e2035e39aa57778e1c61921764e123bf0ad177ac707061c6");
	r.outcome = "error";
	r.exit_code = 1;
	r.truncated_stdout = true;
	assert_output(&r, out, sizeof(out) - 1, err, sizeof(err) - 1,
	    "d6def65bc890e23b6cd92eff43f40b7e036c153bae884b10868f8b78dbbe09e8");
	r = completed();
	r.outcome = "timeout";
	r.exited = false;
	r.truncated_stderr = true;
	assert_output(&r, "", 0, "", 0,
	    "2a7c3ff87b4e9cc393c077db1af505a6fcec14cefcecd3ecfdd87c429cd76f9d");
	r = completed();
	r.outcome = "error";
	r.exit_code = -1;
	assert_output(&r, NULL, 0, NULL, 0,
	    "717eb6c792b8bf97ed7d9501eead345390e62687fbde4756a1698da87eef4c34");
}

static void
assert_extras(const char *outputs, const char *result, const char *expected)
{
	OWN_BUF struct buf o, r;
	char hash[65];

	buf_init(&o, 4096);
	buf_init(&r, 4096);
	buf_adds(&o, outputs != NULL ? outputs : "");
	buf_adds(&r, result != NULL ? result : "");
	assert_int_equal(
	    receipt_extras_digest(
		hash, outputs != NULL ? &o : NULL, result != NULL ? &r : NULL),
	    ST_OK);
	assert_string_equal(hash, expected);
}

/* Hashes by Python, as above. */
static void
test_extras_digest(void **state)
{
	struct receipt r = completed();
	OWN_BUF struct buf b;

	(void)state;
	assert_extras("[{\"content\":\"hi\",\"mimeType\":\"text/plain\","
		      "\"path\":\"a.txt\",\"size\":2}]",
	    "{\"json\":[1,\"\xc3\xa9\"]}",
	    "9905f5b9b5c4f4c60c2b7677ad5f397450e9e744d7493f1b3aa0a2f15ece2cc5");
	assert_extras(NULL, "null",
	    "5df956f2fae8fd9ca822624f2a7cfa873eae127263afefbab5a7796544ad6127");
	assert_extras("[]", NULL,
	    "8fb39b049a0c1dfa651943bf419ed7ccdace149b576811b1c023dde2b259e9f3");
	assert_extras(NULL, "{\"repr\":\"x\"}",
	    "8805038ec18d4371273ca87c5a455b9b42f234db2082edc6a8b3015bddab6609");
	buf_init(&b, 4096);
	r.extras_digest = OUTPUT;
	put(&b, &r);
	assert_non_null(strstr(
	    buf_cstr(&b), "{\"extrasDigest\":\"" OUTPUT "\",\"issuedAt\":"));
}

/* All control bytes: six bytes each in the digested text. */
static void
test_output_digest_worst(void **state)
{
	size_t len = 1 << 20;
	char *text = calloc(1, len);
	struct receipt r = completed();
	char hash[65];

	(void)state;
	assert_non_null(text);
	assert_int_equal(
	    receipt_output_digest(hash, &r, text, len, text, len), ST_OK);
	assert_int_equal(strlen(hash), 64);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_unsigned),
		cmocka_unit_test(test_canonical),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_output_digest),
		cmocka_unit_test(test_output_digest_worst),
		cmocka_unit_test(test_extras_digest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
