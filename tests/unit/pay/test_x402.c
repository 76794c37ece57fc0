#include "x402_help.h"

#include <ctype.h>
#include <stdlib.h>

#define LOWER_TO "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
#define OTHER "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
#define LOWER_ASSET "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
#define SOLANA_NET "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"

static void
assert_word(const struct fault *f, const char *word)
{
	if (strstr(f->message, word) == NULL)
		fail_msg("no \"%s\" in: %s", word, f->message);
	for (const char *s = f->message; *s != '\0'; s++)
		assert_true(isprint((unsigned char)*s));
}

static void
test_networks(void **state)
{
	static const struct {
		const char *v1;
		const char *caip2;
	} rows[] = {
		{ "base", "eip155:8453" },
		{ "base-sepolia", "eip155:84532" },
		{ "avalanche", "eip155:43114" },
		{ "avalanche-fuji", "eip155:43113" },
		{ "polygon", "eip155:137" },
		{ "polygon-amoy", "eip155:80002" },
		{ "sei", "eip155:1329" },
		{ "sei-testnet", "eip155:1328" },
		{ "abstract", "eip155:2741" },
		{ "abstract-testnet", "eip155:11124" },
		{ "iotex", "eip155:4689" },
		{ "peaq", "eip155:3338" },
		{ "story", "eip155:1514" },
		{ "educhain", "eip155:41923" },
		{ "skale-base-sepolia", "eip155:324705682" },
		{ "solana", "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" },
		{ "solana-devnet", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_string_equal(x402_v1_name(rows[i].caip2), rows[i].v1);
		assert_string_equal(x402_caip2(rows[i].v1), rows[i].caip2);
	}
	/* No v1 name that x402-fetch knows. */
	assert_null(x402_v1_name("eip155:1"));
	assert_null(x402_v1_name("eip155:42161"));
	assert_null(x402_v1_name("base-sepolia"));
	assert_null(x402_caip2("ethereum"));
	assert_null(x402_caip2("Base"));
}

/* The payment with one change against the vectors' requirement. */
static void
assert_match(int version, const char *from, const char *to, enum status st,
    const char *member, const char *value)
{
	struct x402_requirement req = help_requirement();
	struct x402_payment p = help_payment(version, from, to);
	struct fault f = { .st = ST_OK };
	enum status got = x402_match(&p, &req, &f);

	if (got != st)
		fail_msg(
		    "%s -> %s: %s, %s", from, to, status_name(got), f.message);
	if (st != ST_OK) {
		assert_int_equal(f.st, st);
		assert_word(&f, member);
		assert_word(&f, value);
	}
	x402_payment_free(&p);
}

static void
test_match(void **state)
{
	struct x402_requirement req = help_requirement();

	(void)state;
	for (int version = 1; version <= 2; version++) {
		struct x402_payment p = help_plain(version);

		assert_int_equal(x402_match(&p, &req, NULL), ST_OK);
		x402_payment_free(&p);
	}
	/* Letter case of EVM addresses does not count, unknown members and
	 * maxTimeoutSeconds neither. */
	assert_match(
	    2, "\"payTo\":\"" TO, "\"payTo\":\"" LOWER_TO, ST_OK, "", "");
	assert_match(2, USDC_SEPOLIA, LOWER_ASSET, ST_OK, "", "");
	assert_match(2, "\"to\":\"" TO, "\"to\":\"" LOWER_TO, ST_OK, "", "");
	assert_match(2, "\"extra\":{", "\"more\":1,\"extra\":{\"other\":\"x\",",
	    ST_OK, "", "");
	assert_match(2, "\"maxTimeoutSeconds\":300", "\"maxTimeoutSeconds\":1",
	    ST_OK, "", "");
	assert_match(2, "\"extra\":{", "\"e\":{", ST_OK, "", "");
	assert_match(2, "\"extra\":{",
	    "\"extra\":{\"assetTransferMethod\":\"eip3009\",", ST_OK, "", "");
	assert_match(2, "https://api.example.com/execute",
	    "http://elsewhere.example/", ST_OK, "", "");
}

static void
test_mismatch(void **state)
{
	static const enum status no = ST_PAYMENT_REQUIREMENTS_MISMATCH;

	(void)state;
	assert_match(2, "\"scheme\":\"exact\"", "\"scheme\":\"upto\"", no,
	    "accepted.scheme", "\"upto\"");
	assert_match(1, "\"scheme\":\"exact\"", "\"scheme\":\"upto\"", no,
	    "scheme", "\"exact\"");
	assert_match(2, "eip155:84532", "EIP155:84532", no, "accepted.network",
	    "EIP155:84532");
	assert_match(2, "eip155:84532", "eip155:8453", no, "accepted.network",
	    "\"eip155:8453\"");
	assert_match(2, "eip155:84532", "base-sepolia", no, "accepted.network",
	    "base-sepolia");
	assert_match(1, "base-sepolia", "base", no, "network", "eip155:8453");
	assert_match(1, "base-sepolia", "ethereum", no, "network", "ethereum");
	assert_match(
	    2, USDC_SEPOLIA, USDC_BASE, no, "accepted.asset", USDC_BASE);
	assert_match(2, "\"asset\":\"0x", "\"asset\":\"", no, "accepted.asset",
	    USDC_SEPOLIA);
	assert_match(2, "\"payTo\":\"" TO, "\"payTo\":\"" OTHER, no,
	    "accepted.payTo", OTHER);
	assert_match(2, "\"name\":\"USDC\"", "\"name\":\"USD Coin\"", no,
	    "accepted.extra.name", "USD Coin");
	assert_match(2, "\"version\":\"2\"", "\"version\":\"1\"", no,
	    "accepted.extra.version", "\"1\"");
	assert_match(2, "\"extra\":{",
	    "\"extra\":{\"assetTransferMethod\":\"permit2\",", no,
	    "accepted.extra.assetTransferMethod", "permit2");
	assert_match(2,
	    "\"signature\":", "\"permit2Authorization\":{},\"signature\":", no,
	    "payload", "EIP-3009");
}

static void
test_amounts(void **state)
{
	(void)state;
	assert_match(2, "\"amount\":\"10000\"", "\"amount\":\"9999\"",
	    ST_PAYMENT_AMOUNT_INSUFFICIENT, "accepted.amount is 9999", "10000");
	assert_match(2, "\"amount\":\"10000\"", "\"amount\":\"0\"",
	    ST_PAYMENT_AMOUNT_INSUFFICIENT, "accepted.amount is 0", "10000");
	assert_match(2, "\"amount\":\"10000\"", "\"amount\":\"10001\"",
	    ST_PAYMENT_REQUIREMENTS_MISMATCH, "accepted.amount is 10001",
	    "10000");
	/* 2^64 + 10000: not the price in any narrower integer. */
	assert_match(2, "\"amount\":\"10000\"",
	    "\"amount\":\"18446744073709561616\"",
	    ST_PAYMENT_REQUIREMENTS_MISMATCH, "accepted.amount", "10000");
	for (int version = 1; version <= 2; version++) {
		assert_match(version, "\"value\":\"10000\"",
		    "\"value\":\"9999\"", ST_PAYMENT_AMOUNT_INSUFFICIENT,
		    "payload.authorization.value is 9999", "10000");
		assert_match(version, "\"value\":\"10000\"",
		    "\"value\":\"10001\"", ST_PAYMENT_REQUIREMENTS_MISMATCH,
		    "payload.authorization.value is 10001", "10000");
		assert_match(version, "\"to\":\"" TO, "\"to\":\"" OTHER,
		    ST_PAYMENT_INVALID, "payload.authorization.to is " OTHER,
		    TO);
		/* A payment to oneself is none to us. */
		assert_match(version, "\"to\":\"" TO, "\"to\":\"" FROM,
		    ST_PAYMENT_INVALID, "payload.authorization.to", FROM);
	}
}

/* Of two faults the first counts: requirements, recipient, amounts. */
static void
test_first_fault(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_payment p =
	    help_payment(2, "\"to\":\"" TO, "\"to\":\"" OTHER);
	struct fault f;

	(void)state;
	req.amount = u256_from(10001);
	assert_int_equal(x402_match(&p, &req, &f), ST_PAYMENT_INVALID);
	assert_word(&f, "payload.authorization.to is " OTHER);
	req.asset_name = "USD Coin";
	assert_int_equal(
	    x402_match(&p, &req, &f), ST_PAYMENT_REQUIREMENTS_MISMATCH);
	assert_word(&f, "accepted.extra.name");
	x402_payment_free(&p);
}

/* A client's text reaches the message cut and as plain ASCII. */
static void
test_hostile_text(void **state)
{
	OWN_BUF struct buf b;

	(void)state;
	buf_init(&b, 1 << 14);
	buf_adds(&b, "\"name\":\"\\u00e9\\n\\u001b[31m\\ud83d\\ude00");
	for (int i = 0; i < 9000; i++)
		buf_addc(&b, 'x');
	buf_addc(&b, '"');
	assert_match(2, "\"name\":\"USDC\"", buf_cstr(&b),
	    ST_PAYMENT_REQUIREMENTS_MISMATCH, "\"???", "xxx...\", but");
	buf_clear(&b);
	buf_adds(&b, "\"name\":\"");
	for (int i = 0; i < 79; i++)
		buf_addc(&b, 'y');
	buf_addc(&b, '"');
	assert_match(2, "\"name\":\"USDC\"", buf_cstr(&b),
	    ST_PAYMENT_REQUIREMENTS_MISMATCH, "yyy\", but", "USDC");
}

/* Off EVM everything is compared letter by letter and the payload is not
 * looked into. */
static void
test_other_chain(void **state)
{
	struct x402_requirement req = { .scheme = "exact",
		.network = SOLANA_NET,
		.asset = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
		.pay_to = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
		.amount = u256_from(10000) };
	static const char json[] =
	    "{\"x402Version\":2,\"accepted\":{\"scheme\":\"exact\","
	    "\"network\":\"" SOLANA_NET "\",\"amount\":\"10000\",\"asset\":"
	    "\"EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\",\"payTo\":"
	    "\"2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4\","
	    "\"maxTimeoutSeconds\":60,\"extra\":{\"feePayer\":\"x\"}},"
	    "\"payload\":{\"transaction\":\"AAc=\"}}";
	struct x402_payment p;
	struct fault f;
	OWN_BUF struct buf header, id;

	(void)state;
	buf_init(&header, 1 << 12);
	buf_init(&id, 1 << 8);
	help_header(&header, json, "60", "60");
	assert_int_equal(
	    x402_payment_parse(&p, buf_cstr(&header), 2, NULL, NULL), ST_OK);
	assert_int_equal(x402_match(&p, &req, NULL), ST_OK);
	assert_int_equal(x402_window(&p, 0, 0, NULL), ST_OK);
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
	assert_int_equal(x402_identity(&id, &p, &req), ST_OK);
	assert_string_equal(buf_cstr(&id),
	    SOLANA_NET "/ca358758f6d27e6cf45272937977a748fd88391db679ceda7dc7bf"
		       "1f005ee879");
	req.pay_to = "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBG4";
	assert_int_equal(
	    x402_match(&p, &req, &f), ST_PAYMENT_REQUIREMENTS_MISMATCH);
	assert_word(&f, "accepted.payTo");
	x402_payment_free(&p);
}

static void
assert_identity(
    int version, const char *from, const char *to, const char *expected)
{
	struct x402_requirement req = help_requirement();
	struct x402_payment p = help_payment(version, from, to);
	OWN_BUF struct buf b;

	buf_init(&b, 256);
	assert_int_equal(x402_identity(&b, &p, &req), ST_OK);
	assert_string_equal(buf_cstr(&b), expected);
	x402_payment_free(&p);
}

static void
test_identity(void **state)
{
	static const char a[] = "eip155:84532/" LOWER_ASSET
				"/0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
				"/0x" A_NONCE;
	struct x402_requirement req = help_requirement();
	struct x402_payment p = help_plain(2);
	OWN_BUF struct buf b;

	(void)state;
	assert_identity(2, "\"value\"", "\"value\"", a);
	assert_identity(1, "\"value\"", "\"value\"", a);
	/* Neither the signature nor any spelling makes another payment of it,
	 * nor what the client says it cost. */
	assert_identity(2, SIGNATURE_A, "0x" A_R A_HIGH_S "1c", a);
	assert_identity(
	    2, FROM, "0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266", a);
	assert_identity(2, "1a1b1c1d1e1f", "1A1B1C1D1E1F", a);
	assert_identity(2, "\"amount\":\"10000\"", "\"amount\":\"1\"", a);
	/* Who signed and the nonce do. */
	assert_identity(2, FROM, OTHER,
	    "eip155:84532/" LOWER_ASSET
	    "/0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc/0x" A_NONCE);
	assert_identity(1, "\"nonce\":\"0x00", "\"nonce\":\"0xff",
	    "eip155:84532/" LOWER_ASSET
	    "/0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266/0xff01020304050607"
	    "08090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");

	buf_init(&b, 100);
	assert_int_equal(x402_identity(&b, &p, &req), ST_TOO_BIG);
	x402_payment_free(&p);
}

/* It stays the same payment when what it was sold for is accepted no more. */
static void
test_identity_of_what_is_gone(void **state)
{
	static const char tail[] = "/0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
				   "/0x" A_NONCE;
	static const char none[] = "0000000000000000000000000000000000000000";
	struct x402_requirement req = { .scheme = "exact",
		.network = SOLANA_NET,
		.asset = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v" };
	static const struct {
		int version;
		const char *from, *to, *head;
	} table[] = {
		{ 2, USDC_SEPOLIA, USDC_SEPOLIA, "eip155:84532/" LOWER_ASSET },
		{ 2, USDC_SEPOLIA, OTHER,
		    "eip155:84532/0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc" },
		{ 2, "eip155:84532", "eip155:8453",
		    "eip155:8453/" LOWER_ASSET },
		/* Nobody can have paid with these. */
		{ 2, USDC_SEPOLIA, "nonsense", NULL },
		{ 1, "\"value\"", "\"value\"", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct x402_payment p =
		    help_payment(table[i].version, table[i].from, table[i].to);
		OWN_BUF struct buf got, want, head, end;

		buf_init(&got, 256);
		buf_init(&want, 256);
		buf_init(&head, 256);
		buf_init(&end, 256);
		if (table[i].head == NULL)
			buf_addf(&want, "eip155:84532/0x%s%s", none, tail);
		else
			buf_addf(&want, "%s%s", table[i].head, tail);
		assert_int_equal(x402_identity(&got, &p, &req), ST_OK);
		assert_string_equal(buf_cstr(&got), buf_cstr(&want));
		assert_int_equal(
		    x402_identity_around(&head, &end, &p, &req), ST_OK);
		assert_string_equal(buf_cstr(&end), tail);
		assert_memory_equal(buf_cstr(&got), buf_cstr(&head), head.len);
		assert_int_equal(got.len, head.len + 40 + end.len);
		x402_payment_free(&p);
	}
}

/* A network that no settings can hold does not make the text any longer. */
static void
test_identity_is_short(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_payment p = help_plain(2);
	char longest[2001];
	OWN_BUF struct buf b;

	(void)state;
	memset(longest, 'n', 2000);
	longest[2000] = '\0';
	free(p.network);
	p.network = longest;
	p.evm = false;
	buf_init(&b, 256);
	assert_int_equal(x402_identity(&b, &p, &req), ST_OK);
	assert_memory_equal(buf_cstr(&b), "eip155:84532/", 13);
	buf_clear(&b);
	assert_int_equal(x402_identity_around(&b, &b, &p, &req), ST_BUG);
	p.network = NULL;
	x402_payment_free(&p);
}

static enum status
window(const char *member, const char *value, uint64_t now, uint64_t margin,
    struct fault *f)
{
	OWN_BUF struct buf to, from;
	struct x402_payment p;
	enum status st;

	buf_init(&to, 256);
	buf_init(&from, 256);
	buf_addf(&from, "\"%s\":\"%s\"", member,
	    strcmp(member, "validAfter") == 0 ? "1740672089" : "1740672389");
	buf_addf(&to, "\"%s\":\"%s\"", member, value);
	p = help_payment(2, buf_cstr(&from), buf_cstr(&to));
	st = x402_window(&p, now, margin, f);
	x402_payment_free(&p);
	return st;
}

static void
test_window(void **state)
{
	static const uint64_t before = 1740672389, after = 1740672089;
	static const enum status no = ST_PAYMENT_INVALID;
	struct x402_payment p = help_plain(2);
	struct fault f;

	(void)state;
	assert_int_equal(x402_window(&p, before - 7, 0, NULL), ST_OK);
	assert_int_equal(x402_window(&p, before - 6, 0, NULL), ST_OK);
	assert_int_equal(x402_window(&p, before - 5, 0, &f), no);
	assert_int_equal(f.st, no);
	assert_word(&f, "payload.authorization.validBefore is 1740672389");
	assert_word(&f, "1740672384");
	assert_int_equal(x402_window(&p, before, 0, NULL), no);
	assert_int_equal(x402_window(&p, before + 1, 0, NULL), no);
	assert_int_equal(x402_window(&p, UINT64_MAX, 0, NULL), no);
	assert_int_equal(x402_window(&p, before - 36, 30, NULL), ST_OK);
	assert_int_equal(x402_window(&p, before - 35, 30, NULL), no);
	assert_int_equal(x402_window(&p, before - 36, UINT64_MAX, NULL), no);
	assert_int_equal(x402_window(&p, after, 0, NULL), ST_OK);
	assert_int_equal(x402_window(&p, after - 1, 0, &f), no);
	assert_word(&f, "payload.authorization.validAfter is 1740672089");
	assert_word(&f, "1740672088");
	x402_payment_free(&p);

	assert_int_equal(window("validAfter", "0", after, 0, NULL), ST_OK);
	assert_int_equal(
	    window("validAfter", "18446744073709551616", after, 0, &f), no);
	assert_word(&f, "validAfter is 18446744073709551616");
	/* 24 hours ahead and not a second more. */
	assert_int_equal(
	    window("validBefore", "1740758489", after, 0, NULL), ST_OK);
	assert_int_equal(window("validBefore", "1740758490", after, 0, &f), no);
	assert_word(&f, "86400");
	assert_int_equal(
	    window("validBefore", "18446744073709551616", after, 0, &f), no);
	assert_word(&f, "validBefore is 18446744073709551616");
	assert_int_equal(window("validBefore", "0", after, 0, NULL), no);
}

static void
assert_signed(
    const char *signature, enum x402_signed expected, const char *word)
{
	struct x402_requirement req = help_requirement();
	struct x402_payment p = help_payment(2, SIGNATURE_A, signature);
	struct fault f = { .st = ST_OK };

	assert_int_equal(x402_signature(&p, &req, &f), expected);
	if (expected == X402_SIGNED_NO) {
		assert_int_equal(f.st, ST_PAYMENT_INVALID);
		assert_word(&f, "payload.signature");
		assert_word(&f, word);
	} else {
		assert_int_equal(f.st, ST_OK);
	}
	x402_payment_free(&p);
}

static void
test_signature(void **state)
{
	static const char zero[] = "0000000000000000000000000000000000000000000"
				   "000000000000000000000";
	OWN_BUF struct buf b;

	(void)state;
	assert_int_equal(strlen(zero), 64);
	assert_signed(SIGNATURE_A, X402_SIGNED_YES, "");
	/* Somebody else's, of 65 bytes or more: a wallet contract decides. */
	assert_signed("0x" A_R A_S "1c", X402_SIGNED_UNDECIDED, "");
	assert_signed(SIGNATURE_A "00", X402_SIGNED_UNDECIDED, "");
	buf_init(&b, 1 << 15);
	buf_adds(&b, "0x");
	for (int i = 0; i < 2000; i++)
		buf_adds(&b, "64926492");
	assert_signed(buf_cstr(&b), X402_SIGNED_UNDECIDED, "");

	assert_signed("0x", X402_SIGNED_NO, "too short");
	assert_signed("0x1b", X402_SIGNED_NO, "too short");
	assert_signed("0x" A_R A_S, X402_SIGNED_NO, "compact");
	assert_signed("0x" A_R A_S "00", X402_SIGNED_NO, "27 or 28");
	assert_signed("0x" A_R A_S "01", X402_SIGNED_NO, "27 or 28");
	assert_signed("0x" A_R A_S "1d", X402_SIGNED_NO, "27 or 28");
	assert_signed("0x" A_R A_HIGH_S "1c", X402_SIGNED_NO, "high s");
	buf_clear(&b);
	buf_addf(&b, "0x%s%s1b", zero, A_S);
	assert_signed(buf_cstr(&b), X402_SIGNED_NO, "no key");
	buf_clear(&b);
	buf_addf(&b, "0x%s%s1b", A_R, zero);
	assert_signed(buf_cstr(&b), X402_SIGNED_NO, "no key");
}

/* The domain is ours: what the client says in extra changes nothing. */
static void
test_signature_domain(void **state)
{
	struct x402_requirement req = help_requirement();
	struct x402_payment p =
	    help_payment(2, "\"name\":\"USDC\"", "\"name\":\"Other\"");

	(void)state;
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_YES);
	req.asset_name = "USD Coin";
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
	req.asset_name = NULL;
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
	req = help_requirement();
	req.network = "eip155:8453";
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
	req.network = SOLANA_NET;
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
	req = help_requirement();
	req.asset = USDC_BASE;
	assert_int_equal(x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
	x402_payment_free(&p);
}

/* Nor does it prove anything of a payment in something else, which the identity
 * is that of. */
static void
test_signature_of_another_asset(void **state)
{
	static const char *const to[][2] = { { USDC_SEPOLIA, USDC_BASE },
		{ "eip155:84532", "eip155:8453" } };
	struct x402_requirement req = help_requirement();

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct x402_payment p = help_payment(2, to[i][0], to[i][1]);

		assert_int_equal(
		    x402_signature(&p, &req, NULL), X402_SIGNED_UNDECIDED);
		x402_payment_free(&p);
	}
}

/* Which of several things is meant. */
static void
test_pick(void **state)
{
	struct x402_payment v2 = help_plain(2), v1 = help_plain(1);
	struct x402_requirement req[3] = { help_requirement(),
		help_requirement(), help_requirement() };

	(void)state;
	req[0].network = "eip155:8453";
	req[1].asset = USDC_BASE;
	assert_int_equal(x402_pick(&v2, req, 3), 2);
	assert_int_equal(x402_pick(&v2, req, 2), 2); /* none */
	/* Version 1 names no asset: the first that is offered there. */
	assert_int_equal(x402_pick(&v1, req, 3), 1);
	req[1].not_v1 = true;
	assert_int_equal(x402_pick(&v1, req, 3), 2);
	req[2].scheme = "upto";
	assert_int_equal(x402_pick(&v2, req, 3), 3);
	assert_int_equal(x402_pick(&v1, req, 3), 3);
	x402_payment_free(&v2);
	x402_payment_free(&v1);
}

/* The payer's extra must hold what ours has, in any order and with more. */
static void
test_match_extra(void **state)
{
	static const struct {
		const char *ours;
		bool held;
	} table[] = {
		{ NULL, true },
		{ "\"feePayer\":\"A\"", true },
		{ "\"n\":{\"b\":[1,2],\"a\":1.0},\"feePayer\":\"A\"", true },
		{ "\"feePayer\":\"B\"", false },
		{ "\"feePayer\":null", false },
		{ "\"other\":\"A\"", false },
		{ "\"n\":{\"a\":1}", false },
	};
	struct x402_payment p = help_payment(2, "\"version\":\"2\"}}",
	    "\"version\":\"2\",\"feePayer\":\"A\",\"x\":1,"
	    "\"n\":{\"a\":1,\"b\":[1,2]}}}");
	struct x402_payment none = help_plain(2);
	struct x402_requirement req = help_requirement();
	struct fault f;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		req.extra = table[i].ours;
		assert_int_equal(x402_match(&p, &req, &f),
		    table[i].held ? ST_OK : ST_PAYMENT_REQUIREMENTS_MISMATCH);
		assert_int_equal(x402_pick(&p, &req, 1), table[i].held ? 0 : 1);
	}
	req.extra = "\"feePayer\":\"A\"";
	assert_int_equal(
	    x402_match(&none, &req, &f), ST_PAYMENT_REQUIREMENTS_MISMATCH);
	x402_payment_free(&p);
	x402_payment_free(&none);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_first_fault),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_other_chain),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_identity_of_what_is_gone),
		cmocka_unit_test(test_identity_is_short),
		cmocka_unit_test(test_signature_of_another_asset),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_signature_domain),
		cmocka_unit_test(test_pick),
		cmocka_unit_test(test_match_extra),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
