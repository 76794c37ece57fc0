/*
 * json_parse() over any bytes: it never crashes, cJSON takes all that the
 * scanner takes, a refusal has a well-formed reason, and what was taken has one
 * canonical form that reads back to itself.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/jcs.h"
#include "base/json.h"
#include "base/utf8.h"

#define OUT_BYTES (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int holds)
{
	if (!holds)
		abort();
}

/* Use every reader on every value near the top. */
static void
read_tree(const struct cJSON *v)
{
	uint64_t number;
	double d;
	char *bytes;
	size_t len;

	for (const struct cJSON *m = json_first(v); m != NULL;
	     m = json_next(m)) {
		if (json_is_object(v))
			must(json_get(v, json_name(m)) == m);
		if (json_uint(&number, m) == ST_OK)
			must(number <= (uint64_t)1 << 53);
		must((json_double(&d, m) == ST_OK) == json_is_number(m));
		if (json_bytes(&bytes, &len, m) == ST_OK) {
			must(utf8_valid(bytes, len));
			must((json_string(m) == NULL) ==
			     (memchr(bytes, '\0', len) != NULL));
			free(bytes);
		}
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct json_caps caps = { 200, 100000 };
	struct fault f = { 0 };
	struct buf first, second;
	struct cJSON *v;
	enum status st;

	st = json_parse(&v, (const char *)data, size, &caps, &f);
	if (st != ST_OK) {
		must(st == ST_FORMAT && v == NULL);
		must(f.message[0] != '\0');
		must(utf8_valid(f.message, strlen(f.message)));
		return 0;
	}
	read_tree(v);
	buf_init(&first, OUT_BYTES);
	jcs_write(&first, v);
	json_free(v);
	must(buf_status(&first) == ST_OK);
	must(utf8_valid((const char *)first.data, first.len));

	st = json_parse(&v, buf_cstr(&first), first.len, &caps, NULL);
	must(st == ST_OK);
	buf_init(&second, OUT_BYTES);
	jcs_write(&second, v);
	json_free(v);
	must(first.len == second.len);
	must(memcmp(first.data, second.data, first.len) == 0);
	buf_free(&first);
	buf_free(&second);
	return 0;
}
