/*
 * Fault points, for the crash tests alone: places between "payment seen" and
 * "answer sent" where a test lets a process die. Only a build made with
 * -DTOLLBOX_POINTS has them (make points); in any other POINT() is nothing and
 * point.c is left out.
 *
 * A test makes a page (struct point_page, a file of one page), names it in the
 * environment variable POINT_VARIABLE and arms one point at a time. Whoever
 * passes it as the n-th dies, or asks the test to kill somebody else and waits
 * meanwhile, so that the victim ends just while this process is here.
 *
 * The same build reads the wall clock through the page (ld --wrap=time), so
 * that a test can make it jump.
 */
#ifndef POINT_H
#define POINT_H

#include <stdatomic.h>
#include <stdint.h>

#define POINT_VARIABLE "POINT_PAGE"
#define POINT_NAME 48

#ifdef TOLLBOX_POINTS
#define POINT(name) point_pass(name)
#else
#define POINT(name) ((void)0)
#endif

enum point_state {
	POINT_IDLE,
	POINT_ARMED,
	POINT_ASKED, /* somebody waits here for the test to kill */
	POINT_FIRED  /* it has happened; set by either side */
};

/* In the test's hands too: tests/crash/page.mjs knows the offsets. */
struct point_page {
	_Atomic uint32_t state;
	_Atomic uint32_t left; /* passings until it happens, from 1 on */
	uint32_t self;	       /* 1: who passes dies; 0: the test is asked */
	uint32_t unused;
	_Atomic int64_t clock_s; /* added to the wall clock */
	char name[POINT_NAME];
};

/* Pass the point of this name. Returns at once unless it is armed. */
void point_pass(const char *name);

#endif
