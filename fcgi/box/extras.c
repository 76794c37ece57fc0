#include "box/extras.h"

#include <string.h>

#include "base/utf8.h"
#include "base/wire.h"

/* A path of the most parts, and an omitted file's size. */
#define RECORD_BYTES                                                           \
	(WIRE_RECORD_HEAD + LIMITS_PATH_DEPTH * (LIMITS_NAME + 1ull) + 8)

struct reading {
	struct extras *out;
	uint32_t flags;
	uint64_t value_left;
	uint64_t left; /* for files and figures */
};

uint64_t
extras_most(uint64_t output_bytes)
{
	/* The value, the files with the figures, and every head. */
	return 2 * output_bytes + (1 + 2 * LIMITS_OUTPUTS) * RECORD_BYTES;
}

static bool
asked(const struct reading *r, uint32_t flag)
{
	return (r->flags & flag) != 0;
}

static bool
take_value(
    struct reading *r, const struct wire_record *rec, enum extras_value form)
{
	struct extras *x = r->out;

	if (!asked(r, WIRE_JOB_EVALUATE) || x->value != EXTRAS_VALUE_NONE ||
	    rec->data_len > r->value_left)
		return false;
	x->value = form;
	x->text = (const char *)rec->data;
	x->text_len = rec->data_len;
	return true;
}

/* After the one before it in the order of bytes. */
static bool
in_order(const struct extras_file *list, size_t n, const struct extras_file *f)
{
	const struct extras_file *last = n > 0 ? &list[n - 1] : NULL;
	size_t both;
	int c;

	if (last == NULL)
		return true;
	both = last->path_len < f->path_len ? last->path_len : f->path_len;
	c = memcmp(last->path, f->path, both);
	return c < 0 || (c == 0 && last->path_len < f->path_len);
}

static bool
take_file(struct reading *r, const struct wire_record *rec,
    struct extras_file *list, size_t *n)
{
	struct extras_file f = { .path = rec->path,
		.path_len = rec->path_len,
		.data = rec->data,
		.size = rec->data_len };

	if (*n == LIMITS_OUTPUTS || !wire_path_ok(f.path, f.path_len) ||
	    !utf8_valid(f.path, f.path_len) || !in_order(list, *n, &f))
		return false;
	if (rec->kind == WIRE_OMITTED) {
		if (rec->data_len != sizeof(f.size))
			return false;
		memcpy(&f.size, rec->data, sizeof(f.size));
		/* It did not fit what was left then, nor what is left now; and
		 * no file is longer than an off_t tells. */
		if (f.size <= r->left || f.size > INT64_MAX)
			return false;
		f.data = NULL;
	} else {
		if (f.size > r->left)
			return false;
		r->left -= f.size;
	}
	list[(*n)++] = f;
	return true;
}

static bool
is_png(const struct wire_record *rec)
{
	static const uint8_t magic[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a,
		'\n' };

	return rec->data_len > sizeof(magic) &&
	       memcmp(rec->data, magic, sizeof(magic)) == 0;
}

/* One that is no image, or did not fit, is left out, and nothing more. */
static bool
take_figure(struct reading *r, const struct wire_record *rec)
{
	struct extras *x = r->out;

	if (!asked(r, WIRE_JOB_FIGURES))
		return false;
	if (!is_png(rec))
		return rec->data_len <= r->left;
	return take_file(r, rec, x->figures, &x->n_figures);
}

static bool
take(struct reading *r, const struct wire_record *rec)
{
	struct extras *x = r->out;

	switch (rec->kind) {
	case WIRE_VALUE_JSON:
		return take_value(r, rec, EXTRAS_VALUE_JSON);
	case WIRE_VALUE_REPR:
		return take_value(r, rec, EXTRAS_VALUE_REPR);
	case WIRE_THROWN:
		return asked(r, WIRE_JOB_TELL) &&
		       take_value(r, rec, EXTRAS_VALUE_THROWN);
	case WIRE_GIVEN:
	case WIRE_OMITTED:
		return asked(r, WIRE_JOB_OUTPUTS) &&
		       take_file(r, rec, x->files, &x->n_files);
	case WIRE_FIGURE:
		return take_figure(r, rec);
	case WIRE_FILE:
	case WIRE_ARG:
	case WIRE_ENV:
	case WIRE_STDIN:
	case WIRE_OUTPUT:
	case WIRE_HELPER:
	case WIRE_FOLDER:
	case WIRE_KIND_MAX:
		break;
	}
	return false;
}

enum status
extras_read(struct extras *out, const uint8_t *image, size_t len,
    uint32_t flags, uint64_t output_bytes)
{
	struct reading r = { .out = out,
		.flags = flags,
		.value_left = output_bytes,
		.left = output_bytes };
	struct wire_record rec;
	size_t at = 0;
	int rc;

	memset(out, 0, sizeof(*out));
	for (rc = wire_next(&rec, image, len, &at); rc == 1;
	     rc = wire_next(&rec, image, len, &at)) {
		if (take(&r, &rec))
			continue;
		rc = -1;
		break;
	}
	if (rc == 0)
		return ST_OK;
	memset(out, 0, sizeof(*out));
	return ST_FORMAT;
}
