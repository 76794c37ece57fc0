/* A program of a case, as often as it says, and whether it ended as wanted. */
#ifndef SERIES_H
#define SERIES_H

#include <stdbool.h>

#include "case.h"

#define SERIES_WHY 400

struct server;

/* False: why says what was wrong, and the first time it was. */
bool series_run(const struct server *server, const struct case_step *s,
    char why[SERIES_WHY]);

#endif
