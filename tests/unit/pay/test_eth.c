#include "pay/eth.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../vectors/domains.h"
#include "../../vectors/eip3009.h"
#include "base/hex.h"

static struct eth_address
address(const char *text)
{
	struct eth_address a;

	assert_int_equal(eth_address_parse(&a, text), ST_OK);
	return a;
}

static void
assert_address(const struct eth_address *a, const char *expected)
{
	char text[ETH_ADDRESS_TEXT];

	eth_address_text(text, a);
	assert_string_equal(text, expected);
}

static void
assert_hex(const uint8_t hash[32], const char *expected)
{
	char text[65];

	hex_encode(text, hash, 32);
	assert_string_equal(text, expected);
}

static void
fill(struct eth_domain *d, struct eth_authorization *a, uint8_t sig[65],
    const struct eip3009_vector *v)
{
	d->name = v->name;
	d->version = v->version;
	d->chain_id = u256_from(v->chain_id);
	d->contract = address(v->contract);
	a->from = address(FROM);
	a->to = address(TO);
	a->value = u256_from(10000);
	a->valid_after = u256_from(v->valid_after);
	a->valid_before = u256_from(v->valid_before);
	assert_int_equal(hex_decode(a->nonce, 32, v->nonce), ST_OK);
	assert_int_equal(hex_decode(sig, 65, v->signature), ST_OK);
}

/* The examples of EIP-55, given in lower and upper case. */
static void
test_checksum(void **state)
{
	static const char *const texts[] = {
		"0x52908400098527886E0F7030069857D2E4169EE7",
		"0x8617E340B3D01FA5F11F306F4090FD50E238070D",
		"0xde709f2102306220921060314715629080e2fb77",
		"0x27b1fdb04752bbc536007a920d24acb045561c26",
		"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
		"0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
		"0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
		"0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
		FROM,
		TO,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct eth_address a = address(texts[i]);
		char lower[ETH_ADDRESS_TEXT] = "0x", upper[ETH_ADDRESS_TEXT];

		assert_address(&a, texts[i]);
		hex_encode(lower + 2, a.b, sizeof(a.b));
		memcpy(upper, lower, sizeof(upper));
		for (size_t k = 2; upper[k] != '\0'; k++)
			upper[k] = (char)toupper((unsigned char)upper[k]);
		a = address(lower);
		assert_address(&a, texts[i]);
		a = address(upper);
		assert_address(&a, texts[i]);
	}
}

static void
test_address_refuses(void **state)
{
	static const char *const bad[] = { "", "0x",
		"f39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb9226",
		"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb922666",
		"0xg39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		"0Xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		" 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
		"0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 " };
	struct eth_address a;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(eth_address_parse(&a, bad[i]), ST_FORMAT);
}

static void
test_equal(void **state)
{
	struct eth_address a = address(FROM), b = address(FROM);

	(void)state;
	assert_true(eth_address_equal(&a, &b));
	b.b[19] ^= 1;
	assert_false(eth_address_equal(&a, &b));
	b.b[19] ^= 1;
	b.b[0] ^= 0x80;
	assert_false(eth_address_equal(&a, &b));
}

static void
test_chain_id(void **state)
{
	static const char *const bad[] = { "", "eip155",
		"eip155:", "eip155:0x1", "eip155:01", "eip155: 1", "eip155:1 ",
		"eip155:-1", "EIP155:1", "base",
		"solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "84532" };
	struct u256 id, expected = u256_from(84532);

	(void)state;
	assert_int_equal(eth_chain_id(&id, "eip155:84532"), ST_OK);
	assert_int_equal(u256_cmp(&id, &expected), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(eth_chain_id(&id, bad[i]), ST_FORMAT);
}

static void
test_domains(void **state)
{
	(void)state;
	assert_int_equal(N_DOMAINS, 22);
	for (size_t i = 0; i < N_DOMAINS; i++) {
		struct eth_domain d = { .name = DOMAINS[i].name,
			.version = DOMAINS[i].version,
			.contract = address(DOMAINS[i].contract) };
		uint8_t hash[32];

		assert_int_equal(
		    eth_chain_id(&d.chain_id, DOMAINS[i].network), ST_OK);
		eth_domain_separator(hash, &d);
		assert_hex(hash, DOMAINS[i].separator);
		/* The table spells its contracts by EIP-55. */
		assert_address(&d.contract, DOMAINS[i].contract);
	}
}

static void
test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_EIP3009; i++) {
		struct eth_domain d;
		struct eth_authorization a;
		struct eth_address signer;
		uint8_t sig[65], hash[32];

		fill(&d, &a, sig, &EIP3009[i]);
		eth_struct_hash(hash, &a);
		assert_hex(hash, EIP3009[i].struct_hash);
		eth_digest(hash, &d, &a);
		assert_hex(hash, EIP3009[i].digest);
		assert_int_equal(eth_recover(&signer, hash, sig), ST_OK);
		assert_address(&signer, FROM);
	}
}

/* Every signed member changes who seems to have signed. */
static void
test_other_signer(void **state)
{
	struct eth_domain d, d0;
	struct eth_authorization a, a0;
	struct eth_address signer, from = address(FROM);
	uint8_t sig[65], hash[32];

	(void)state;
	fill(&d0, &a0, sig, &EIP3009[0]);
	a = a0;
	a.value = u256_from(10001);
	eth_digest(hash, &d0, &a);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_OK);
	assert_address(&signer, A_WRONG_SIGNER);

	for (int member = 0; member < 9; member++) {
		a = a0;
		d = d0;
		switch (member) {
		case 0:
			a.from.b[19] ^= 1;
			break;
		case 1:
			a.to.b[0] ^= 1;
			break;
		case 2:
			a.valid_after.be[31] ^= 1;
			break;
		case 3:
			a.valid_before.be[31] ^= 1;
			break;
		case 4:
			a.nonce[0] ^= 1;
			break;
		case 5:
			d.name = "USD Coin";
			break;
		case 6:
			d.version = "1";
			break;
		case 7:
			d.chain_id = u256_from(8453);
			break;
		default:
			d.contract.b[7] ^= 1;
			break;
		}
		eth_digest(hash, &d, &a);
		if (eth_recover(&signer, hash, sig) == ST_OK)
			assert_false(eth_address_equal(&signer, &from));
	}
}

static void
test_refused_signatures(void **state)
{
	/* The curve's order; half of it; one more. */
	static const char order[] =
	    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
	static const char half[] =
	    "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";
	static const char over[] =
	    "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a1";
	struct eth_domain d;
	struct eth_authorization a;
	struct eth_address signer;
	uint8_t good[65], sig[65], hash[32];

	(void)state;
	fill(&d, &a, good, &EIP3009[0]);
	eth_digest(hash, &d, &a);

	assert_int_equal(hex_decode(sig, 65, A_R A_HIGH_S "1c"), ST_OK);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_REFUSED);

	for (int v = 0; v < 256; v++) {
		memcpy(sig, good, 65);
		sig[64] = (uint8_t)v;
		assert_int_equal(eth_recover(&signer, hash, sig),
		    v == 27 || v == 28 ? ST_OK : ST_FORMAT);
	}

	memcpy(sig, good, 65);
	memset(sig, 0, 32);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_REFUSED);
	memcpy(sig, good, 65);
	memset(sig + 32, 0, 32);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_REFUSED);
	assert_int_equal(hex_decode(sig, 32, order), ST_OK);
	memcpy(sig + 32, good + 32, 33);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_REFUSED);

	memcpy(sig, good, 65);
	assert_int_equal(hex_decode(sig + 32, 32, half), ST_OK);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_OK);
	assert_int_equal(hex_decode(sig + 32, 32, over), ST_OK);
	assert_int_equal(eth_recover(&signer, hash, sig), ST_REFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checksum),
		cmocka_unit_test(test_address_refuses),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_chain_id),
		cmocka_unit_test(test_domains),
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_other_signer),
		cmocka_unit_test(test_refused_signatures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
