/*
 * libFuzzer: a payment header, given as the client sent it, or (an odd first
 * byte) as JSON that is put into base64 first, which gets past the alphabet
 * faster. What parses must survive every later step, and what is forwarded
 * must be JSON in which our own terms stand.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"
#include "pay/x402.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
check_forwarded(const struct x402_payment *p,
    const struct x402_requirement *req, const struct x402_resource *res)
{
	static const struct json_caps caps = { .depth = 64, .values = 8192 };
	OWN_JSON struct cJSON *v = NULL;
	OWN_BUF struct buf b;

	buf_init(&b, 1 << 20);
	x402_put_facilitator(&b, p, req, res);
	must(buf_status(&b) == ST_OK);
	must(json_parse(&v, buf_cstr(&b), b.len, &caps, NULL) == ST_OK);
	must(json_count(v) == 3);
	must(strcmp(json_string(
			json_get(json_get(v, "paymentRequirements"), "payTo")),
		 req->pay_to) == 0);
}

static void
check_payment(const struct x402_payment *p)
{
	static const struct x402_resource res = { .url = "https://x.example/",
		.description = "" };
	struct x402_requirement req = { .scheme = "exact",
		.network = "eip155:84532",
		.asset = "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
		.pay_to = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
		.asset_name = "USDC",
		.asset_version = "2",
		.amount = u256_from(10000) };
	OWN_BUF struct buf id;
	struct fault f = { .st = ST_OK };
	enum status st;

	buf_init(&id, 256);
	must(x402_identity(&id, p, &req) == ST_OK);
	must(strchr(buf_cstr(&id), '/') != NULL);
	st = x402_match(p, &req, &f);
	must(st == ST_OK ? p->evm && u256_cmp(&p->auth.value, &req.amount) == 0
			 : f.st == st && f.message[0] != '\0');
	(void)!x402_window(p, 1740672089, 30, &f);
	f = (struct fault){ .st = ST_OK };
	must((x402_signature(p, &req, &f) == X402_SIGNED_NO) ==
	     (f.st == ST_PAYMENT_INVALID));
	check_forwarded(p, &req, &res);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN_BUF struct buf header;
	struct x402_payment p;
	struct fault f = { .st = ST_OK };
	enum status st;

	buf_init(&header, 1 << 20);
	if (size == 0)
		return 0;
	if (data[0] & 1)
		hex_base64(&header, data + 1, size - 1);
	else
		buf_add(&header, data + 1, size - 1);
	st = x402_payment_parse(&p, buf_cstr(&header), data[0] & 2 ? 2 : 1,
	    data[0] & 4 ? "here" : NULL, &f);
	if (st == ST_OK) {
		check_payment(&p);
		x402_payment_free(&p);
	} else {
		must(st == ST_PAYMENT_MALFORMED && f.st == st &&
		     f.message[0] != '\0' && p.raw == NULL);
	}
	return 0;
}
