/*
 * What the bench tells: one JSON object a line on standard output, for
 * bench.mjs to make figures of; words for people on standard error.
 */
#ifndef SAY_H
#define SAY_H

#include <stddef.h>

/* Open a line: {"part":PART,"runtime":RUNTIME; then members; then its end. The
 * texts are literals of ours: nothing is escaped. */
void say_open(const char *part, const char *runtime);
void say_text(const char *name, const char *text);
/* NaN: null. */
void say_number(const char *name, double value);
void say_numbers(const char *name, const double *values, size_t n);
void say_end(void);

/* From now on a signal to end, or a reader that is gone, stops the bench at the
 * next say_going(), in order. */
void say_catch(void);
void say_going(void);

/* It cannot be measured: say why, stop what was started, end with 1. */
void say_stop(const char *fmt, ...)
    __attribute__((format(printf, 1, 2), noreturn));

#endif
