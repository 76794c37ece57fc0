/*
 * Torture: run a piece of work, count its allocations, then run it again with
 * the first, the second, ... of them failing. Each time it must say ST_NOMEM,
 * and all it took must be given back. The program's own malloc family stands
 * before libc's; a sanitizer brings its own (SANITIZED), and there is no
 * torture() then.
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/status.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#endif

#ifndef SANITIZED

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static bool armed;
static size_t asked;   /* allocations since arm() */
static size_t failing; /* the one that fails, from 1 */
static long live;      /* blocks taken and not given back */

static bool
fails(void)
{
	return armed && ++asked == failing;
}

void *
malloc(size_t size)
{
	void *p = fails() ? NULL : __libc_malloc(size);

	live += p != NULL;
	return p;
}

void *
calloc(size_t n, size_t size)
{
	void *p = fails() ? NULL : __libc_calloc(n, size);

	live += p != NULL;
	return p;
}

void *
realloc(void *old, size_t size)
{
	void *p = fails() ? NULL : __libc_realloc(old, size);

	live += p != NULL && old == NULL;
	return p;
}

void
free(void *p)
{
	live -= p != NULL;
	__libc_free(p);
}

/* Run work with its nth allocation failing, for every n that it has; more of
 * them than least, or the test tests nothing. */
static inline void
torture(enum status (*work)(void), size_t least)
{
	enum status st;
	long before;
	size_t n = 0;

	do {
		before = live;
		failing = ++n;
		asked = 0;
		armed = true;
		st = work();
		armed = false;
		assert_int_equal(live, before);
		/* What never came to the failing one went well. */
		assert_int_equal(st, asked < n ? ST_OK : ST_NOMEM);
	} while (asked >= n);
	assert_true(n > least);
}

#endif
#endif
