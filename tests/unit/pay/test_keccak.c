#include "pay/keccak.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hex.h"

static void
check(const void *data, size_t len, const char *expected)
{
	uint8_t hash[32];
	char text[65];

	keccak_256(hash, data, len);
	hex_encode(text, hash, sizeof(hash));
	assert_string_equal(text, expected);
}

static void
test_words(void **state)
{
	(void)state;
	check("", 0,
	    "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
	check("abc", 3,
	    "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45");
	check("USDC", 4,
	    "d6aca1be9729c13d677335161321649cccae6a591554772516700f986f942eaa");
	check("2", 1,
	    "ad7c5bef027816a800da1736444fb58a807ef4c9603b7848673f7e3a68eb14a5");
	check("USD Coin", 8,
	    "52878b207aaddbfc15ea7bebcda681eb8ccd306e2227b61cef68505c8c056341");
}

static void
test_types(void **state)
{
	static const char domain[] = "EIP712Domain(string name,string version,"
				     "uint256 chainId,address "
				     "verifyingContract)";
	static const char transfer[] =
	    "TransferWithAuthorization(address from,address to,uint256 value,"
	    "uint256 validAfter,uint256 validBefore,bytes32 nonce)";
	static const char cancel[] =
	    "CancelAuthorization(address authorizer,bytes32 nonce)";

	(void)state;
	check(domain, sizeof(domain) - 1,
	    "8b73c3c69bb8fe3d512ecc4cf759cc79239f7b179b0ffacaa9a75d522b39400f");
	check(transfer, sizeof(transfer) - 1,
	    "7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267");
	check(cancel, sizeof(cancel) - 1,
	    "158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429");
}

/* Around the block of 136 bytes, where padding has one byte, none, or a block
 * of its own. Computed with viem. */
static void
test_blocks(void **state)
{
	static const struct {
		size_t len;
		const char *hash;
	} rows[] = {
		{ 1, "69c322e3248a5dfc29d73c5b0553b018"
		     "5a35cd5bb6386747517ef7e53b15e287" },
		{ 135, "00ef96af9cf4b24c7f269d922294444a"
		       "197d0a33638c2e56634c57e892103a8f" },
		{ 136, "742061bcad767ed4c4f5883b1dcb1aad"
		       "11afdcc140dc469d953759b127b9f9ed" },
		{ 137, "e3371f61e770abf254c34239c3b0099a"
		       "d90594507415bc81dd0a10b9692bbf2a" },
		{ 271, "4401c4afbe16ff911bdbf2d38e556e5b"
		       "861f3fdf0f9d4306b1c46f6ae4f73584" },
		{ 272, "ac141fd7b0a0ffcd2e967254d508da3e"
		       "c616596493c36fa304425647d90e6de5" },
		{ 273, "16192ea86793083e47731cb3c970600f"
		       "04768414d92bc0540e54ce8607a0fce0" },
		{ 1000, "80cdc8dd52cbb3dbaea8f383209893fa"
			"2bb52efbd5aedbb4b26dcfe307fcdc9b" },
	};
	uint8_t data[1000];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 3);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(data, rows[i].len, rows[i].hash);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
