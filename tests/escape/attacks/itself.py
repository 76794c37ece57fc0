"""What the program is and has: nothing that it was not given."""

import errno
import fcntl
import os
import pty
import resource
import sys
import termios

from probe import check, done, refused, syscall

secret, host_folder = sys.argv[1], sys.argv[2]



def status_of(pid):
    return dict(line.rstrip("\n").split(":\t", 1) for line in open(f"/proc/{pid}/status") if ":\t" in line)


status, init = status_of("self"), status_of(1)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    check(int(status[name], 16) == 0, name, status[name])
check(status["NoNewPrivs"] == "1", "NoNewPrivs", status["NoNewPrivs"])
check(status["Seccomp"] == "2", "Seccomp", status["Seccomp"])
check(init["Seccomp"] == "2", "Seccomp of PID 1", init["Seccomp"])
# One of its own, beside what it inherits.
own = int(status["Seccomp_filters"]) - int(init["Seccomp_filters"])
check(own == 1, "filters", str(own))
check(status["Uid"].split() == ["1000"] * 4, "Uid", status["Uid"])
check(status["Gid"].split() == ["1000"] * 4, "Gid", status["Gid"])
check(status["Groups"].split() in ([], ["1000"]), "Groups", status["Groups"])
check(int(status["SigIgn"], 16) & ~(1 << 12 | 1 << 24) == 0, "no inherited ignored signal", status["SigIgn"])
check(int(status["SigBlk"], 16) == 0, "no inherited blocked signal", status["SigBlk"])
uid_map = open("/proc/self/uid_map").read().split()
check(uid_map[0] == "1000" and uid_map[2] == "1", "one user is mapped", " ".join(uid_map))

fds = []
for fd in range(0, 5000):
    try:
        fcntl.fcntl(fd, fcntl.F_GETFD)
    except OSError:
        continue
    fds.append(fd)
check(fds == [0, 1, 2], "descriptors", str(fds))
check(all(os.readlink(f"/proc/self/fd/{fd}").startswith("pipe:") for fd in fds), "descriptors are pipes")

wanted = {"PATH": "/usr/bin:/bin", "HOME": "/box", "LANG": "C.UTF-8", "TZ": "UTC", "TMPDIR": "/tmp", "PWD": "/box"}
mine = open("/proc/self/environ").read()
check(dict(x.split("=", 1) for x in mine.split("\0") if x) == wanted, "environment")
for pid in [x for x in os.listdir("/proc") if x.isdigit()]:
    for name in ("environ", "cmdline", "mountinfo", "cgroup", "stat", "comm", "status"):
        try:
            seen = open(f"/proc/{pid}/{name}").read()
        except OSError:
            continue
        # Its own command line holds what this attack was told to look for.
        if name == "cmdline" and pid == str(os.getpid()):
            continue
        for needle in (secret, host_folder, "tollbox", "bwrap", "--unshare"):
            if needle in seen:
                check(False, f"/proc/{pid}/{name}", f"tells {needle}")
check(True, "/proc tells no secret and no path of ours")
for line in open("/proc/self/cgroup"):
    check(line.rstrip().endswith(":/"), "cgroup", line.strip())
check(os.uname().nodename == "sandbox", "hostname", os.uname().nodename)
check(os.getcwd() == "/box", "work folder", os.getcwd())
check(open("/proc/self/oom_score_adj").read().strip() == "1000", "first to go when memory is short")

refused("controlling terminal", lambda: os.open("/dev/tty", os.O_RDWR), errno.ENXIO)
for fd in (0, 1, 2):
    check(not os.isatty(fd), f"descriptor {fd} is no terminal")
master, slave = pty.openpty()
refused("TIOCSTI", lambda: fcntl.ioctl(slave, termios.TIOCSTI, b"x"), errno.EPERM)
refused("TIOCSTI, upper half", lambda: syscall(16, slave, (1 << 32) | termios.TIOCSTI, b"x"), errno.EPERM)
refused("TIOCLINUX", lambda: fcntl.ioctl(slave, 0x541C, b"\x03"), errno.EPERM)
check(os.getsid(0) == os.getpid(), "a session of its own")

limits = {
    "NPROC": (64, 64), "NOFILE": (256, 256), "CORE": (1, 1), "FSIZE": (64 << 20, 64 << 20),
    "CPU": (21, 22), "MEMLOCK": (65536, 65536), "MSGQUEUE": (0, 0), "RTPRIO": (0, 0), "NICE": (0, 0),
    "SIGPENDING": (1024, 1024),
}
for name, want in limits.items():
    got = resource.getrlimit(getattr(resource, f"RLIMIT_{name}"))
    check(got == want, f"limit {name}", str(got))
check(resource.getrlimit(resource.RLIMIT_STACK)[0] == 8 << 20, "limit STACK")
check(resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY, "no limit AS")


def raise_limit():
    try:
        resource.setrlimit(resource.RLIMIT_NPROC, (65, 65))
    except ValueError as e:
        raise OSError(errno.EPERM, "not raised") from e


refused("raise a limit", raise_limit, errno.EPERM)
done()
