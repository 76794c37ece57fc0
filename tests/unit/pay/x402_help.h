/* What the x402 tests share: headers made by changing a known good one. */
#ifndef X402_HELP_H
#define X402_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "../../vectors/eip3009.h"
#include "../../vectors/x402_headers.h"
#include "base/hex.h"
#include "pay/x402.h"

#define SIGNATURE_A "0x" A_R A_S "1b"

/* What the vectors were made for. */
static inline struct x402_requirement
help_requirement(void)
{
	return (struct x402_requirement){
		.scheme = "exact",
		.network = "eip155:84532",
		.asset = USDC_SEPOLIA,
		.pay_to = TO,
		.asset_name = "USDC",
		.asset_version = "2",
		.amount = u256_from(10000),
	};
}

static inline struct x402_resource
help_resource(void)
{
	return (struct x402_resource){
		.url = "https://api.example.com/execute",
		.description = "Run code in a sandbox",
	};
}

/* json with the one place that reads `from` changed to `to`, as a header. */
static inline void
help_header(struct buf *out, const char *json, const char *from, const char *to)
{
	OWN_BUF struct buf b;
	const char *at = strstr(json, from);

	buf_init(&b, 1 << 20);
	assert_non_null(at);
	assert_null(strstr(at + 1, from));
	buf_add(&b, json, (size_t)(at - json));
	buf_adds(&b, to);
	buf_adds(&b, at + strlen(from));
	hex_base64(out, b.data, b.len);
	assert_int_equal(buf_status(out), ST_OK);
}

static inline enum status
help_parse(struct x402_payment *p, int version, const char *from,
    const char *to, struct fault *f)
{
	OWN_BUF struct buf header;

	buf_init(&header, 1 << 21);
	help_header(
	    &header, version == 2 ? JSON_SIGNATURE : JSON_X_PAYMENT, from, to);
	return x402_payment_parse(p, buf_cstr(&header), version, NULL, f);
}

/* The changed payment, which must parse. */
static inline struct x402_payment
help_payment(int version, const char *from, const char *to)
{
	struct x402_payment p;
	struct fault f = { .st = ST_OK };

	if (help_parse(&p, version, from, to, &f) != ST_OK)
		fail_msg("%s -> %s: %s", from, to, f.message);
	return p;
}

static inline struct x402_payment
help_plain(int version)
{
	struct x402_payment p;

	assert_int_equal(x402_payment_parse(&p,
			     version == 2 ? HEADER_SIGNATURE : HEADER_X_PAYMENT,
			     version, NULL, NULL),
	    ST_OK);
	return p;
}

#endif
