"""PID 1, which has the same uid, and processes of the host."""

import ctypes
import errno
import os
import resource
import signal
import sys

from probe import check, done, refused, syscall

EPERM, EACCES, ESRCH = errno.EPERM, errno.EACCES, errno.ESRCH
host_pid = int(sys.argv[1])
filtered = os.environ.get("FILTER", "on") == "on"
BUFFER = ctypes.create_string_buffer(256)

for name in ("mem", "environ", "maps", "smaps", "auxv", "io", "stack", "syscall", "personality"):
    refused(f"read /proc/1/{name}", lambda name=name: open(f"/proc/1/{name}", "rb").read(64), EPERM, EACCES)
for name in ("exe", "root", "cwd"):
    refused(f"follow /proc/1/{name}", lambda name=name: os.stat(f"/proc/1/{name}/."), EPERM, EACCES)
    refused(f"readlink /proc/1/{name}", lambda name=name: os.readlink(f"/proc/1/{name}"), EPERM, EACCES)
for name in ("fd", "ns", "map_files", "fdinfo"):

    def read_all(name=name):
        folder = f"/proc/1/{name}"
        return [os.readlink(f"{folder}/{x}") for x in os.listdir(folder)]

    refused(f"look into /proc/1/{name}", read_all, EPERM, EACCES)
refused("write /proc/1/mem", lambda: open("/proc/1/mem", "wb"), EPERM, EACCES, errno.EROFS)
refused("write /proc/1/oom_score_adj", lambda: open("/proc/1/oom_score_adj", "w"), EPERM, EACCES, errno.EROFS)
refused("attach to PID 1", lambda: syscall(101, 16, 1, 0, 0), EPERM)
refused("seize PID 1", lambda: syscall(101, 0x4206, 1, 0, 0), EPERM)
# An iovec of 256 bytes: an empty one would be allowed on anybody.
PIECE = (ctypes.c_ulong * 2)(ctypes.addressof(BUFFER), 256)
refused("process_vm_readv of PID 1", lambda: syscall(310, 1, PIECE, 1, PIECE, 1, 0), EPERM)
refused("process_vm_writev of PID 1", lambda: syscall(311, 1, PIECE, 1, PIECE, 1, 0), EPERM)
refused("descriptor out of PID 1", lambda: syscall(438, os.pidfd_open(1), 3, 0), EPERM)
if filtered:
    refused("limits of PID 1", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1)), EPERM)
    refused("priority of PID 1", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), EPERM)
    refused("priority of its user", lambda: os.setpriority(os.PRIO_USER, 0, 19), EPERM)
    refused("processors of PID 1", lambda: os.sched_setaffinity(1, {0}), EPERM)
    refused("scheduler of PID 1", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)), EPERM)
    refused("io priority of PID 1", lambda: syscall(251, 1, 1, 0), EPERM)
else:
    # Without the filter they go through, and PID 1 must report all the same.
    for limit in range(16):
        resource.prlimit(1, limit, (min(1, resource.prlimit(1, limit)[1] % (1 << 64)),) * 2)
    os.setpriority(os.PRIO_PROCESS, 1, 19)
    check(True, "PID 1 with every limit at 1")
os.sched_setaffinity(0, os.sched_getaffinity(0))
check(True, "its own processors may be set")

# Success is what the kernel says; PID 1 must simply not care.
for sig in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1):
    os.kill(1, sig)
for sig in range(1, 65):
    if sig not in (32, 33):
        os.kill(1, sig)
try:
    for _ in range(2000):
        syscall(129, 1, 34, BUFFER)  # rt_sigqueueinfo
except OSError:
    pass
state = next(x for x in open("/proc/1/status") if x.startswith("State:"))
check(state.split()[1] in "SR", "PID 1 after every signal", state.strip())

pids = sorted(int(x) for x in os.listdir("/proc") if x.isdigit())
check(pids == [1, os.getpid()] and os.getpid() == 2, "processes to be seen", str(pids))
refused("signal a process of the host", lambda: os.kill(host_pid, signal.SIGKILL), ESRCH)
refused("pidfd of a process of the host", lambda: os.pidfd_open(host_pid), ESRCH, errno.EINVAL)
refused("/proc of a process of the host", lambda: os.listdir(f"/proc/{host_pid}"), errno.ENOENT)
refused("signal everybody", lambda: os.kill(-1, signal.SIGKILL), ESRCH)
done()
