#include "pay/x402.h"

#include <string.h>

#include "base/json.h"

#define MIME_TYPE "application/json"

/* v1 headers are read as Latin-1 by released clients. */
static void
put_text(struct buf *out, const char *s, int version)
{
	if (version == 1)
		json_put_ascii(out, s);
	else
		json_put_string(out, s);
}

static void
put_member(struct buf *out, const char *name, const char *s, int version)
{
	json_key(out, name);
	put_text(out, s, version);
}

/* Released clients and strict facilitators go by the checksummed spelling. */
static void
put_account(struct buf *out, const char *name, const char *network,
    const char *account, int version)
{
	struct u256 chain;
	struct eth_address address;
	char text[ETH_ADDRESS_TEXT];

	if (eth_chain_id(&chain, network) == ST_OK &&
	    eth_address_parse(&address, account) == ST_OK) {
		eth_address_text(text, &address);
		account = text;
	}
	put_member(out, name, account, version);
}

static void
put_extra(struct buf *out, const struct x402_requirement *req, int version)
{
	const char *more = version == 1 ? req->extra_v1 : req->extra;

	if (req->asset_name == NULL && req->asset_version == NULL &&
	    more == NULL)
		return;
	json_key(out, "extra");
	buf_addc(out, '{');
	if (req->asset_name != NULL)
		put_member(out, "name", req->asset_name, version);
	if (req->asset_version != NULL)
		put_member(out, "version", req->asset_version, version);
	if (more != NULL) {
		json_sep(out);
		buf_adds(out, more);
	}
	buf_addc(out, '}');
}

static void
put_timeout(struct buf *out)
{
	json_key(out, "maxTimeoutSeconds");
	buf_addf(out, "%d", X402_MAX_TIMEOUT);
}

static void
put_extensions(struct buf *out, const struct buf *extensions)
{
	if (extensions == NULL)
		return;
	json_key(out, "extensions");
	buf_add(out, extensions->data, extensions->len);
}

static void
put_v2(struct buf *out, const struct x402_requirement *req)
{
	char amount[U256_TEXT];

	u256_text(amount, &req->amount);
	buf_addc(out, '{');
	put_member(out, "scheme", req->scheme, 2);
	put_member(out, "network", req->network, 2);
	put_member(out, "amount", amount, 2);
	put_account(out, "asset", req->network, req->asset, 2);
	put_account(out, "payTo", req->network, req->pay_to, 2);
	put_timeout(out);
	put_extra(out, req, 2);
	buf_addc(out, '}');
}

static void
put_v1(struct buf *out, const struct x402_requirement *req,
    const struct x402_resource *res, const char *network)
{
	char amount[U256_TEXT];

	u256_text(amount, &req->amount);
	buf_addc(out, '{');
	put_member(out, "scheme", req->scheme, 1);
	put_member(out, "network", network, 1);
	put_member(out, "maxAmountRequired", amount, 1);
	put_member(out, "resource", res->url, 1);
	put_member(out, "description", res->description, 1);
	put_member(out, "mimeType", MIME_TYPE, 1);
	put_account(out, "payTo", req->network, req->pay_to, 1);
	put_timeout(out);
	put_account(out, "asset", req->network, req->asset, 1);
	if (res->output_schema != NULL) {
		json_key(out, "outputSchema");
		buf_adds(out, res->output_schema);
	}
	put_extra(out, req, 1);
	buf_addc(out, '}');
}

void
x402_put_requirement(struct buf *out, const struct x402_requirement *req,
    const struct x402_resource *res, int version)
{
	const char *name = x402_v1_name(req->network);

	if (version == 2)
		put_v2(out, req);
	else if (name != NULL)
		put_v1(out, req, res, name);
}

void
x402_put_identifier(struct buf *out)
{
	json_key(out, "payment-identifier");
	/* Word for word what released clients and servers know (x402.md
	 * 5.2). */
	buf_adds(out,
	    "{\"info\":{\"required\":false},\"schema\":{\"$schema\":"
	    "\"https://json-schema.org/draft/2020-12/schema\",\"type\":"
	    "\"object\",\"properties\":{\"required\":{\"type\":\"boolean\"},"
	    "\"id\":{\"type\":\"string\",\"minLength\":16,\"maxLength\":128,"
	    "\"pattern\":\"^[a-zA-Z0-9_-]+$\"}},\"required\":[\"required\"]}}");
}

void
x402_put_resource(struct buf *out, const struct x402_resource *res)
{
	buf_addc(out, '{');
	put_member(out, "url", res->url, 2);
	put_member(out, "description", res->description, 2);
	put_member(out, "mimeType", MIME_TYPE, 2);
	if (res->service_name != NULL)
		put_member(out, "serviceName", res->service_name, 2);
	buf_addc(out, '}');
}

void
x402_put_required(struct buf *out, const struct x402_requirement *req, size_t n,
    const struct x402_resource *res, const char *error,
    const struct buf *extensions)
{
	buf_adds(out, "{\"x402Version\":2");
	if (error != NULL)
		put_member(out, "error", error, 2);
	json_key(out, "resource");
	x402_put_resource(out, res);
	json_key(out, "accepts");
	buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (!x402_put_fits(req, i, 2))
			continue;
		json_sep(out);
		put_v2(out, &req[i]);
	}
	buf_addc(out, ']');
	put_extensions(out, extensions);
	buf_addc(out, '}');
}

bool
x402_put_fits(const struct x402_requirement *req, size_t i, int version)
{
	if (version == 2)
		return !req[i].not_v2;
	if (req[i].not_v1 || strcmp(req[i].scheme, "exact") != 0 ||
	    x402_v1_name(req[i].network) == NULL)
		return false;
	for (size_t k = 0; k < i; k++) {
		if (!req[k].not_v1 && strcmp(req[k].scheme, "exact") == 0 &&
		    strcmp(req[k].network, req[i].network) == 0)
			return false;
	}
	return true;
}

void
x402_put_required_v1(struct buf *out, const struct x402_requirement *req,
    size_t n, const struct x402_resource *res, const char *error,
    const struct buf *extensions)
{
	buf_adds(out, "{\"x402Version\":1");
	put_member(out, "error", error, 1);
	json_key(out, "accepts");
	buf_addc(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (!x402_put_fits(req, i, 1))
			continue;
		json_sep(out);
		x402_put_requirement(out, &req[i], res, 1);
	}
	buf_addc(out, ']');
	put_extensions(out, extensions);
}

void
x402_put_response(struct buf *out, int version, const char *transaction,
    const char *network, const char *payer, const char *error_reason,
    const struct buf *extensions)
{
	const char *name = version == 1 ? x402_v1_name(network) : NULL;

	buf_adds(out,
	    error_reason == NULL ? "{\"success\":true" : "{\"success\":false");
	if (error_reason != NULL)
		put_member(out, "errorReason", error_reason, version);
	put_member(out, "transaction", transaction == NULL ? "" : transaction,
	    version);
	put_member(out, "network", name == NULL ? network : name, version);
	if (payer != NULL)
		put_account(out, "payer", network, payer, version);
	put_extensions(out, extensions);
	buf_addc(out, '}');
}

void
x402_put_facilitator(struct buf *out, const struct x402_payment *p,
    const struct x402_requirement *req, const struct x402_resource *res)
{
	buf_addf(out, "{\"x402Version\":%d", p->version);
	json_key(out, "paymentPayload");
	buf_add(out, p->raw, p->raw_len);
	json_key(out, "paymentRequirements");
	x402_put_requirement(out, req, res, p->version);
	buf_addc(out, '}');
}
