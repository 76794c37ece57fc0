#include "box/loop.h"

#include <sys/epoll.h>
#include <sys/syscall.h>

#include "boxer_fixture.h"

/* ---- a host whose watches are used up ---- */

/* How many more epoll takes; -1: any number. */
static int room = -1;

/* In the place of libc's. */
int
epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_ADD && room >= 0 && room-- == 0) {
		room = 0;
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll, op, fd, event);
}

/* ---- the loop alone ---- */

struct end {
	struct loop *loop;
	struct loop_watch watch;
	int other; /* the pipe's write end */
	int calls;
	uint32_t events;
	struct end *closes; /* when called */
};

static void
on_end(void *ctx, uint32_t events)
{
	struct end *e = ctx;

	e->calls++;
	e->events = events;
	if (e->closes != NULL)
		loop_watch_close(e->loop, &e->closes->watch);
}

static void
end_open(struct end *e, struct loop *l)
{
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	*e = (struct end){ .loop = l, .other = pipes[1] };
	loop_watch_init(&e->watch, pipes[0], on_end, e);
}

static void
say(const struct end *e)
{
	assert_int_equal(write(e->other, "x", 1), 1);
}

static void
hear(const struct end *e)
{
	char byte;

	assert_int_equal(read(e->watch.fd, &byte, 1), 1);
}

/* A turn that does not wait. */
static void
on_now(void *ctx)
{
	(void)ctx;
}

static void
turn(struct loop *l)
{
	struct loop_timer now;

	loop_timer_init(&now, on_now, NULL);
	loop_timer_set(l, &now, 1);
	assert_int_equal(loop_turn(l), ST_OK);
}

#define ENDS 20

static void
all_are_heard(void **state)
{
	struct end all[ENDS];
	struct loop *l;

	(void)state;
	/* With all, some and none of them in epoll. */
	for (int first = ENDS; first >= 0; first -= ENDS / 2) {
		assert_int_equal(loop_open(&l), ST_OK);
		room = first;
		for (int i = 0; i < ENDS; i++) {
			end_open(&all[i], l);
			assert_int_equal(
			    loop_watch(l, &all[i].watch, EPOLLIN), ST_OK);
			assert_int_equal(all[i].watch.polled, i >= first);
		}
		turn(l);
		for (int i = 0; i < ENDS; i++) {
			assert_int_equal(all[i].calls, 0);
			say(&all[i]);
		}
		turn(l);
		turn(l);
		for (int i = 0; i < ENDS; i++) {
			assert_int_equal(all[i].calls, 2);
			assert_int_equal(all[i].events, EPOLLIN);
			hear(&all[i]);
			close(all[i].other);
		}
		turn(l);
		for (int i = 0; i < ENDS; i++) {
			assert_int_equal(all[i].calls, 3);
			assert_int_equal(all[i].events, EPOLLHUP);
			loop_watch_close(l, &all[i].watch);
		}
		turn(l);
		loop_close(l);
	}
	room = -1;
}

static void
a_pause_hears_nothing(void **state)
{
	struct loop *l;
	struct end e;

	(void)state;
	assert_int_equal(loop_open(&l), ST_OK);
	end_open(&e, l);
	room = 0;
	assert_int_equal(loop_watch(l, &e.watch, EPOLLIN), ST_OK);
	assert_int_equal(loop_watch(l, &e.watch, 0), ST_OK);
	say(&e);
	close(e.other);
	turn(l);
	assert_int_equal(e.calls, 0);
	assert_int_equal(loop_watch(l, &e.watch, EPOLLIN), ST_OK);
	assert_true(e.watch.polled);
	turn(l);
	assert_int_equal(e.calls, 1);
	/* Once there is room it is epoll's again. */
	room = -1;
	assert_int_equal(loop_watch(l, &e.watch, 0), ST_OK);
	assert_int_equal(loop_watch(l, &e.watch, EPOLLIN), ST_OK);
	assert_false(e.watch.polled);
	turn(l);
	assert_int_equal(e.calls, 2);
	loop_watch_close(l, &e.watch);
	loop_close(l);
}

/* As with epoll: what the first closes is not called any more. */
static void
closed_in_the_same_turn(void **state)
{
	struct end a, b;
	struct loop *l;

	(void)state;
	assert_int_equal(loop_open(&l), ST_OK);
	end_open(&a, l);
	end_open(&b, l);
	a.closes = &b;
	b.closes = &a;
	room = 0;
	assert_int_equal(loop_watch(l, &a.watch, EPOLLIN), ST_OK);
	assert_int_equal(loop_watch(l, &b.watch, EPOLLIN), ST_OK);
	room = -1;
	say(&a);
	say(&b);
	turn(l);
	assert_int_equal(a.calls + b.calls, 1);
	loop_watch_close(l, &a.watch);
	loop_watch_close(l, &b.watch);
	close(a.other);
	close(b.other);
	loop_close(l);
}

/* ---- a boxer on such a host ---- */

static void
runs_go_on(void **state)
{
	static const char source[] = "cat | tr i o; printf err >&2; exit 3";
	static char input[300000];
	struct outcome o = { 0 };
	struct server s = { .conf = settings };
	struct job j;

	(void)state;
	memset(input, 'i', sizeof(input));
	/* From the first on, and from the middle of a start. */
	for (int first = 0; first < 12; first++) {
		room = first;
		server_start(&s);
		room = -1;
		j = make_job(&s, "bash", source);
		j.stdin_data = input;
		j.stdin_len = sizeof(input);
		run_job(&o, &s, &j);
		check_end(&o, ST_EXECUTION_RUNTIME_ERROR, 3, 0);
		assert_int_equal(o.out.len, sizeof(input));
		assert_string_equal(buf_cstr(&o.err), "err");
		free(j.source);
		server_stop(&s);
	}
	outcome_free(&o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_heard),
		cmocka_unit_test(a_pause_hears_nothing),
		cmocka_unit_test(closed_in_the_same_turn),
		cmocka_unit_test(runs_go_on),
	};

	log_open("test", LOG_LEVEL_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
