/*
 * The one table of settings. Private to conf.c and its conf_*.c.
 */
#ifndef CONF_TABLE_H
#define CONF_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/conf.h"

enum conf_table_section {
	CONF_TABLE_SERVICE,
	CONF_TABLE_SITE,
	CONF_TABLE_SANDBOX,
	CONF_TABLE_FACILITATOR, /* the rest have a NAME and may be many */
	CONF_TABLE_ASSET,
	CONF_TABLE_CHAIN,
	CONF_TABLE_TIER,
	CONF_TABLE_DIALECT,
	CONF_TABLE_RUNTIME,
	CONF_TABLE_SECTION_MAX
};

enum conf_table_type {
	CONF_TABLE_TEXT,   /* char * */
	CONF_TABLE_WORDS,  /* char **, between blanks, NULL-terminated */
	CONF_TABLE_NUMBER, /* uint64_t, decimal */
	CONF_TABLE_BYTES,  /* uint64_t, decimal, or with K, M, G */
	CONF_TABLE_PRICE,  /* uint64_t, millionths of a dollar */
	CONF_TABLE_VERIFY  /* enum conf_verify */
};

/* Which process is told, and what else holds. */
#define CONF_TABLE_GATE 0x01u
#define CONF_TABLE_BOXER 0x02u
#define CONF_TABLE_LOCATION 0x04u /* a location may set it */
#define CONF_TABLE_SECRET 0x08u	  /* never printed */
#define CONF_TABLE_INTERNAL 0x10u /* only between our own processes */
#define CONF_TABLE_AUTO 0x20u	  /* 0 in the file: asked from the host */
#define CONF_TABLE_EMPTY 0x40u	  /* may be the empty text */

struct conf_table_key {
	const char *key;
	enum conf_table_section section;
	enum conf_table_type type;
	size_t at; /* offset in the section's struct */
	unsigned flags;
	const char *env;     /* name in the environment, or NULL */
	const char *initial; /* the shipped value as text, or NULL: none */
	uint64_t min, max;   /* of numbers and bytes */
	/* Says what is wrong with a text or with one word of a list ("must be
	 * an absolute path"), or NULL. */
	const char *(*form)(const char *value);
};

#define CONF_TABLE_KEYS_MAX 160
#define CONF_TABLE_INSTANCES_MAX 32 /* the most any named section has */

extern const struct conf_table_key conf_table_keys[];
extern const size_t conf_table_n;

/* Where a value comes from, for conf_print() and for "given twice". */
enum conf_table_source {
	CONF_TABLE_SHIPPED,
	CONF_TABLE_FOLDER, /* RUNTIMES_DIR/NAME/runtime.conf */
	CONF_TABLE_FILE,
	CONF_TABLE_ENVIRONMENT,
	CONF_TABLE_HOST
};

struct conf_table_origin {
	enum conf_table_source source;
	unsigned line;
};

struct conf_origins {
	struct conf_table_origin at[CONF_TABLE_KEYS_MAX]
				   [CONF_TABLE_INSTANCES_MAX];
};

/* "service", "tier". */
const char *conf_table_section_name(enum conf_table_section s);

/* The section of a header's text ("site", "tier:small"). For named ones *name
 * points behind the colon, else it is NULL. False for an unknown one; the
 * NAME's form is not judged. */
bool conf_table_section(
    enum conf_table_section *out, const char **name, const char *text);

/* The row of a key, or of an environment name; NULL if there is none. */
const struct conf_table_key *conf_table_key(
    enum conf_table_section s, const char *key);
const struct conf_table_key *conf_table_env(const char *env);

/* How many of the section there are (1 for those without a NAME), the struct
 * of number i, and its NAME (NULL without one). */
size_t conf_table_count(const struct conf *c, enum conf_table_section s);
void *conf_table_struct(struct conf *c, enum conf_table_section s, size_t i);
const void *conf_table_struct_const(
    const struct conf *c, enum conf_table_section s, size_t i);
const char *conf_table_name(
    const struct conf *c, enum conf_table_section s, size_t i);

/* Number of the section called name. ST_OK or ST_NOT_FOUND. */
enum status conf_table_find(size_t *i, const struct conf *c,
    enum conf_table_section s, const char *name)
    __attribute__((warn_unused_result));

/* A new, zeroed one of that name, without any value yet. ST_OK, ST_NOMEM or
 * ST_TOO_BIG. */
enum status conf_table_add(size_t *i, struct conf *c, enum conf_table_section s,
    const char *name) __attribute__((warn_unused_result));

/* Exchange tiers i and j, origins and all. */
void conf_table_swap_tiers(struct conf *c, size_t i, size_t j);

#endif
