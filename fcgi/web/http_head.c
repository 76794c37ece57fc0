#include "web/http_head.h"

#include <stddef.h>

/* Every header that a caller may send or should read (api.md section 1). The
 * fourth request header looks wrong, but released clients send it (x402.md
 * 1.12). */
static const char common_headers[] =
    "Access-Control-Allow-Origin: *\r\n"
    "Access-Control-Expose-Headers: PAYMENT-REQUIRED, PAYMENT-RESPONSE, "
    "X-PAYMENT-RESPONSE, TOLLBOX-RECEIPT, Idempotency-Replayed, Retry-After, "
    "Request-Id, Allow\r\n";

static const char *
reason_phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} table[] = {
		{ 200, "OK" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 402, "Payment Required" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 409, "Conflict" },
		{ 413, "Content Too Large" },
		{ 415, "Unsupported Media Type" },
		{ 429, "Too Many Requests" },
		{ 500, "Internal Server Error" },
		{ 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].status == status)
			return table[i].phrase;
	return "Status";
}

void
http_head_put(struct buf *out, const struct http_request *q, int status,
    const char *headers, size_t len)
{
	buf_addf(out, "Status: %d %s\r\nRequest-Id: %s\r\n", status,
	    reason_phrase(status), q->id);
	buf_adds(out, common_headers);
	buf_add(out, headers, len);
}
