#include "filter_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/wire.h"

static void
always_refused(void **state)
{
	/* sandbox-facts.md 8, each of them: PID 1 says no. */
	static const long asked[] = { SYS_mount, SYS_umount2, SYS_pivot_root,
		SYS_chroot, SYS_move_mount, SYS_open_tree, SYS_fsopen,
		SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr,
		SYS_unshare, SYS_setns, SYS_ptrace, SYS_process_vm_readv,
		SYS_process_vm_writev, SYS_kcmp, SYS_pidfd_getfd, SYS_keyctl,
		SYS_add_key, SYS_request_key, SYS_bpf, SYS_perf_event_open,
		SYS_userfaultfd, SYS_kexec_load, SYS_kexec_file_load,
		SYS_init_module, SYS_finit_module, SYS_delete_module,
		SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl,
		SYS_quotactl_fd, SYS_name_to_handle_at, SYS_open_by_handle_at,
		SYS_syslog, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex,
		SYS_clock_adjtime, SYS_iopl, SYS_ioperm, SYS_modify_ldt,
		SYS_sethostname, SYS_setdomainname, SYS_vhangup,
		SYS_fanotify_init, SYS_shmget, SYS_msgget, SYS_semget,
		467 /* open_tree_attr */ };
	static const long eperm[] = { SYS_process_madvise, SYS_mbind,
		SYS_set_mempolicy, SYS_migrate_pages, SYS_move_pages,
		SYS_personality };
	static const long enosys[] = { SYS_clone3, SYS_io_uring_setup,
		SYS_io_uring_enter, SYS_io_uring_register, SYS_memfd_secret,
		SYS_io_setup };
	static const long idle[] = { SYS_sync, SYS_syncfs, SYS_fsync,
		SYS_fdatasync, SYS_sync_file_range };

	(void)state;
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		assert_int_equal(native(asked[i], 0, 0), ASK);
		assert_int_equal(native(asked[i], ~0ull, ~0ull), ASK);
	}
	for (size_t i = 0; i < sizeof(eperm) / sizeof(eperm[0]); i++) {
		assert_int_equal(native(eperm[i], 0, 0), REFUSE(EPERM));
		assert_int_equal(native(eperm[i], ~0ull, ~0ull), REFUSE(EPERM));
	}
	for (size_t i = 0; i < sizeof(enosys) / sizeof(enosys[0]); i++)
		assert_int_equal(native(enosys[i], 0, 0), REFUSE(ENOSYS));
	for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++)
		assert_int_equal(native(idle[i], 3, 0), REFUSE(0));
}

static void
ordinary_calls_pass(void **state)
{
	static const long fine[] = { SYS_read, SYS_write, SYS_openat,
		SYS_openat2, SYS_mmap, SYS_execve, SYS_fork, SYS_vfork,
		SYS_wait4, SYS_kill, SYS_futex, SYS_prctl, SYS_msync,
		SYS_memfd_create, SYS_getrandom, SYS_bind, SYS_recvfrom,
		SYS_unlink, SYS_unlinkat, SYS_epoll_wait, SYS_clock_gettime,
		SYS_setrlimit, SYS_close_range, SYS_pidfd_open,
		SYS_sched_getaffinity };

	(void)state;
	for (size_t i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		assert_int_equal(native(fine[i], 1, 1), ALLOW);
}

static void
clone_without_namespaces(void **state)
{
	static const uint64_t bad[] = { CLONE_NEWNS, CLONE_NEWCGROUP,
		CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID,
		CLONE_NEWNET };
	const uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES |
				CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
				CLONE_SETTLS | CLONE_PARENT_SETTID |
				CLONE_CHILD_CLEARTID;

	(void)state;
	assert_int_equal(native(SYS_clone, SIGCHLD, 0), ALLOW);
	assert_int_equal(native(SYS_clone, thread, 0), ALLOW);
	assert_int_equal(
	    native(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, 0), ALLOW);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(native(SYS_clone, bad[i] | SIGCHLD, 0), ASK);
		assert_int_equal(
		    native(SYS_clone, bad[i] | thread | HIGH, 0), ASK);
	}
}

static void
no_typing_into_terminals(void **state)
{
	static const uint64_t bad[] = { TIOCSTI, TIOCLINUX };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(native(SYS_ioctl, 0, bad[i]), ASK);
		/* The kernel looks at the low half only. */
		assert_int_equal(native(SYS_ioctl, 0, bad[i] | HIGH), ASK);
		assert_int_equal(
		    native(SYS_ioctl, 0, bad[i] | 0xabcdull << 40), ASK);
	}
	assert_int_equal(native(SYS_ioctl, 0, TCGETS), ALLOW);
	assert_int_equal(native(SYS_ioctl, TIOCSTI, FIONREAD), ALLOW);
}

static void
socket_families(void **state)
{
	(void)state;
	for (uint64_t f = 0; f < 64; f++) {
		bool fine = f == AF_UNIX || f == AF_INET || f == AF_INET6;
		/* What looking up a name asks for is no sign of anything. */
		bool quiet = f == AF_UNSPEC || f == AF_NETLINK;

		assert_int_equal(native(SYS_socket, f, SOCK_STREAM),
		    fine    ? ALLOW
		    : quiet ? REFUSE(EAFNOSUPPORT)
			    : ASK);
		assert_int_not_equal(
		    native(SYS_socket, f | HIGH, SOCK_STREAM), ALLOW);
	}
	assert_int_equal(native(SYS_socket, ~0ull, 0), ASK);
	assert_int_equal(native(SYS_socket, ~0ull, ~0ull), ASK);
	for (uint64_t f = 0; f < 64; f++)
		assert_int_equal(native(SYS_socketpair, f, SOCK_STREAM),
		    f == AF_UNIX ? ALLOW : ASK);
	assert_int_equal(native(SYS_socketpair, AF_INET | HIGH, 0), ASK);
}

static void
pid_1_is_left_alone(void **state)
{
	static const long by_pid[] = { SYS_sched_setaffinity,
		SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr };

	(void)state;
	for (size_t i = 0; i < sizeof(by_pid) / sizeof(by_pid[0]); i++) {
		assert_int_equal(native(by_pid[i], 0, 0), ALLOW);
		assert_int_equal(native(by_pid[i], 2, 0), ALLOW);
		assert_int_equal(native(by_pid[i], 1, 0), ASK);
		assert_int_equal(native(by_pid[i], 1 | HIGH, 0), ASK);
	}
	assert_int_equal(native(SYS_prlimit64, 0, RLIMIT_CPU), ALLOW);
	assert_int_equal(native(SYS_prlimit64, 1, RLIMIT_CPU), ASK);
	assert_int_equal(native(SYS_prlimit64, 2, RLIMIT_CPU), ASK);
	assert_int_equal(native(SYS_prlimit64, HIGH, 0), ASK);
	assert_int_equal(native(SYS_setpriority, PRIO_PROCESS, 0), ALLOW);
	assert_int_equal(native(SYS_setpriority, PRIO_PROCESS, 7), ALLOW);
	assert_int_equal(native(SYS_setpriority, PRIO_PROCESS, 1 | HIGH), ASK);
	assert_int_equal(native(SYS_setpriority, PRIO_PGRP, 0), ASK);
	assert_int_equal(native(SYS_setpriority, PRIO_USER, 0), ASK);
	assert_int_equal(native(SYS_setpriority, PRIO_USER | HIGH, 0), ASK);
	assert_int_equal(native(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0), ALLOW);
	assert_int_equal(native(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 1), ASK);
	assert_int_equal(native(SYS_ioprio_set, IOPRIO_WHO_USER, 0), ASK);
}

/* Six arguments. */
static uint32_t
with(long nr, int arg, uint64_t value)
{
	uint64_t all[6] = { 0 };

	all[arg] = value;
	return run(AUDIT_ARCH_X86_64, (uint32_t)nr, all);
}

static void
what_leads_out_is_shown(void **state)
{
	static const long always[] = { SYS_connect, SYS_sendmmsg, SYS_creat,
		SYS_mkdir, SYS_mkdirat };
	static const uint64_t writing[] = { O_WRONLY, O_RDWR,
		O_RDONLY | O_CREAT, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		O_RDWR | HIGH };
	static const uint64_t reading[] = { O_RDONLY, O_RDONLY | O_CLOEXEC,
		O_DIRECTORY | O_NONBLOCK | O_CLOEXEC, O_PATH };

	(void)state;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		assert_int_equal(native(always[i], 0, 0), ASK);
	/* send(2) is sendto(2) with no address. */
	assert_int_equal(with(SYS_sendto, 4, 0), ALLOW);
	assert_int_equal(with(SYS_sendto, 4, 0x1000), ASK);
	assert_int_equal(with(SYS_sendto, 4, HIGH), ASK);
	/* Only the listener's own way is open. */
	assert_int_equal(with(SYS_sendmsg, 0, 3), ASK);
	assert_int_equal(with(SYS_sendmsg, 0, WIRE_WATCH_FD | HIGH), ASK);
	assert_int_equal(with(SYS_sendmsg, 0, WIRE_WATCH_FD), ALLOW);
	for (size_t i = 0; i < sizeof(writing) / sizeof(writing[0]); i++) {
		assert_int_equal(with(SYS_open, 1, writing[i]), ASK);
		assert_int_equal(with(SYS_openat, 2, writing[i]), ASK);
	}
	for (size_t i = 0; i < sizeof(reading) / sizeof(reading[0]); i++) {
		assert_int_equal(with(SYS_open, 1, reading[i]), ALLOW);
		assert_int_equal(with(SYS_openat, 2, reading[i]), ALLOW);
	}
}

/* What takes of the host's and no limit of a run counts. */
static void
what_is_not_counted(void **state)
{
	const uint64_t private = MAP_PRIVATE | MAP_ANONYMOUS;

	(void)state;
	for (uint64_t op = 0; op < 8; op++) {
		const uint32_t wanted =
		    op == SECCOMP_SET_MODE_FILTER ? REFUSE(EINVAL) : ALLOW;

		assert_int_equal(with(SYS_seccomp, 0, op), wanted);
		assert_int_equal(with(SYS_seccomp, 0, op | HIGH), wanted);
	}
	for (uint64_t op = 0; op < 80; op++) {
		const bool bad = op == PR_SET_SECCOMP || op == 62;

		assert_int_equal(
		    native(SYS_prctl, op, 2), bad ? REFUSE(EINVAL) : ALLOW);
		assert_int_equal(native(SYS_prctl, op | HIGH, 2),
		    bad ? REFUSE(EINVAL) : ALLOW);
	}
	assert_int_equal(with(SYS_mmap, 3, private), ALLOW);
	assert_int_equal(
	    with(SYS_mmap, 3, private | MAP_NORESERVE | MAP_POPULATE), ALLOW);
	assert_int_equal(
	    with(SYS_mmap, 3, private | MAP_HUGETLB), REFUSE(ENOMEM));
	assert_int_equal(with(SYS_mmap, 3, private | MAP_HUGETLB | 21 << 26),
	    REFUSE(ENOMEM));
	assert_int_equal(with(SYS_mmap, 3, ~0ull), REFUSE(ENOMEM));
	assert_int_equal(
	    with(SYS_memfd_create, 1, MFD_CLOEXEC | MFD_ALLOW_SEALING), ALLOW);
	assert_int_equal(with(SYS_memfd_create, 1, MFD_CLOEXEC | MFD_HUGETLB),
	    REFUSE(EINVAL));
	assert_int_equal(
	    with(SYS_memfd_create, 1, MFD_HUGETLB | HIGH), REFUSE(EINVAL));
	for (uint64_t advice = 0; advice < 8; advice++) {
		const uint32_t wanted =
		    advice == POSIX_FADV_DONTNEED ? REFUSE(0) : ALLOW;

		assert_int_equal(with(SYS_fadvise64, 3, advice), wanted);
		assert_int_equal(with(SYS_fadvise64, 3, advice | HIGH), wanted);
	}
}

/* fcntl(fd, cmd, value). */
static uint32_t
control(uint64_t cmd, uint64_t value)
{
	const uint64_t all[6] = { 5, cmd, value };

	return run(AUDIT_ARCH_X86_64, SYS_fcntl, all);
}

static void
pipes_stay_as_they_come(void **state)
{
	(void)state;
	assert_int_equal(control(F_SETPIPE_SZ, 0), ALLOW);
	assert_int_equal(control(F_SETPIPE_SZ, 4096), ALLOW);
	assert_int_equal(control(F_SETPIPE_SZ, 65536), ALLOW);
	assert_int_equal(control(F_SETPIPE_SZ, 65537), REFUSE(EPERM));
	assert_int_equal(control(F_SETPIPE_SZ, 1 << 20), REFUSE(EPERM));
	assert_int_equal(control(F_SETPIPE_SZ | HIGH, 1 << 20), REFUSE(EPERM));
	assert_int_equal(
	    control(F_SETPIPE_SZ, (1 << 20) | HIGH), REFUSE(EPERM));
	assert_int_equal(control(F_GETPIPE_SZ, 1 << 20), ALLOW);
	assert_int_equal(control(F_SETFL, ~0ull), ALLOW);
}

static void
other_architectures_are_killed(void **state)
{
	const uint64_t none[6] = { 0 };
	const uint32_t x32 = 0x40000000;

	(void)state;
	/* x32 numbers, those that differ included (545 is its execveat). */
	assert_int_equal(
	    native((long)(x32 | SYS_getppid), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(
	    native((long)(x32 | 545), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(
	    native((long)(x32 | SYS_mount), 0, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(
	    run(AUDIT_ARCH_I386, 20, none), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(
	    run(AUDIT_ARCH_AARCH64, 64, none), SECCOMP_RET_KILL_PROCESS);
}

/* ---- in a real process ---- */

/* Install it in a child, without anybody to ask, or with one that refuses all,
 * and run fn there; its exit status, or -signal. */
static int
filtered(int (*fn)(void), const struct sock_filter *instructions, size_t n)
{
	const struct sock_fprog p = { (unsigned short)n,
		(struct sock_filter *)(uintptr_t)instructions };
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0)
			_exit(99);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Nobody to ask: all that would be asked is refused, whatever it is. */
static int
asks_nobody(void)
{
	if (syscall(SYS_unshare, 0) != -1 || errno != ENOSYS)
		return 1;
	if (socket(AF_PACKET, SOCK_RAW, 0) != -1 || errno != ENOSYS)
		return 2;
	if (connect(0, NULL, 0) != -1 || errno != ENOSYS)
		return 3;
	if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		return 4;
	return 0;
}

static int
tries(void)
{
	struct rlimit limit;

	/* Each of these succeeds, or fails differently, without the filter. */
	if (syscall(SYS_unshare, 0) != -1 || errno != EPERM)
		return 1;
	if (syscall(SYS_personality, 0xffffffff) != -1 || errno != EPERM)
		return 2;
	if (socket(AF_NETLINK, SOCK_RAW, 0) != -1 || errno != EAFNOSUPPORT)
		return 3;
	if (ioctl(0, TIOCSTI, "x") != -1 || errno != EPERM)
		return 4;
	if (syscall(SYS_prlimit64, getpid(), RLIMIT_CPU, NULL, &limit) != -1 ||
	    errno != EPERM)
		return 5;
	if (syscall(SYS_clone3, NULL, 0) != -1 || errno != ENOSYS)
		return 6;
	if (getrlimit(RLIMIT_CPU, &limit) != 0)
		return 7;
	if (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		return 8;
	/* This one is not asked about any more. */
	if (connect(-1, NULL, 0) != -1 || errno != EBADF)
		return 9;
	if (socket(AF_VSOCK, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT)
		return 10;
	if (socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP) != -1 ||
	    errno != EPROTONOSUPPORT)
		return 15;
	if (socket(AF_INET, SOCK_SEQPACKET, 0) != -1 ||
	    errno != ESOCKTNOSUPPORT)
		return 16;
	if (socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) != -1 || errno != EPERM)
		return 17;
	if (socket(AF_INET, SOCK_STREAM, 0) < 0)
		return 18;
	/* The core limit must stay what it is (1: no handler is started). */
	if (getrlimit(RLIMIT_CORE, &limit) != 0)
		return 11;
	limit.rlim_cur = 0;
	if (setrlimit(RLIMIT_CORE, &limit) != -1 || errno != EPERM)
		return 12;
	if (syscall(SYS_setrlimit, RLIMIT_CORE, &limit) != -1 || errno != EPERM)
		return 13;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
	    setrlimit(RLIMIT_NOFILE, &limit) != 0)
		return 14;
	return 0;
}

static int
call_x32(void)
{
	syscall(0x40000000 | SYS_getppid);
	return 0;
}

static void
the_kernel_takes_it(void **state)
{
	(void)state;
	assert_int_equal(filtered(asks_nobody, code, n_code), 0);
	assert_int_equal(filtered(call_x32, code, n_code), -SIGSYS);
}

/* What filter_make() gives a process that somebody listens to already. */
static int
make_listened_to(void)
{
	struct sock_filter allow = { .code = BPF_RET | BPF_K,
		.k = SECCOMP_RET_ALLOW };
	const struct sock_fprog p = { 1, &allow };
	static struct sock_filter plain[BPF_MAXINSNS];
	ssize_t n;
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER, &p) < 0)
		return 97;
	if (filter_make(&fd) != ST_OK)
		return 98;
	n = read(fd, plain, sizeof(plain));
	if (n <= 0)
		return 99;
	return filtered(tries, plain, (size_t)n / sizeof(plain[0]));
}

static void
without_a_listener_it_asks_nobody(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0) {
		/* What it says is expected. */
		(void)!freopen("/dev/null", "w", stderr);
		_exit(make_listened_to());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
names_of_calls(void **state)
{
	(void)state;
	assert_string_equal(filter_call(SYS_ptrace), "ptrace");
	assert_string_equal(filter_call(SYS_mount), "mount");
	assert_string_equal(filter_call(-1), "?");
	assert_string_equal(filter_call(INT_MAX), "?");
}

static void
the_descriptor(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW;
	struct sock_filter again[BPF_MAXINSNS];
	int fd, other;

	(void)state;
	assert_int_equal(filter_make(&fd), ST_OK);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & seals, seals);
	/* Read one to its end: the other still stands at 0. */
	other = filter_reopen(fd);
	assert_true(other >= 0);
	assert_int_equal(fcntl(other, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	assert_int_equal(
	    read(fd, again, sizeof(again)), n_code * sizeof(again[0]));
	assert_int_equal(lseek(other, 0, SEEK_CUR), 0);
	assert_int_equal(
	    read(other, again, sizeof(again)), n_code * sizeof(again[0]));
	assert_memory_equal(again, code, n_code * sizeof(again[0]));
	close(other);
	close(fd);
	assert_int_equal(filter_reopen(fd), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(always_refused),
		cmocka_unit_test(ordinary_calls_pass),
		cmocka_unit_test(clone_without_namespaces),
		cmocka_unit_test(no_typing_into_terminals),
		cmocka_unit_test(socket_families),
		cmocka_unit_test(pid_1_is_left_alone),
		cmocka_unit_test(what_leads_out_is_shown),
		cmocka_unit_test(what_is_not_counted),
		cmocka_unit_test(pipes_stay_as_they_come),
		cmocka_unit_test(other_architectures_are_killed),
		cmocka_unit_test(the_kernel_takes_it),
		cmocka_unit_test(without_a_listener_it_asks_nobody),
		cmocka_unit_test(names_of_calls),
		cmocka_unit_test(the_descriptor),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
