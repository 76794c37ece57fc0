/*
 * The parts that the C half of the bench measures, each for one hello world.
 * All tell samples (say.h); nothing is judged, averaged or left out here.
 */
#ifndef PARTS_H
#define PARTS_H

/* rounds times each way once, the order turned by one each round; the first
 * round is told as "first". */
void latency(const char *name, int rounds);

/* Closed loops of as many clients as the host has cores, and twice that:
 * blocks of each way in turn, seconds in all for each. */
void throughput(const char *name, double seconds);

/* The hello world, warm, while a hostile program runs beside it, and between
 * two such without one; each at least so many times. */
void neighbour(const char *name, int times);

#endif
