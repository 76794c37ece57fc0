/* Who gets room for an answer when it is scarce. */
#include "web/room.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define BUDGET 800

static struct room *room;

static int
setup(void **state)
{
	(void)state;
	assert_int_equal(room_open(&room, BUDGET), ST_OK);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	room_close(room);
	return 0;
}

static void
go(struct room_part *part, struct room_ask ask)
{
	*part = (struct room_part){ .bytes = 0 };
	assert_int_equal(room_take(room, part, &ask), ST_OK);
}

static void
no(struct room_ask ask)
{
	struct room_part part = { .bytes = 0 };

	assert_int_equal(room_take(room, &part, &ask), ST_SERVICE_BUSY);
	assert_int_equal(part.bytes, 0);
	room_leave(room, &part);
}

static void
one_budget(void **state)
{
	struct room_part a, b;

	(void)state;
	no((struct room_ask){ .payer = "a", .bytes = BUDGET + 1 });
	no((struct room_ask){ .payer = "a", .bytes = UINT64_MAX, .kept = 9 });
	no((struct room_ask){ .payer = "a", .bytes = 1, .kept = BUDGET });
	no((struct room_ask){ .payer = "a", .bytes = 1, .kept = UINT64_MAX });
	go(&a, (struct room_ask){ .payer = "a", .bytes = BUDGET });
	no((struct room_ask){ .payer = "b", .bytes = 1 });
	room_leave(room, &a);
	go(&a, (struct room_ask){ .payer = "a", .bytes = 500, .kept = 200 });
	go(&b, (struct room_ask){ .payer = "b", .bytes = 100, .kept = 200 });
	no((struct room_ask){ .payer = "c", .bytes = 1, .kept = 200 });
	room_leave(room, &a);
	room_leave(room, &b);
	room_leave(room, &b); /* a part that holds nothing */
	go(&a, (struct room_ask){ .payer = "a", .bytes = BUDGET });
	room_leave(room, &a);
}

static void
shares(void **state)
{
	struct room_part part[12];
	size_t n = 0;

	(void)state;
	/* As long as nobody else needs it: half for one. */
	for (; n < 4; n++)
		go(&part[n], (struct room_ask){ .payer = "a", .bytes = 100 });
	no((struct room_ask){ .payer = "a", .bytes = 100 });
	/* What is kept counts as what is due. */
	no((struct room_ask){
	    .payer = "b", .bytes = 50, .kept = 101, .kept_payer = 101 });
	/* Others get theirs, each one part over his share at most. */
	go(&part[n++],
	    (struct room_ask){
		.payer = "b", .bytes = 50, .kept = 100, .kept_payer = 100 });
	no((struct room_ask){
	    .payer = "b", .bytes = 50, .kept = 100, .kept_payer = 100 });
	go(&part[n++],
	    (struct room_ask){ .payer = "c", .bytes = 150, .kept = 100 });
	no((struct room_ask){ .payer = "c", .bytes = 1, .kept = 100 });
	/* Who has paid for this run asks for what he was promised. */
	go(&part[n++],
	    (struct room_ask){
		.payer = "a", .bytes = 100, .kept = 100, .paid = true });
	no((struct room_ask){
	    .payer = "a", .bytes = 1, .kept = 100, .paid = true });
	while (n > 0)
		room_leave(room, &part[--n]);
	go(&part[0], (struct room_ask){ .payer = "a", .bytes = BUDGET });
	room_leave(room, &part[0]);
}

static void
strangers(void **state)
{
	static const struct room_ask stranger = {
		.payer = "x", .bytes = 200, .stranger = true
	};
	struct room_part x, y, z, known;

	(void)state;
	go(&x, stranger);
	go(&y,
	    (struct room_ask){ .payer = "y", .bytes = 200, .stranger = true });
	no((struct room_ask){ .payer = "z", .bytes = 1, .stranger = true });
	go(&known, (struct room_ask){ .payer = "a", .bytes = 200 });
	room_leave(room, &known);
	/* Who has paid makes room for the next of them. */
	room_paid(room, &x);
	go(&z,
	    (struct room_ask){ .payer = "z", .bytes = 200, .stranger = true });
	no((struct room_ask){ .payer = "v", .bytes = 1, .stranger = true });
	room_leave(room, &x);
	no((struct room_ask){ .payer = "v", .bytes = 1, .stranger = true });
	room_leave(room, &y);
	room_leave(room, &z);
	/* A single one may have more than half, if it is there. */
	go(&x,
	    (struct room_ask){ .payer = "x", .bytes = 500, .stranger = true });
	no((struct room_ask){ .payer = "y", .bytes = 1, .stranger = true });
	room_leave(room, &x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(shares, setup, teardown),
		cmocka_unit_test_setup_teardown(strangers, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
