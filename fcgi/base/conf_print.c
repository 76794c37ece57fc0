#include "base/conf.h"

#include "base/conf_table.h"
#include "base/conf_value.h"

static void
print_origin(struct buf *out, const struct conf *c,
    const struct conf_table_key *k, size_t i)
{
	const struct conf_table_origin *o =
	    &c->origins->at[k - conf_table_keys][i];

	switch (o->source) {
	case CONF_TABLE_SHIPPED:
		buf_adds(out, "default");
		break;
	case CONF_TABLE_FOLDER:
		buf_addf(out, "%s/%s/runtime.conf:%u", c->runtimes_dir,
		    c->runtimes[i].name, o->line);
		break;
	case CONF_TABLE_FILE:
		buf_addf(out, "configuration file, line %u", o->line);
		break;
	case CONF_TABLE_ENVIRONMENT:
		buf_addf(out, "environment, %s",
		    k->env != NULL ? k->env
		    : k->section == CONF_TABLE_CHAIN
			? "TOLLBOX_RPC_URL"
			: "TOLLBOX_FACILITATOR_URL");
		break;
	case CONF_TABLE_HOST:
		buf_adds(out, "from the host");
		break;
	}
}

static void
print_key(struct buf *out, const struct conf *c, const struct conf_table_key *k,
    size_t i)
{
	const void *section = conf_table_struct_const(c, k->section, i);
	const char *name = conf_table_name(c, k->section, i);

	if (k->flags & CONF_TABLE_INTERNAL)
		return;
	buf_addf(out, "%s%s%s.%s = ", conf_table_section_name(k->section),
	    name != NULL ? ":" : "", name != NULL ? name : "", k->key);
	if ((k->flags & CONF_TABLE_SECRET) == 0)
		conf_value_put(out, section, k);
	else if (conf_value_there(section, k))
		buf_adds(out, "(not shown)");
	buf_adds(out, "  # ");
	if (conf_value_there(section, k))
		print_origin(out, c, k, i);
	else
		buf_adds(out, "not set");
	buf_addc(out, '\n');
}

void
conf_print(struct buf *out, const struct conf *c)
{
	for (int s = 0; s < CONF_TABLE_SECTION_MAX; s++) {
		size_t n = conf_table_count(c, (enum conf_table_section)s);

		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < conf_table_n; k++)
				if (conf_table_keys[k].section ==
				    (enum conf_table_section)s)
					print_key(
					    out, c, &conf_table_keys[k], i);
	}
	for (size_t i = 0;
	     c->tiers_dropped != NULL && c->tiers_dropped[i] != NULL; i++)
		buf_addf(out,
		    "# tier:%s is over service.memory_bytes: not "
		    "offered\n",
		    c->tiers_dropped[i]);
	for (size_t i = 0; i < c->n_dialects; i++)
		if (!conf_dialect_fits(c, &c->dialects[i]))
			buf_addf(out,
			    "# dialect:%s needs more than "
			    "service.memory_bytes: "
			    "not offered\n",
			    c->dialects[i].name);
	for (size_t i = 0;
	     c->runtimes_dropped != NULL && c->runtimes_dropped[i] != NULL; i++)
		buf_addf(out,
		    "# runtime:%s is not offered: its program is not on this "
		    "host\n",
		    c->runtimes_dropped[i]);
}

void
conf_print_location(struct buf *out, const struct conf_site *s,
    const char *(*get)(void *ctx, const char *name), void *ctx)
{
	for (size_t i = 0; i < conf_table_n; i++) {
		const struct conf_table_key *k = &conf_table_keys[i];

		if ((k->flags & CONF_TABLE_LOCATION) == 0 ||
		    get(ctx, k->env) == NULL)
			continue;
		buf_addf(out, "%s.%s = ", conf_table_section_name(k->section),
		    k->key);
		conf_value_put(out, s, k);
		buf_addf(out, "  # location, %s\n", k->env);
	}
}
