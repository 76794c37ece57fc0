/*
 * The C half of `make bench`: what bench.mjs asks for, measured and told a line
 * a sample (say.h). Run it from the top of the repository, as root.
 *
 *	bench latency NAME ROUNDS
 *	bench throughput NAME SECONDS
 *	bench neighbour NAME TIMES
 *
 * NAME is one of rig_name(). Ends with 1 if it could not measure.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"
#include "rig.h"
#include "say.h"

static double
number(const char *text)
{
	char *end;
	double n = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(n > 0) || n > 100000)
		say_stop("'%s' is no number that fits here", text);
	return n;
}

static bool
is_hello(const char *name)
{
	size_t i = 0;

	while (rig_name(i) != NULL && strcmp(rig_name(i), name) != 0)
		i++;
	return rig_name(i) != NULL;
}

int
main(int argc, char **argv)
{
	if (argc != 4)
		say_stop("usage: bench latency|throughput|neighbour NAME N");
	if (getuid() != 0)
		say_stop("needs root, to become the user of the sandboxes");
	if (!is_hello(argv[2]))
		say_stop("no hello world is called %s", argv[2]);
	say_catch();
	if (strcmp(argv[1], "latency") == 0)
		latency(argv[2], (int)number(argv[3]));
	else if (strcmp(argv[1], "throughput") == 0)
		throughput(argv[2], number(argv[3]));
	else if (strcmp(argv[1], "neighbour") == 0)
		neighbour(argv[2], (int)number(argv[3]));
	else
		say_stop("no part is called %s", argv[1]);
	return 0;
}
