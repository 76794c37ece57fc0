"""What is readable, what is writable, and how much."""

import errno
import mmap
import os
import resource
import signal
import subprocess
import sys

from probe import check, done, killed, refused

EROFS, ENOENT, EACCES, EPERM, ENOSPC = errno.EROFS, errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOSPC
work, host_folder = int(sys.argv[1]), sys.argv[2]
remounted = os.environ.get("REMOUNT", "on") == "on"


def write(path):
    with open(path, "w") as f:
        f.write("x")


for path in ("/usr/x", "/usr/bin/x", "/usr/bin/python3", "/etc/alternatives/x", "/etc/ld.so.cache"):
    refused(f"write {path}", lambda path=path: write(path), EROFS, EACCES)
if remounted:
    for path in ("/x", "/etc/x", "/etc/passwd", "/dev/x", "/dev/pts/x", "/lib/x", "/proc/x", "/root"):
        refused(f"write {path}", lambda path=path: write(path), EROFS, EACCES, ENOENT, EPERM)
    refused("new folder in /", lambda: os.mkdir("/x"), EROFS)
    refused("remove /etc/passwd", lambda: os.unlink("/etc/passwd"), EROFS)
    refused("rename /box", lambda: os.rename("/box", "/b"), EROFS, errno.EBUSY)
    refused("mode of /", lambda: os.chmod("/", 0o777), EROFS)
    for path in (
        "/proc/self/oom_score_adj",
        "/proc/self/uid_map",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sys/fs/mqueue/queues_max",
        "/proc/sys/kernel/shmmax",
        "/proc/sysrq-trigger",
        "/proc/sys/net/ipv4/ip_forward",
    ):
        refused(f"write {path}", lambda path=path: write(path), EROFS, EACCES, ENOENT, EPERM)

for path in ("/etc/shadow", "/root", "/home", "/var", "/run", "/sys", "/mnt", "/boot", "/opt", "/srv", "/proc/kcore", "/newroot", "/oldroot"):
    refused(f"read {path}", lambda path=path: os.open(path, os.O_RDONLY), ENOENT, EACCES, EPERM)
for name in ("root-only", "tollbox-only", "run-user-only"):
    for root in ("", "/proc/1/root", "/proc/self/root", "/proc/self/cwd/..", "/box/../..", "/usr/.."):
        path = f"{root}{host_folder}/{name}"
        refused(f"read {path}", lambda path=path: open(path).read(), ENOENT, EACCES, EPERM)
check(open("/etc/passwd").read().count("\n") == 3, "passwd is nobody's")
devices = sorted(os.listdir("/dev"))
wanted = sorted("core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero".split())
check(devices == wanted, "devices", " ".join(devices))

# No way up by a setuid program.
found = subprocess.run(
    ["/usr/bin/find", "/usr", "-perm", "/6000", "-type", "f"], capture_output=True, text=True
).stdout.split()
check(True, "setuid programs to be seen", str(len(found)))
mounts = [line.split() for line in open("/proc/self/mountinfo")]
check(all("nosuid" in m[5] for m in mounts), "every mount is nosuid")
check(all("nodev" in m[5] for m in mounts if m[4].split("/")[1] != "dev"), "every mount outside /dev is nodev")
with open("/box/s", "w") as f:
    f.write("#!/bin/sh\nid -u\n")
os.chmod("/box/s", 0o6755)
said = subprocess.run(["/box/s"], capture_output=True, text=True).stdout.strip()
check(said == "1000", "own setuid file", said)

# Bytes: /box, /tmp and /dev/shm share what was asked for.
block = b"x" * 65536
total = 0
held = []
for folder, until in (("/box", work // 3), ("/tmp", 2 * work // 3), ("/dev/shm", 4 * work)):
    held.append(open(f"{folder}/fill", "wb", buffering=0))
    try:
        while total < until:
            total += held[-1].write(block)
    except OSError as e:
        check(e.errno == ENOSPC and folder == "/dev/shm", f"fill {folder}", errno.errorcode[e.errno])
check(work - 131072 <= total <= work, "bytes in all three", f"{total} of {work}")
refused("a byte more", lambda: write("/box/more"), ENOSPC)
for f in held:
    os.unlink(f.name)
refused("unlinked but open files count", lambda: write("/box/more"), ENOSPC)
for f in held:
    f.close()

# Inodes.
count = 0
try:
    while count < 40000:
        os.close(os.open(f"/{('box', 'tmp', 'dev/shm')[count % 3]}/{count}", os.O_CREAT | os.O_WRONLY))
        count += 1
except OSError as e:
    check(e.errno == ENOSPC, "inodes end", errno.errorcode[e.errno])
check(16000 < count <= 16384, "inodes in all three", str(count))
for folder in ("/box", "/tmp", "/dev/shm"):
    for name in os.listdir(folder):
        if name.isdigit():
            os.unlink(f"{folder}/{name}")


def too_long():
    fd = os.memfd_create("big")
    os.ftruncate(fd, work + 1)


resource.getrlimit(resource.RLIMIT_FSIZE)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
refused("memfd over the file size", too_long, errno.EFBIG)
refused("a hole over the file size", lambda: os.truncate("/box/s", 1 << 40), errno.EFBIG)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
killed("file size signal", too_long, signal.SIGXFSZ)
refused("locked memory", lambda: __import__("probe").syscall(151, 3) or mmap.mmap(-1, 1 << 20), errno.ENOMEM, EPERM, errno.EAGAIN)
done()
