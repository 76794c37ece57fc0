/*
 * The limits of a gate for payers and addresses (api.md section 1, step 8). A
 * payer counts only once the signature is verified, so that nobody spends
 * another's share; what is not verified yet counts against its address.
 * Stored answers, runs that are owed and waiting twins never come here.
 */
#ifndef QUOTA_H
#define QUOTA_H

#include <stddef.h>

#include "base/conf.h"
#include "base/status.h"
#include "web/http.h"

struct quota;

/* places: of requests that may work on payments at a time. ST_OK, ST_FORMAT,
 * ST_NOMEM. */
enum status quota_open(struct quota **out, const struct conf *c, size_t places)
    __attribute__((warn_unused_result));
void quota_close(struct quota *k); /* NULL is fine */

/* One request of q's address. ST_OK, or ST_EXECUTE_IP_RATE_LIMITED with f. */
enum status quota_address(struct quota *k, const struct http_request *q,
    struct fault *f) __attribute__((warn_unused_result));

/* A payment that only a facilitator can judge is about to be shown to it, or (q
 * NULL: no address pays for that) a balance to be read. ST_OK: quota_verified()
 * is due. ST_EXECUTE_IP_RATE_LIMITED, or ST_SERVICE_BUSY while too many are
 * under way, with f. */
enum status quota_verify(struct quota *k, const struct http_request *q,
    struct fault *f) __attribute__((warn_unused_result));
void quota_verified(struct quota *k);

/* A payment of somebody who never paid here before, or was refused last. He may
 * have nothing to pay with, and that shows only when it is settled: so all such
 * have half of the places together until then, and an address may have as many
 * refused as quota_verify() lets it have checked. q is NULL for a payment on
 * record: no such limit holds, and it may have been charged before, so f does
 * not say that nothing was. ST_OK: quota_stranger_leave() is due.
 * ST_EXECUTE_IP_RATE_LIMITED, or ST_SERVICE_BUSY, with f. */
enum status quota_stranger(struct quota *k, const struct http_request *q,
    struct fault *f) __attribute__((warn_unused_result));
/* refused: the settlement, for good. Else he has paid, or nobody knows. q as
 * before. */
void quota_stranger_leave(
    struct quota *k, const struct http_request *q, bool refused);
/* Was a stranger refused within the last minute? Then it is worth a call to see
 * what the next one has. */
bool quota_wary(const struct quota *k);

/* A new paid run of a payer ("" where nobody knows: then it is the address's);
 * known: he has paid here before. ST_OK: quota_payer_leave() is due.
 * ST_PAYER_RATE_LIMITED or ST_PAYER_CONCURRENCY_LIMITED with f. */
enum status quota_payer(struct quota *k, const char *payer, bool known,
    const struct http_request *q, struct fault *f)
    __attribute__((warn_unused_result));
/* ran: false where it did not come to settling; then nothing was used up. */
void quota_payer_leave(
    struct quota *k, const char *payer, const struct http_request *q, bool ran);

#endif
