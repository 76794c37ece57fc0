#include "pay/offer_typed.h"

#include <string.h>

#include "pay/keccak.h"

#define WORD 32

static const char domain_type[] =
    "EIP712Domain(string name,string version,uint256 chainId)";
static const char offer_type[] =
    "Offer(uint256 version,string resourceUrl,string scheme,string network,"
    "string asset,string payTo,string amount,uint256 validUntil)";
static const char receipt_type[] =
    "Receipt(uint256 version,string network,string resourceUrl,string payer,"
    "uint256 issuedAt,string transaction)";

static void
put_text(uint8_t word[WORD], const char *text)
{
	keccak_256(word, text, strlen(text));
}

static void
put_number(uint8_t word[WORD], uint64_t n)
{
	struct u256 v = u256_from(n);

	memcpy(word, v.be, WORD);
}

/* The chain is always 1, whatever the network: the signature never goes to a
 * chain. */
static void
separator(uint8_t out[WORD], const char *name)
{
	uint8_t pre[4][WORD];

	put_text(pre[0], domain_type);
	put_text(pre[1], name);
	put_text(pre[2], "1");
	put_number(pre[3], 1);
	keccak_256(out, pre, sizeof(pre));
}

void
offer_typed_offer(uint8_t digest[32], const struct x402_requirement *req,
    const char *resource_url, uint64_t valid_until)
{
	uint8_t pre[9][WORD], domain[WORD], hash[WORD];
	char amount[U256_TEXT];

	u256_text(amount, &req->amount);
	put_text(pre[0], offer_type);
	put_number(pre[1], OFFER_TYPED_VERSION);
	put_text(pre[2], resource_url);
	put_text(pre[3], req->scheme);
	put_text(pre[4], req->network);
	put_text(pre[5], req->asset);
	put_text(pre[6], req->pay_to);
	put_text(pre[7], amount);
	put_number(pre[8], valid_until);
	keccak_256(hash, pre, sizeof(pre));
	separator(domain, "x402 offer");
	eth_typed_digest(digest, domain, hash);
}

void
offer_typed_receipt(uint8_t digest[32], const struct offer_paid *paid)
{
	uint8_t pre[7][WORD], domain[WORD], hash[WORD];

	put_text(pre[0], receipt_type);
	put_number(pre[1], OFFER_TYPED_VERSION);
	put_text(pre[2], paid->network);
	put_text(pre[3], paid->resource_url);
	put_text(pre[4], paid->payer);
	put_number(pre[5], paid->issued_at);
	put_text(pre[6], paid->transaction);
	keccak_256(hash, pre, sizeof(pre));
	separator(domain, "x402 receipt");
	eth_typed_digest(digest, domain, hash);
}
