#include "web/mcp_tools.h"

#include "base/json.h"
#include "pay/price.h"
#include "web/member_schema.h"
#include "web/request.h"

/* Agents decide by the description, so the price is in it. */
static void
put_description(struct buf *out, const struct site *s)
{
	OWN_BUF struct buf text;
	char price[32];

	buf_init(&text, 8192);
	buf_adds(&text,
	    "Runs a program in a fresh sandbox without network and returns its "
	    "stdout, stderr, exit code and a signed receipt. Paid by x402 for "
	    "each call; the smallest tier that holds the limits is the "
	    "price: ");
	for (size_t i = 0; i < s->n_tiers; i++) {
		price_dollars(price, s->tiers[i].price_micros);
		buf_addf(&text, "%s%s %s", i == 0 ? "" : ", ", s->tiers[i].name,
		    price);
	}
	buf_adds(&text,
	    ". Without a payment the result says what to pay. Repeat a call "
	    "whose answer was lost with the same payment: it is not charged "
	    "again.");
	json_put_bytes(out, text.data, text.len);
}

void
mcp_tools_put(struct buf *out, const struct site *s)
{
	buf_adds(out,
	    "{\"tools\":[{\"name\":\"execute\",\"title\":\"Run a program\","
	    "\"description\":");
	put_description(out, s);
	json_key(out, "inputSchema");
	member_schema_put(out, &request_native, s, MEMBER_SCHEMA_WHOLE);
	buf_adds(out,
	    ",\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":"
	    "false,"
	    "\"idempotentHint\":false,\"openWorldHint\":false}},"
	    "{\"name\":\"quote\",\"title\":\"What a run costs\","
	    "\"description\":\"The price, tier and limits that execute would "
	    "have for the same arguments. Free.\",\"inputSchema\":");
	member_schema_put(out, &request_native, s, MEMBER_SCHEMA_PARTIAL);
	buf_adds(out, ",\"annotations\":{\"readOnlyHint\":true,"
		      "\"openWorldHint\":false}}]}");
}

void
mcp_tools_put_instructions(struct buf *out)
{
	json_put_string(out,
	    "execute runs code in a sandbox for an x402 payment in "
	    "_meta[\"x402/payment\"]; without one it answers what to pay. "
	    "quote "
	    "tells the price for free. A call whose answer was lost is "
	    "repeated "
	    "with the same payment and is not charged again; with "
	    "_meta[\"tollbox/idempotency-key\"] (32 to 128 characters, secret) "
	    "not even with a new one.");
}
