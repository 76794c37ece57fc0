#include "say.h"

#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

static volatile sig_atomic_t caught;

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
	if (isnan(value))
		printf(",\"%s\":null", name);
	else
		printf(",\"%s\":%.6g", name, value);
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

static void
on_signal(int number)
{
	caught = number;
}

/* Handlers, never SIG_IGN: what is executed must not inherit it. */
void
say_catch(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE };
	struct sigaction a = { .sa_handler = on_signal,
		.sa_flags = SA_RESTART };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		(void)sigaction(ends[i], &a, NULL);
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void
say_going(void)
{
	if (caught != 0)
		say_stop("stopped by signal %d", (int)caught);
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
