#include "base/conf_tiers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_table.h"
#include "base/conf_value.h"
#include "base/log.h"

enum status
conf_tiers_ship(struct conf *c)
{
	static const struct {
		const char *name;
		uint64_t price_micros;
		struct limits limits;
	} shipped[] = {
		{ "small", 1000, { 10000, 256u << 20, 1u << 20, 64u << 20 } },
		{ "medium", 5000, { 60000, 512u << 20, 4u << 20, 256u << 20 } },
		{ "large", 20000,
		    { 300000, 2048u << 20, 16u << 20, 1024u << 20 } },
	};

	for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
		size_t at;
		enum status st =
		    conf_table_add(&at, c, CONF_TABLE_TIER, shipped[i].name);

		if (st != ST_OK)
			return st;
		c->tiers[at].price_micros = shipped[i].price_micros;
		c->tiers[at].limits = shipped[i].limits;
	}
	return ST_OK;
}

void
conf_tiers_sort(struct conf *c)
{
	/* By insertion: few, and equal prices keep the file's order. */
	for (size_t i = 1; i < c->n_tiers; i++)
		for (size_t j = i; j > 0 && c->tiers[j].price_micros <
						c->tiers[j - 1].price_micros;
		     j--)
			conf_table_swap_tiers(c, j, j - 1);
}

enum status
conf_tiers_drop(struct conf *c, struct fault *f)
{
	size_t n_dropped = 0;
	size_t i = 0;

	c->tiers_dropped = calloc(CONF_TIERS + 1, sizeof(char *));
	if (c->tiers_dropped == NULL)
		return ST_NOMEM;
	while (i < c->n_tiers) {
		const struct limits *l = &c->tiers[i].limits;
		/* Files are memory too (api.md section 4); as the boxer
		 * counts when it admits a run. */
		uint64_t needed =
		    l->memory_bytes + l->work_bytes + LIMITS_EXTRA_BYTES;

		if (needed <= c->memory_bytes) {
			i++;
			continue;
		}
		log_warn("tier %s is not offered: a run of it can take %" PRIu64
			 " bytes of memory, memory_bytes is %" PRIu64,
		    c->tiers[i].name, needed, c->memory_bytes);
		for (size_t j = i; j + 1 < c->n_tiers; j++)
			conf_table_swap_tiers(c, j, j + 1);
		c->n_tiers--;
		c->tiers_dropped[n_dropped++] = c->tiers[c->n_tiers].name;
		memset(&c->tiers[c->n_tiers], 0, sizeof(c->tiers[0]));
	}
	if (n_dropped == 0) {
		free(c->tiers_dropped);
		c->tiers_dropped = NULL;
	}
	if (c->n_tiers == 0)
		return fault_set(f, ST_FORMAT,
		    "[service] memory_bytes (TOLLBOX_MEMORY_BYTES): %" PRIu64
		    " bytes hold no tier",
		    c->memory_bytes);
	return ST_OK;
}

/* Does the word name (or name=price) speak of a dropped tier? */
static bool
dropped(const struct conf *c, const char *word)
{
	size_t len = strcspn(word, "=");

	for (size_t i = 0;
	     c->tiers_dropped != NULL && c->tiers_dropped[i] != NULL; i++)
		if (strlen(c->tiers_dropped[i]) == len &&
		    strncmp(c->tiers_dropped[i], word, len) == 0)
			return true;
	return false;
}

/* Take them out of a list; true if something is left. */
static bool
prune(char **words, const struct conf *c)
{
	size_t n = 0;

	for (size_t i = 0; words[i] != NULL; i++) {
		if (dropped(c, words[i]))
			free(words[i]);
		else
			words[n++] = words[i];
	}
	words[n] = NULL;
	return n > 0;
}

enum status
conf_tiers_prune(struct conf_site *s, const struct conf *c, struct fault *f)
{
	if (s->prices != NULL && !prune(s->prices, c)) {
		conf_value_free_words(s->prices);
		s->prices = NULL;
	}
	if (s->tiers != NULL && !prune(s->tiers, c))
		return fault_set(f, ST_FORMAT,
		    "[site] tiers (TOLLBOX_TIERS): none of them fits into "
		    "memory_bytes (TOLLBOX_MEMORY_BYTES)");
	return ST_OK;
}
