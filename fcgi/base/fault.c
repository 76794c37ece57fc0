/* Apart from status.c, which is a table that needs nothing else. */
#include "base/status.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum status
fault_set(struct fault *f, enum status st, const char *fmt, ...)
{
	/* Apart from f, since an argument may be f->message itself. */
	char text[sizeof(f->message)] = "";
	size_t len, step;
	uint32_t cp;
	va_list ap;
	int n;

	if (f == NULL)
		return st;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	len = strnlen(text, sizeof(text) - 1);
	if (n < 0)
		len = 0;
	if (n >= (int)sizeof(text))
		len -= utf8_incomplete(text, len);
	text[len] = '\0';
	/* The text ends in a JSON answer, which must be well-formed. */
	for (size_t at = 0; at < len; at += step) {
		step = utf8_next(&cp, text + at, len - at);
		if (step == 0) {
			text[at] = '?';
			step = 1;
		}
	}
	f->st = st;
	f->retry_s = 0;
	memcpy(f->message, text, len + 1);
	return st;
}
