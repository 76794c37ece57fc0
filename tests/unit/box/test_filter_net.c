/* What would have the host run modprobe does not pass. */
#include "filter_fixture.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static uint32_t
made(uint64_t family, uint64_t type, uint64_t protocol)
{
	const uint64_t arg[6] = { family, type, protocol };

	return run(AUDIT_ARCH_X86_64, SYS_socket, arg);
}

/* What else is asked for runs modprobe on the host. */
static void
only_tcp_and_udp(void **state)
{
	static const uint64_t families[] = { AF_INET, AF_INET6 };
	static const uint64_t far[] = { 262, 1 << 16, 0x7fffffff, 0xffffffff,
		~0ull, HIGH | 132, HIGH | 1 };
	bool tcp, udp;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		for (uint64_t t = 0; t < 16; t++) {
			for (uint64_t p = 0; p < 256; p++) {
				tcp = t == SOCK_STREAM &&
				      (p == 0 || p == IPPROTO_TCP);
				udp = t == SOCK_DGRAM &&
				      (p == 0 || p == IPPROTO_UDP);
				assert_int_equal(made(families[i], t, p),
				    tcp || udp ? ALLOW : ASK);
				assert_int_equal(
				    made(families[i],
					t | SOCK_CLOEXEC | SOCK_NONBLOCK, p),
				    tcp || udp ? ALLOW : ASK);
				assert_int_equal(made(families[i], t | HIGH, p),
				    tcp || udp ? ALLOW : ASK);
			}
		}
		for (size_t p = 0; p < sizeof(far) / sizeof(far[0]); p++) {
			assert_int_equal(
			    made(families[i], SOCK_STREAM, far[p]), ASK);
			assert_int_equal(
			    made(families[i], SOCK_DGRAM, far[p]), ASK);
		}
	}
	/* The kernel needs no module to refuse one of these. */
	for (uint64_t t = 0; t < 16; t++) {
		assert_int_equal(made(AF_UNIX, t, 0), ALLOW);
		assert_int_equal(made(AF_UNIX, t, 200), ALLOW);
		assert_int_equal(made(AF_NETLINK, t, 15), REFUSE(EAFNOSUPPORT));
	}
}

/* Nothing lingers, and no socket gets a filter of its own. */
static uint32_t
answer_to_option(uint64_t name)
{
	switch (name) {
	case SO_LINGER:
		return REFUSE(0);
	case SO_ATTACH_FILTER:
	case SO_ATTACH_BPF:
	case SO_ATTACH_REUSEPORT_CBPF:
	case SO_ATTACH_REUSEPORT_EBPF:
		return REFUSE(EPERM);
	default:
		return ALLOW;
	}
}

/* Nor by other calls: each of these needs no right at all. */
static void
no_modules_by_name(void **state)
{
	static const uint64_t bad[] = { TIOCSETD, SIOCGIFBR, SIOCSIFBR,
		SIOCBRADDBR, SIOCBRDELBR, SIOCGIFVLAN, SIOCSIFVLAN, 0x8980,
		0x8981 };
	static const uint64_t fine[] = { TIOCGETD, TIOCGWINSZ, SIOCGIFCONF,
		SIOCGIFFLAGS, SIOCGIFINDEX };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(native(SYS_ioctl, 0, bad[i]), ASK);
		assert_int_equal(native(SYS_ioctl, 0, bad[i] | HIGH), ASK);
	}
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(native(SYS_ioctl, 0, fine[i]), ALLOW);
	for (uint64_t name = 0; name < 64; name++) {
		const uint64_t tcp[6] = { 3, IPPROTO_TCP | HIGH, name },
			       any[6] = { 3, SOL_SOCKET, name },
			       above[6] = { 3, SOL_SOCKET | HIGH, name | HIGH };

		assert_int_equal(run(AUDIT_ARCH_X86_64, SYS_setsockopt, tcp),
		    name == 38 ? REFUSE(ENOPROTOOPT) : ALLOW);
		assert_int_equal(run(AUDIT_ARCH_X86_64, SYS_setsockopt, any),
		    answer_to_option(name));
		assert_int_equal(run(AUDIT_ARCH_X86_64, SYS_setsockopt, above),
		    answer_to_option(name));
	}
}

/* As on a host that was booted without IPv6. */
static void
no_ipv6(void)
{
	struct sock_filter without[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, REFUSE(EAFNOSUPPORT)),
		BPF_STMT(BPF_RET | BPF_K, ALLOW),
	};
	const struct sock_fprog p = { sizeof(without) / sizeof(without[0]),
		without };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0)
		_exit(1);
}

/* The kernel would look for that family's module each time. */
static void
a_family_that_the_host_lacks(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		no_ipv6();
		(void)setup(NULL);
		if (made(AF_INET6, SOCK_STREAM, 0) != REFUSE(EAFNOSUPPORT) ||
		    made(AF_INET6, SOCK_DGRAM, 200) != REFUSE(EAFNOSUPPORT))
			_exit(2);
		_exit(made(AF_INET, SOCK_STREAM, 0) == ALLOW ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_tcp_and_udp),
		cmocka_unit_test(no_modules_by_name),
		cmocka_unit_test(a_family_that_the_host_lacks),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
