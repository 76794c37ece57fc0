/*
 * x402 v1 and v2 over HTTP: building the 402 and the payment response, reading
 * the two payment headers, matching to our own requirements (x402.md 1, 2).
 * Pure: no clock, no network.
 */
#ifndef X402_H
#define X402_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"
#include "pay/eth.h"
#include "pay/u256.h"

#define X402_HEADER_CAP (24u << 10)   /* encoded payment header, x402.md 1.5 */
#define X402_MAX_TIMEOUT 300	      /* maxTimeoutSeconds, x402.md 4.6 */
#define X402_SIGNATURE_CAP (8u << 10) /* bytes of a signature, 4.3 */
#define X402_JSON_DEPTH 32	      /* of a payment, 1.5 */
#define X402_JSON_VALUES 4096

/* One thing we accept: an element of accepts. Text is borrowed from the
 * site; EVM addresses are spelled EIP-55. */
struct x402_requirement {
	const char *scheme;  /* "exact" */
	const char *network; /* CAIP-2 */
	const char *asset;
	const char *pay_to;
	const char *asset_name;	   /* extra.name, NULL if none */
	const char *asset_version; /* extra.version, NULL if none */
	/* Further members of extra as the facilitator wants them, JSON text
	 * without braces, printable ASCII; NULL if none. */
	const char *extra;
	const char *extra_v1;
	/* No facilitator takes it in that version: it is left out there. */
	bool not_v2;
	bool not_v1;
	struct u256 amount;
};

/* What is sold: resource of the 402. Borrowed; only the last two may be
 * NULL. */
struct x402_resource {
	const char *url;
	const char *description;
	const char *service_name; /* at most 32 printable ASCII */
	/* JSON text, of version 1's elements in a 402. Not what is signed, so
	 * facilitators are not told of it. */
	const char *output_schema;
};

/* Append `resource` of version 2: the object. */
void x402_put_resource(struct buf *out, const struct x402_resource *res);

/* The v1 name of a CAIP-2 network ("base-sepolia"), only those that
 * x402-fetch accepts (x402.md 2.2), or NULL. */
const char *x402_v1_name(const char *network);
/* The other way, or NULL. */
const char *x402_caip2(const char *v1_name);

/* A payment as it came. Owned: x402_payment_free(). */
struct x402_payment {
	int version; /* 1 or 2 */
	char *raw;   /* the decoded JSON text, forwarded as it is; only a v1
		      * object that calls itself 2 is written anew as 1 */
	size_t raw_len;
	/* What the client says it accepted. v1 has only scheme, network. */
	char *scheme;
	char *network;	  /* CAIP-2, v1 names translated; as sent if unknown */
	char *asset;	  /* NULL in v1 */
	char *pay_to;	  /* NULL in v1 */
	char *amount;	  /* NULL in v1; canonical decimal */
	char *extra_name; /* NULL if absent */
	char *extra_version; /* NULL if absent */
	char *extra_method;  /* assetTransferMethod, NULL if absent */
	char *extra;	     /* the whole object, JCS form, NULL if absent */
	char *identifier;    /* payment-identifier info.id, NULL if absent */
	/* EIP-3009 payload; evm is false for any other payload, which is known
	 * by a SHA-256: of a Solana transaction's message, else of the
	 * payload's JCS form. */
	bool evm;
	char digest[65];
	struct eth_authorization auth;
	uint8_t *signature;
	size_t signature_len;
};

/* Decode a payment header (X402_HEADER_CAP is checked here). version is 2 for
 * PAYMENT-SIGNATURE, 1 for X-PAYMENT, and the object must have that version's
 * shape: v2 needs x402Version 2, accepted and payload; v1 needs scheme,
 * network and payload, and its x402Version may be 1 or 2 (clients copy what
 * the 402 said). Scheme "exact" on an eip155 network without
 * permit2Authorization must carry a whole EIP-3009 payload, on a solana network
 * a transaction; any other payload is taken as it is. place is what messages
 * call the place that it came from, or NULL: that version's header. ST_OK;
 * ST_PAYMENT_MALFORMED with f naming the member at fault; ST_NOMEM. *out is
 * zeroed on failure. */
enum status x402_payment_parse(struct x402_payment *out, const char *header,
    int version, const char *place, struct fault *f)
    __attribute__((warn_unused_result));
void x402_payment_free(struct x402_payment *p);

/* Is what was signed the same as in the payment that body, len bytes which
 * x402_put_facilitator() wrote, was made of? Their payloads in JCS form alone
 * count: a client that repeats itself may write all else anew. ST_OK;
 * ST_CONFLICT if they differ; ST_FORMAT if body is none of ours; ST_NOMEM. */
enum status x402_payment_same(const struct x402_payment *p, const char *body,
    size_t len) __attribute__((warn_unused_result));

/* Append the identity of api.md section 10:
 * "eip155:84532/0xasset/0xfrom/0xnonce", lower case; not EVM: "network/digest".
 * Network and asset are those that the payment names, so that it stays the same
 * payment whatever is accepted by now; version 1 names no asset, so there it is
 * req's. Being the client's word it proves nothing: what is claimed must match
 * req in both (x402_match()), and who gets what a row holds is decided by the
 * signature. ST_OK or the status of out. */
enum status x402_identity(struct buf *out, const struct x402_payment *p,
    const struct x402_requirement *req) __attribute__((warn_unused_result));
/* Append what stands before and behind the asset's hex digits in it, of an EVM
 * payment: "eip155:84532/0x" and "/0xfrom/0xnonce". ST_OK, ST_BUG (not EVM), or
 * the status of head or tail. */
enum status x402_identity_around(struct buf *head, struct buf *tail,
    const struct x402_payment *p, const struct x402_requirement *req)
    __attribute__((warn_unused_result));

/* Does the payment accept what we offer, and does what was signed say so too
 * (recipient, value)? The first fault counts: what is accepted, the recipient,
 * the amounts. ST_OK; ST_PAYMENT_REQUIREMENTS_MISMATCH,
 * ST_PAYMENT_AMOUNT_INSUFFICIENT or ST_PAYMENT_INVALID with f in words
 * (api.md section 7). */
enum status x402_match(const struct x402_payment *p,
    const struct x402_requirement *req, struct fault *f)
    __attribute__((warn_unused_result));

/* Which of n things does the payment mean to pay for? By scheme, network and
 * asset, the first whose extra it holds; version 1 names no asset, so it means
 * the first of its network that is offered there. Says nothing about amount,
 * recipient or signature: x402_match() does. Its number, or n if none is. */
size_t x402_pick(
    const struct x402_payment *p, const struct x402_requirement *req, size_t n);

/* The time window against now (Unix seconds), x402.md 4.3: validBefore at
 * least now + 6 + margin_s and at most now + 24 h, validAfter at most now.
 * ST_OK, also where no window can be read (not EVM); ST_PAYMENT_INVALID with f
 * naming both times. */
enum status x402_window(const struct x402_payment *p, uint64_t now,
    uint64_t margin_s, struct fault *f) __attribute__((warn_unused_result));

enum x402_signed {
	X402_SIGNED_YES,
	X402_SIGNED_UNDECIDED,
	X402_SIGNED_NO
};

/* The local signature check. YES: the payer is p->auth.from. UNDECIDED: a
 * smart wallet may stand behind it (mismatch, longer than 65 bytes, not EVM,
 * req of another kind, network or asset than the payment names): the
 * facilitator decides. NO, with f: can never be
 * settled as it stands: too short, 64-byte compact form (EIP-2098), v other
 * than 27 and 28 (0 and 1 pass some facilitators but revert on chain), high s,
 * or no key fits r and s. Nothing is rewritten on the way to the facilitator,
 * so a form that would have to be is refused. */
enum x402_signed x402_signature(const struct x402_payment *p,
    const struct x402_requirement *req, struct fault *f);

/* ---- what we send ---- */

/* All of these write EVM addresses as EIP-55, and v1 objects in ASCII.
 *
 * One requirement as JSON: v2 element of accepts, or v1 element (which needs
 * the resource; nothing is appended if the network has no v1 name). */
void x402_put_requirement(struct buf *out, const struct x402_requirement *req,
    const struct x402_resource *res, int version);

/* Is req[i] an element of an object of that version? Not where it says not_v1
 * or not_v2. Released v1 clients throw everything away for one scheme or
 * network that they do not know; and only the first of a network counts, since
 * a v1 payment does not say which asset it is for. */
bool x402_put_fits(const struct x402_requirement *req, size_t i, int version);

/* The extension payment-identifier as we offer it, a member of `extensions`:
 * "payment-identifier":{"info":…,"schema":…} */
void x402_put_identifier(struct buf *out);

/* The v2 PaymentRequired object as JSON (before base64). error may be NULL:
 * left out. Those with not_v2 are left out. extensions: the value of that
 * member as JSON, or NULL; the same in the two below. */
void x402_put_required(struct buf *out, const struct x402_requirement *req,
    size_t n, const struct x402_resource *res, const char *error,
    const struct buf *extensions);

/* The v1 PaymentRequirementsResponse without its closing brace, so that the
 * caller can add `details`: {"x402Version":1,"error":…,"accepts":[…] with the
 * elements that are fit for it. */
void x402_put_required_v1(struct buf *out, const struct x402_requirement *req,
    size_t n, const struct x402_resource *res, const char *error,
    const struct buf *extensions);

/* The settlement as the payment response header tells it, as JSON, in the
 * network's name of that version. network is CAIP-2; transaction NULL or ""
 * means none; payer NULL: left out; error_reason NULL means success. */
void x402_put_response(struct buf *out, int version, const char *transaction,
    const char *network, const char *payer, const char *error_reason,
    const struct buf *extensions);

/* The facilitator's request body: version, p's raw text, our requirement. A v1
 * payment needs a req whose network has a v1 name, as every one that
 * x402_match() accepts has. */
void x402_put_facilitator(struct buf *out, const struct x402_payment *p,
    const struct x402_requirement *req, const struct x402_resource *res);

#endif
