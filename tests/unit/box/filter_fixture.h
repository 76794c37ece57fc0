/* The filter as a program, and what it says of a call. */
#ifndef FILTER_FIXTURE_H
#define FILTER_FIXTURE_H

#include "box/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HIGH (1ull << 32)

static struct sock_filter code[BPF_MAXINSNS];
static size_t n_code;

static int
setup(void **state)
{
	int fd;
	ssize_t n;

	(void)state;
	assert_int_equal(filter_make(&fd), ST_OK);
	n = read(fd, code, sizeof(code));
	assert_true(n > 0 && n % (ssize_t)sizeof(code[0]) == 0);
	n_code = (size_t)n / sizeof(code[0]);
	close(fd);
	return 0;
}

/* What the kernel's interpreter would say: as much of classic BPF as
 * libseccomp writes. Independent of who runs the test and of what the running
 * kernel has. */
static uint32_t
run(uint32_t arch, uint32_t nr, const uint64_t arg[6])
{
	struct seccomp_data d = { .nr = (int)nr, .arch = arch };
	uint32_t a = 0;
	size_t pc = 0;

	memcpy(d.args, arg, sizeof(d.args));
	for (;;) {
		assert_true(pc < n_code);
		const struct sock_filter *i = &code[pc++];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k + sizeof(a) <= sizeof(d));
			memcpy(&a, (const char *)&d + i->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			pc += a > i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += (a & i->k) != 0 ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			fail_msg("instruction %#x", i->code);
		}
	}
}

static uint32_t
native(long nr, uint64_t a0, uint64_t a1)
{
	const uint64_t arg[6] = { a0, a1 };

	return run(AUDIT_ARCH_X86_64, (uint32_t)nr, arg);
}

#define ALLOW SECCOMP_RET_ALLOW
#define REFUSE(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))
#define ASK SECCOMP_RET_USER_NOTIF

#endif
