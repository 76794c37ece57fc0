/* The issuer's name of a public URL, the way back, and the documents. */
#include "keys_fixture.h"

#include "base/json.h"
#include "pay/did.h"
#include "pay/did_document.h"

#define DID "did:web:api.example.com"

static const struct json_caps caps = { .depth = 16, .values = 4096 };

static void
names(void **state)
{
	static const struct {
		const char *url, *did, *document;
	} rows[] = {
		{ "https://api.example.com", DID,
		    "https://api.example.com/.well-known/did.json" },
		{ "https://API.Example.com", DID,
		    "https://api.example.com/.well-known/did.json" },
		{ "https://127.0.0.1:8443", "did:web:127.0.0.1%3A8443",
		    "https://127.0.0.1:8443/.well-known/did.json" },
		{ "http://localhost:8402", "did:web:localhost%3A8402",
		    "https://localhost:8402/.well-known/did.json" },
		{ "https://[::1]:8443", "did:web:%5B%3A%3A1%5D%3A8443",
		    "https://[::1]:8443/.well-known/did.json" },
		{ "https://example.com/run", "did:web:example.com:run",
		    "https://example.com/run/did.json" },
		{ "https://example.com:1/A/b~c%20d",
		    "did:web:example.com%3A1:A:b%7Ec%20d",
		    "https://example.com:1/A/b%7Ec%20d/did.json" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		OWN_BUF struct buf did, origin, path;

		buf_init(&did, DID_BYTES);
		buf_init(&origin, 4096);
		buf_init(&path, 4096);
		did_put(&did, rows[i].url);
		assert_string_equal(buf_cstr(&did), rows[i].did);
		assert_int_equal(
		    did_document_url(&origin, &path, rows[i].did), ST_OK);
		buf_adds(&origin, buf_cstr(&path));
		assert_string_equal(buf_cstr(&origin), rows[i].document);
	}
}

/* What must not lead a request to another place. */
static void
no_names(void **state)
{
	static const char *const dids[] = { "", "did:web:", "did:key:z6Mk",
		"did:web::a", "did:web:a:", "did:web:a::b", "did:web:a b",
		"did:web:a/b", "did:web:a%2Fb", "did:web:user%40host",
		"did:web:a%00", "did:web:a%0Ab", "did:web:a%", "did:web:a%3",
		"did:web:a%zz", "did:web:a%3A", "did:web:a%3A123456",
		"did:web:a%3A80%3A80", "did:web:a%23b", "did:web:a%3Fb",
		"did:web:%5B%5D", "did:web:%5B::1", "did:web:a#b",
		"did:web:a?b", "did:web:a:..", "did:web:a:.",
		"did:web:a:%2E%2E:b", "did:web:a:b\x01" };

	(void)state;
	for (size_t i = 0; i < sizeof(dids) / sizeof(dids[0]); i++) {
		OWN_BUF struct buf origin, path;

		buf_init(&origin, 4096);
		buf_init(&path, 4096);
		if (did_document_url(&origin, &path, dids[i]) != ST_FORMAT)
			fail_msg("%s is taken", dids[i]);
	}
}

static struct cJSON *
parsed(const char *text)
{
	struct cJSON *v = NULL;
	struct fault f = { .st = ST_OK };

	if (json_parse(&v, text, strlen(text), &caps, &f) != ST_OK)
		fail_msg("%s in: %s", f.message, text);
	return v;
}

static void
documents(void **state)
{
	struct keyring *k = keys_well_known(KEYS_EVM);
	uint8_t public[EDKEY_PUBLIC];
	struct fault f = { .st = ST_OK };
	struct cJSON *v;
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 65536);
	did_document_put(&b, DID, k);
	v = parsed(buf_cstr(&b));
	assert_string_equal(json_string(json_get(v, "id")), DID);
	/* Here the receipts' key and the offers' are one; then the EVM
	 * key. */
	assert_int_equal(json_count(json_get(v, "verificationMethod")), 3);
	assert_int_equal(json_count(json_get(v, "assertionMethod")), 3);
	assert_non_null(strstr(buf_cstr(&b),
	    "{\"id\":\"" DID "#" KEYS_ID "\",\"type\":\"JsonWebKey2020\","
	    "\"controller\":\"" DID "\",\"publicKeyJwk\":{\"kty\":\"OKP\","
	    "\"crv\":\"Ed25519\",\"x\":\"" KEYS_X "\",\"alg\":\"EdDSA\","
	    "\"use\":\"sig\"}}"));
	assert_int_equal(
	    did_document_find(public, v, DID, DID "#" KEYS_ID, &f), ST_OK);
	assert_memory_equal(
	    public, edkey_public(keyring_receipts(k)), EDKEY_PUBLIC);
	assert_int_equal(
	    did_document_find(public, v, DID, DID "#key-1", &f), ST_NOT_FOUND);
	assert_int_equal(did_document_find(public, v, "did:web:other",
			     "did:web:other#" KEYS_ID, &f),
	    ST_FORMAT);
	json_free(v);

	buf_clear(&b);
	did_document_put_jwks(&b, DID, k);
	v = parsed(buf_cstr(&b));
	assert_int_equal(json_count(json_get(v, "keys")), 3);
	memset(public, 0, sizeof(public));
	assert_int_equal(
	    did_document_find(public, v, DID, DID "#" KEYS_ID, &f), ST_OK);
	assert_memory_equal(
	    public, edkey_public(keyring_receipts(k)), EDKEY_PUBLIC);
	assert_int_equal(
	    did_document_find(public, v, DID, DID "#key-1", &f), ST_NOT_FOUND);
	json_free(v);
	keyring_close(k);
}

static void
bad_documents(void **state)
{
	static const char *const texts[] = { "{}", "[]", "null",
		"{\"keys\":{}}", "{\"keys\":[{\"kid\":\"" DID "#a\"}]}",
		"{\"keys\":[{\"kid\":\"" DID "#a\",\"kty\":\"EC\",\"crv\":"
		"\"Ed25519\",\"x\":\"" KEYS_X "\"}]}",
		"{\"keys\":[{\"kid\":\"" DID "#a\",\"kty\":\"OKP\",\"crv\":"
		"\"X25519\",\"x\":\"" KEYS_X "\"}]}",
		"{\"keys\":[{\"kid\":\"" DID "#a\",\"kty\":\"OKP\",\"crv\":"
		"\"Ed25519\",\"x\":\"11qY\"}]}",
		"{\"keys\":[{\"kid\":\"" DID "#a\",\"kty\":\"OKP\",\"crv\":"
		"\"Ed25519\",\"x\":7}]}",
		"{\"id\":\"" DID "\",\"verificationMethod\":[{\"id\":\"" DID
		"#a\",\"publicKeyJwk\":7}],\"assertionMethod\":[\"" DID
		"#a\"]}" };
	uint8_t public[EDKEY_PUBLIC];
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct cJSON *v = parsed(texts[i]);

		f = (struct fault){ .st = ST_OK };
		assert_int_equal(
		    did_document_find(public, v, DID, DID "#a", &f), ST_FORMAT);
		assert_true(f.message[0] != '\0');
		json_free(v);
	}
}

/* A key that is listed, but not to make assertions with. */
static void
not_asserting(void **state)
{
	static const char text[] =
	    "{\"id\":\"" DID "\",\"verificationMethod\":[{\"id\":\"" DID
	    "#a\",\"publicKeyJwk\":{\"kty\":\"OKP\",\"crv\":\"Ed25519\","
	    "\"x\":\"" KEYS_X "\"}}],\"assertionMethod\":[\"" DID "#b\",7]}";
	struct cJSON *v = parsed(text);
	uint8_t public[EDKEY_PUBLIC];
	struct fault f = { .st = ST_OK };

	(void)state;
	assert_int_equal(
	    did_document_find(public, v, DID, DID "#a", &f), ST_NOT_FOUND);
	json_free(v);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(no_names),
		cmocka_unit_test(documents),
		cmocka_unit_test(bad_documents),
		cmocka_unit_test(not_asserting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
