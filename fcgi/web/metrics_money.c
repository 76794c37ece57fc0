#include "web/metrics_money.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "pay/u256.h"
#include "web/metrics_text.h"
#include "web/site.h"

/* Networks and assets of the settings and of rows that are older than them;
 * more go to "other". */
#define MONEY_MAX 64

struct money {
	char network[ACCEPT_TEXT];
	char asset[ACCEPT_TEXT];
	int decimals; /* -1: not known any more */
	struct u256 sum;
	uint64_t payments;
};

static struct {
	pthread_mutex_t lock;
	struct money list[MONEY_MAX + 1];
	size_t n;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The lock is held. */
static struct money *
money_of(const char *network, const char *asset)
{
	struct money *m;

	for (size_t i = 0; i < table.n; i++) {
		m = &table.list[i];
		if (strcmp(m->network, network) == 0 &&
		    strcmp(m->asset, asset) == 0)
			return m;
	}
	m = &table.list[table.n];
	if (table.n == MONEY_MAX) {
		network = "other";
		asset = "other";
	} else {
		table.n++;
	}
	snprintf(m->network, sizeof(m->network), "%s", network);
	snprintf(m->asset, sizeof(m->asset), "%s", asset);
	m->decimals = -1;
	return m;
}

void
metrics_money_site(const struct site *s)
{
	pthread_mutex_lock(&table.lock);
	for (size_t i = 0; i < s->n_accepts; i++) {
		const struct accept *a = &s->accepts[i];

		money_of(a->network, a->asset)->decimals = (int)a->decimals;
	}
	pthread_mutex_unlock(&table.lock);
}

void
metrics_money_settled(
    const char *network, const char *asset, const char *amount)
{
	struct money *m;
	struct u256 v;

	if (u256_parse(&v, amount) != ST_OK) {
		log_err("metrics: %s is no amount", amount);
		return;
	}
	pthread_mutex_lock(&table.lock);
	m = money_of(network, asset);
	u256_add(&m->sum, &m->sum, &v);
	m->payments++;
	pthread_mutex_unlock(&table.lock);
}

/* One of the families about money, value by value. */
static void
put_money_family(struct buf *out, const struct money *m, size_t n,
    const char *name,
    void (*value)(char text[U256_TEXT], const struct money *m))
{
	char text[U256_TEXT];

	for (size_t i = 0; i < n; i++) {
		value(text, &m[i]);
		if (text[0] != '\0')
			metrics_text_sample(out, name,
			    (const char *[]){ "network", m[i].network, "asset",
				m[i].asset, NULL },
			    text);
	}
}

static void
sum_of(char text[U256_TEXT], const struct money *m)
{
	u256_text(text, &m->sum);
}

static void
payments_of(char text[U256_TEXT], const struct money *m)
{
	snprintf(text, U256_TEXT, "%" PRIu64, m->payments);
}

static void
decimals_of(char text[U256_TEXT], const struct money *m)
{
	text[0] = '\0';
	if (m->decimals >= 0)
		snprintf(text, U256_TEXT, "%d", m->decimals);
}

void
metrics_money_put(struct buf *out)
{
	struct money *m;
	size_t n;

	m = malloc(sizeof(table.list));
	if (m == NULL)
		return;
	pthread_mutex_lock(&table.lock);
	memcpy(m, table.list, sizeof(table.list));
	n = table.n;
	pthread_mutex_unlock(&table.lock);
	if (n == MONEY_MAX && m[n].payments > 0)
		n++;
	metrics_text_family(out, "tollbox_settled_atomic_units_total",
	    "counter", "Money settled, in the asset's smallest units.");
	put_money_family(
	    out, m, n, "tollbox_settled_atomic_units_total", sum_of);
	metrics_text_family(out, "tollbox_settled_payments_total", "counter",
	    "Payments settled.");
	put_money_family(
	    out, m, n, "tollbox_settled_payments_total", payments_of);
	metrics_text_family(out, "tollbox_asset_decimals", "gauge",
	    "Digits behind the point of the asset's unit.");
	put_money_family(out, m, n, "tollbox_asset_decimals", decimals_of);
	free(m);
}
