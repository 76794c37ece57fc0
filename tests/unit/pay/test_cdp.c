/*
 * CDP tokens: claims to the last member, and signatures checked with the
 * public key by libcrypto. (The black-box tests check them with npm's jose.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/hex.h"
#include "base/json.h"
#include "pay/cdp.h"

#define ID "a1b2c3d4-0000-4000-8000-000000000001"
#define PLACE "api.cdp.coinbase.com/platform/v2/x402/settle"

/* The JSON file of a key, its secret as given. */
static void
put_file(struct buf *out, const char *id_member, const char *secret)
{
	buf_clear(out);
	buf_addf(
	    out, "{\n  \"%s\": \"" ID "\",\n  \"privateKey\": ", id_member);
	json_put_string(out, secret);
	buf_adds(out, "\n}\n");
	assert_int_equal(buf_status(out), ST_OK);
}

static void
put_edwards(struct buf *out, EVP_PKEY *key)
{
	uint8_t both[64];
	size_t len = 32;

	assert_int_equal(EVP_PKEY_get_raw_private_key(key, both, &len), 1);
	len = 32;
	assert_int_equal(EVP_PKEY_get_raw_public_key(key, both + 32, &len), 1);
	hex_base64(out, both, sizeof(both));
}

static void
put_pem(struct buf *out, EVP_PKEY *key, bool sec1)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text = NULL;
	long len;

	assert_int_equal(sec1 ? PEM_write_bio_PrivateKey_traditional(
				    bio, key, NULL, NULL, 0, NULL, NULL)
			      : PEM_write_bio_PKCS8PrivateKey(
				    bio, key, NULL, NULL, 0, NULL, NULL),
	    1);
	len = BIO_get_mem_data(bio, &text);
	buf_add(out, text, (size_t)len);
	BIO_free(bio);
}

/* Part number i of a token, decoded. */
static void
part(struct buf *out, const char *token, int i)
{
	buf_clear(out);
	while (i-- > 0)
		token = strchr(token, '.') + 1;
	assert_int_equal(hex_unbase64(out, token, strcspn(token, ".")), ST_OK);
}

static bool
signed_by(EVP_PKEY *key, const char *token)
{
	size_t len = (size_t)(strrchr(token, '.') - token);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool ec = EVP_PKEY_is_a(key, "EC");
	unsigned char *der = NULL;
	OWN_BUF struct buf sig;
	int der_len, good;

	buf_init(&sig, 256);
	part(&sig, token, 2);
	assert_int_equal(sig.len, 64);
	assert_int_equal(EVP_DigestVerifyInit(
			     ctx, NULL, ec ? EVP_sha256() : NULL, NULL, key),
	    1);
	if (ec) {
		ECDSA_SIG *s = ECDSA_SIG_new();

		assert_int_equal(
		    ECDSA_SIG_set0(s, BN_bin2bn(sig.data, 32, NULL),
			BN_bin2bn(sig.data + 32, 32, NULL)),
		    1);
		der_len = i2d_ECDSA_SIG(s, &der);
		ECDSA_SIG_free(s);
		good = EVP_DigestVerify(ctx, der, (size_t)der_len,
		    (const unsigned char *)token, len);
		OPENSSL_free(der);
	} else {
		good = EVP_DigestVerify(
		    ctx, sig.data, sig.len, (const unsigned char *)token, len);
	}
	EVP_MD_CTX_free(ctx);
	return good == 1;
}

static void
check_tokens(EVP_PKEY *key, const struct buf *file, const char *alg)
{
	char head[256], nonce[2][33];
	struct cdp *c = NULL;
	struct fault f;

	assert_int_equal(cdp_open(&c, buf_cstr(file), file->len, &f), ST_OK);
	/* Many: r or s of a signature may have leading zeros. */
	for (int i = 0; i < 300; i++) {
		OWN_BUF struct buf token, text;

		buf_init(&token, CDP_TOKEN_BYTES);
		buf_init(&text, CDP_TOKEN_BYTES);
		assert_int_equal(
		    cdp_token(&token, c, "POST", PLACE, 1740672089), ST_OK);
		assert_true(signed_by(key, buf_cstr(&token)));
		part(&text, buf_cstr(&token), 1);
		assert_string_equal(buf_cstr(&text),
		    "{\"sub\":\"" ID "\",\"iss\":\"cdp\",\"nbf\":1740672089,"
		    "\"iat\":1740672089,\"exp\":1740672209,\"uris\":["
		    "\"POST " PLACE "\"]}");
		part(&text, buf_cstr(&token), 0);
		snprintf(head, sizeof(head),
		    "{\"alg\":\"%s\",\"kid\":\"" ID "\",\"typ\":\"JWT\","
		    "\"nonce\":\"",
		    alg);
		assert_int_equal(
		    strncmp(buf_cstr(&text), head, strlen(head)), 0);
		snprintf(
		    nonce[i % 2], 33, "%s", buf_cstr(&text) + strlen(head));
		assert_int_equal(strspn(nonce[i % 2], "0123456789abcdef"), 32);
		if (i > 0)
			assert_string_not_equal(nonce[0], nonce[1]);
	}
	cdp_close(c);
}

static void
edwards(void **state)
{
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	OWN_BUF struct buf secret, file;

	(void)state;
	buf_init(&secret, 4096);
	buf_init(&file, 4096);
	put_edwards(&secret, key);
	put_file(&file, "id", buf_cstr(&secret));
	check_tokens(key, &file, "EdDSA");
	EVP_PKEY_free(key);
}

static void
p256(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	OWN_BUF struct buf secret, file;

	(void)state;
	buf_init(&secret, 4096);
	buf_init(&file, 4096);
	for (int sec1 = 0; sec1 < 2; sec1++) {
		buf_clear(&secret);
		put_pem(&secret, key, sec1 == 1);
		put_file(&file, "name", buf_cstr(&secret));
		check_tokens(key, &file, "ES256");
	}
	EVP_PKEY_free(key);
}

static void
refuse(const char *text, const char *says)
{
	struct cdp *c = NULL;
	struct fault f;

	assert_int_equal(cdp_open(&c, text, strlen(text), &f), ST_FORMAT);
	assert_null(c);
	if (strstr(f.message, says) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", f.message, says);
}

static void
wrong_keys(void **state)
{
	EVP_PKEY *other = EVP_EC_gen("P-384");
	EVP_PKEY *key = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	OWN_BUF struct buf secret, file;

	(void)state;
	buf_init(&secret, 4096);
	buf_init(&file, 4096);
	refuse("", "portal");
	refuse("-----BEGIN EC PRIVATE KEY-----", "portal");
	refuse("[]", "portal");
	refuse("{}", "id");
	refuse("{\"id\":\"a b\",\"privateKey\":\"x\"}", "visible ASCII");
	refuse("{\"id\":\"a\"}", "privateKey is missing");
	refuse("{\"id\":\"a\",\"privateKey\":\"!\"}", "neither");
	refuse("{\"id\":\"a\",\"privateKey\":\"AAAA\"}", "neither");
	refuse("{\"id\":\"a\",\"privateKey\":\"-----BEGIN X-----\"}", "PEM");
	put_pem(&secret, other, false);
	put_file(&file, "id", buf_cstr(&secret));
	refuse(buf_cstr(&file), "another kind");
	/* An encrypted one must not wait for somebody to type. */
	refuse("{\"id\":\"a\",\"privateKey\":\"-----BEGIN ENCRYPTED PRIVATE "
	       "KEY-----\\nAAAA\\n-----END ENCRYPTED PRIVATE KEY-----\"}",
	    "passphrase");
	/* Two halves that are strangers. */
	buf_clear(&secret);
	put_edwards(&secret, key);
	secret.data[10] = secret.data[10] == 'A' ? 'B' : 'A';
	put_file(&file, "id", buf_cstr(&secret));
	refuse(buf_cstr(&file), "halves");
	EVP_PKEY_free(other);
	EVP_PKEY_free(key);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edwards),
		cmocka_unit_test(p256),
		cmocka_unit_test(wrong_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
