#include "web/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>

void
metrics_text_family(
    struct buf *out, const char *name, const char *type, const char *help)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
put_value(struct buf *out, const char *value)
{
	for (; *value != '\0'; value++) {
		if (*value == '\n') {
			buf_adds(out, "\\n");
			continue;
		}
		if (*value == '\\' || *value == '"')
			buf_addc(out, '\\');
		buf_addc(out, *value);
	}
}

void
metrics_text_sample(struct buf *out, const char *name,
    const char *const labels[], const char *value)
{
	buf_adds(out, name);
	for (size_t i = 0; labels != NULL && labels[i] != NULL; i += 2) {
		buf_addc(out, i == 0 ? '{' : ',');
		buf_adds(out, labels[i]);
		buf_adds(out, "=\"");
		put_value(out, labels[i + 1]);
		buf_addc(out, '"');
	}
	if (labels != NULL && labels[0] != NULL)
		buf_addc(out, '}');
	buf_addc(out, ' ');
	buf_adds(out, value);
	buf_addc(out, '\n');
}

void
metrics_text_number(struct buf *out, const char *name,
    const char *const labels[], uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	metrics_text_sample(out, name, labels, text);
}

void
metrics_text_seconds(char out[METRICS_TEXT_SECONDS], uint64_t us)
{
	snprintf(out, METRICS_TEXT_SECONDS, "%" PRIu64 ".%06" PRIu64,
	    us / 1000000, us % 1000000);
}
