/* What metrics.h is for requests, for money settled: sums by network and asset.
 * Thread-safe. */
#ifndef METRICS_MONEY_H
#define METRICS_MONEY_H

#include "base/buf.h"

struct site;

/* What s takes money in is there from now on, as zero. */
void metrics_money_site(const struct site *s);

/* One payment is known to be settled: its amount in atomic units. Sums are
 * exact; where they pass 2^256 they begin anew, as after a restart. */
void metrics_money_settled(
    const char *network, const char *asset, const char *amount);

/* Append the families about money. */
void metrics_money_put(struct buf *out);

#endif
