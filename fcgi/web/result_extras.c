#include "web/result_extras.h"

#include <string.h>

#include "base/hex.h"
#include "base/jcs.h"
#include "base/json.h"
#include "base/utf8.h"
#include "box/extras.h"

/* A byte of text needs six at most, as \u00xx; a path likewise. */
#define ESCAPED ((size_t)6)
#define ENTRY_BYTES (256 + ESCAPED * LIMITS_PATH_DEPTH * (LIMITS_NAME + 1))
#define VALUE_BYTES 64 /* beside the text */

/* Keeps a hostile value from growing a huge tree. The helpers give what is
 * larger as repr themselves. */
static const struct json_caps caps = { .depth = 128, .values = 65536 };

static const struct {
	const char *ending;
	const char *type;
} types[] = {
	{ "bmp", "image/bmp" },
	{ "c", "text/x-c" },
	{ "css", "text/css" },
	{ "csv", "text/csv" },
	{ "docx", "application/vnd.openxmlformats-officedocument."
		  "wordprocessingml.document" },
	{ "gif", "image/gif" },
	{ "gz", "application/gzip" },
	{ "htm", "text/html" },
	{ "html", "text/html" },
	{ "ico", "image/vnd.microsoft.icon" },
	{ "jpeg", "image/jpeg" },
	{ "jpg", "image/jpeg" },
	{ "js", "text/javascript" },
	{ "json", "application/json" },
	{ "jsonl", "application/x-ndjson" },
	{ "log", "text/plain" },
	{ "md", "text/markdown" },
	{ "mjs", "text/javascript" },
	{ "mp3", "audio/mpeg" },
	{ "mp4", "video/mp4" },
	{ "ndjson", "application/x-ndjson" },
	{ "parquet", "application/vnd.apache.parquet" },
	{ "pdf", "application/pdf" },
	{ "png", "image/png" },
	{ "pptx", "application/vnd.openxmlformats-officedocument."
		  "presentationml.presentation" },
	{ "py", "text/x-python" },
	{ "r", "text/x-r" },
	{ "sh", "application/x-sh" },
	{ "svg", "image/svg+xml" },
	{ "tar", "application/x-tar" },
	{ "tif", "image/tiff" },
	{ "tiff", "image/tiff" },
	{ "tsv", "text/tab-separated-values" },
	{ "txt", "text/plain" },
	{ "wasm", "application/wasm" },
	{ "wav", "audio/wav" },
	{ "webp", "image/webp" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument."
		  "spreadsheetml.sheet" },
	{ "xml", "application/xml" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "zip", "application/zip" },
};

const char *
result_extras_type(const struct extras_file *f)
{
	size_t n = 0;

	while (n < f->path_len && f->path[f->path_len - n - 1] != '.' &&
	       f->path[f->path_len - n - 1] != '/')
		n++;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strlen(types[i].ending) == n &&
		    strncasecmp(
			types[i].ending, f->path + f->path_len - n, n) == 0 &&
		    n < f->path_len && f->path[f->path_len - n - 1] == '.')
			return types[i].type;
	}
	return "application/octet-stream";
}

void
result_extras_init(struct result_extras *x, const struct job *j)
{
	size_t bytes = (size_t)j->limits.output_bytes;

	buf_init(&x->value, VALUE_BYTES + ESCAPED * bytes);
	buf_init(&x->outputs, ESCAPED * bytes + LIMITS_OUTPUTS * ENTRY_BYTES);
	buf_init(&x->image, (size_t)extras_most(j->limits.output_bytes));
	buf_adds(&x->value, "null");
	buf_adds(&x->outputs, "[]");
}

void
result_extras_free(struct result_extras *x)
{
	buf_free(&x->value);
	buf_free(&x->outputs);
	buf_free(&x->image);
}

size_t
result_extras_most(const struct job *j)
{
	struct result_extras x;
	size_t most;

	if (job_flags(j) == 0)
		return 0;
	result_extras_init(&x, j);
	most = x.value.max + x.outputs.max;
	result_extras_free(&x);
	return most;
}

static void
put_repr(struct buf *out, const char *text, size_t len, bool cut)
{
	OWN_BUF struct buf mended;

	buf_init(&mended, 3 * len);
	utf8_mend(&mended, text, len, cut);
	buf_adds(out, "{\"repr\":");
	json_put_bytes(out, buf_cstr(&mended), mended.len);
	buf_addc(out, '}');
}

/* What is no JSON that we would write ourselves is shown as it is. */
static enum status
put_value(struct buf *out, const struct extras *x, uint64_t room)
{
	OWN_JSON struct cJSON *v = NULL;
	enum status st = ST_FORMAT;

	if (x->value == EXTRAS_VALUE_NONE)
		return ST_OK;
	buf_clear(out);
	if (x->text_len > room) {
		put_repr(out, x->text, (size_t)room, true);
		return buf_status(out);
	}
	if (x->value == EXTRAS_VALUE_JSON)
		st = json_parse(&v, x->text, x->text_len, &caps, NULL);
	if (st == ST_OK) {
		buf_adds(out, "{\"json\":");
		jcs_write(out, v);
		buf_addc(out, '}');
	} else if (st == ST_FORMAT) {
		put_repr(out, x->text, x->text_len, false);
	} else {
		return st;
	}
	return buf_status(out);
}

/* Members in the order that JCS sorts them into. */
static void
put_file(struct buf *out, const struct extras_file *f)
{
	size_t len = (size_t)f->size;

	json_sep(out);
	buf_addc(out, '{');
	if (f->data != NULL && utf8_valid((const char *)f->data, len)) {
		json_key(out, "content");
		json_put_bytes(out, f->data, len);
	} else if (f->data != NULL) {
		json_key(out, "base64");
		buf_addc(out, '"');
		hex_base64(out, f->data, len);
		buf_addc(out, '"');
	}
	json_key(out, "mimeType");
	json_put_string(out, result_extras_type(f));
	if (f->data == NULL) {
		json_key(out, "omitted");
		json_put_string(out, "too_large");
	}
	json_key(out, "path");
	json_put_bytes(out, f->path, f->path_len);
	json_key(out, "size");
	jcs_number(out, (double)f->size);
	buf_addc(out, '}');
}

enum status
result_extras_read(struct result_extras *x, const struct job *j,
    uint64_t printed, const uint8_t *image, size_t len)
{
	uint64_t most = j->limits.output_bytes;
	struct extras e;
	enum status st = extras_read(&e, image, len, job_flags(j), most);

	if (st != ST_OK)
		return st;
	st = put_value(&x->value, &e, printed < most ? most - printed : 0);
	if (st != ST_OK)
		return st;
	buf_clear(&x->outputs);
	buf_addc(&x->outputs, '[');
	for (size_t i = 0; i < e.n_files; i++)
		put_file(&x->outputs, &e.files[i]);
	buf_addc(&x->outputs, ']');
	return buf_status(&x->outputs);
}

enum status
result_extras_keep(struct result_extras *x, const struct job *j,
    const uint8_t *image, size_t len)
{
	struct extras e;
	enum status st =
	    extras_read(&e, image, len, job_flags(j), j->limits.output_bytes);

	if (st != ST_OK)
		return st;
	buf_add(&x->image, image, len);
	return buf_status(&x->image);
}
