#include "base/wire.h"

#include <string.h>

static void
put_le(uint8_t *out, size_t bytes, uint64_t v)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t
get_le(const uint8_t *in, size_t bytes)
{
	uint64_t v = 0;

	for (size_t i = bytes; i > 0; i--)
		v = v << 8 | in[i - 1];
	return v;
}

void
wire_put_head(uint8_t head[WIRE_RECORD_HEAD], enum wire_kind kind,
    size_t path_len, size_t data_len)
{
	head[0] = (uint8_t)kind;
	put_le(head + 1, 4, path_len);
	put_le(head + 5, 8, data_len);
}

static bool
has_path(uint8_t kind)
{
	return kind == WIRE_FILE || kind == WIRE_FOLDER || kind == WIRE_GIVEN ||
	       kind == WIRE_OMITTED || kind == WIRE_FIGURE;
}

int
wire_next(struct wire_record *out, const uint8_t *image, size_t len, size_t *at)
{
	const uint8_t *p;
	uint64_t path_len, data_len;
	size_t left;

	if (*at > len)
		return -1;
	left = len - *at;
	if (left == 0)
		return 0;
	if (left < WIRE_RECORD_HEAD)
		return -1;
	p = image + *at;
	left -= WIRE_RECORD_HEAD;
	if (p[0] < WIRE_FILE || p[0] >= WIRE_KIND_MAX)
		return -1;
	path_len = get_le(p + 1, 4);
	data_len = get_le(p + 5, 8);
	/* Compared before added: the sum could wrap. */
	if (path_len > left || data_len > left - path_len)
		return -1;
	if (has_path(p[0]) != (path_len > 0))
		return -1;
	out->kind = (enum wire_kind)p[0];
	out->path = (const char *)p + WIRE_RECORD_HEAD;
	out->path_len = path_len;
	out->data = p + WIRE_RECORD_HEAD + path_len;
	out->data_len = data_len;
	*at += WIRE_RECORD_HEAD + path_len + data_len;
	return 1;
}

bool
wire_path_ok(const char *path, size_t len)
{
	size_t depth = 0, start = 0, end, n;

	if (len == 0 || memchr(path, '\0', len) != NULL)
		return false;
	/* Each component up to its '/'; a '/' at either end leaves an empty
	 * one. */
	for (; start <= len; start = end + 1) {
		end = start;
		while (end < len && path[end] != '/')
			end++;
		n = end - start;
		if (n == 0 || n > LIMITS_NAME || ++depth > LIMITS_PATH_DEPTH)
			return false;
		if (path[start] == '.' &&
		    (n == 1 || (n == 2 && path[start + 1] == '.')))
			return false;
	}
	return true;
}
