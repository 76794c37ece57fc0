#include "say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void
say_open(const char *part, const char *runtime)
{
	printf("{\"part\":\"%s\",\"runtime\":\"%s\"", part, runtime);
}

void
say_text(const char *name, const char *text)
{
	printf(",\"%s\":\"%s\"", name, text);
}

void
say_number(const char *name, double value)
{
	printf(",\"%s\":%.3f", name, value);
}

void
say_numbers(const char *name, const double *values, size_t n)
{
	printf(",\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		printf("%s%.1f", i > 0 ? "," : "", values[i]);
	printf("]");
}

/* At once: who reads shows how far it is. */
void
say_end(void)
{
	printf("}\n");
	(void)fflush(stdout);
}

void
say_stop(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "bench: ");
	va_start(ap, fmt);
	(void)vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	exit(1);
}
