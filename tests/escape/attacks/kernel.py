"""Calls that the filter, the namespaces or the missing capabilities refuse."""

import ctypes
import errno
import mmap
import os
import signal
import socket
import struct
import subprocess

from probe import check, done, killed, libc, refused, syscall

EPERM, ENOSYS = errno.EPERM, errno.ENOSYS
BUFFER = ctypes.create_string_buffer(256)
ALLOW = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), 8)  # a filter's only word
PROGRAM = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 1, ctypes.addressof(ALLOW)), 16)
filtered = os.environ.get("FILTER", "on") == "on"

calls = {
    "mount": (165, b"t", b"/box", b"tmpfs", 0, 0),
    "remount without limit": (165, b"t", b"/box", 0, 32, b"size=1g"),
    "bind mount": (165, b"/usr", b"/tmp", 0, 4096, 0),
    "umount": (166, b"/box", 0),
    "detach /": (166, b"/", 2),
    "pivot_root": (155, b"/box", b"/box"),
    "chroot": (161, b"/box"),
    "open_tree": (428, -100, b"/usr", 1),
    "move_mount": (429, -1, b"", -1, b"", 0),
    "fsopen": (430, b"tmpfs", 0),
    "mount_setattr": (442, -100, b"/", 0, BUFFER, 32),
    "unshare user": (272, 0x10000000),
    "unshare mounts": (272, 0x20000),
    "unshare net": (272, 0x40000000),
    "unshare pids": (272, 0x20000000),
    "setns": (308, 0, 0),
    "clone user": (56, 0x10000000 | 17, 0, 0, 0, 0),
    "clone net": (56, 0x40000000 | 17, 0, 0, 0, 0),
    "settimeofday": (164, BUFFER, 0),
    "clock_settime": (227, 0, BUFFER),
    "sethostname": (170, b"mine", 4),
    "swapon": (167, b"/box/x", 0),
    "init_module": (175, BUFFER, 256, b""),
    "finit_module": (313, 0, b"", 0),
    "kexec_load": (246, 0, 0, 0, 0),
    "reboot with no magic": (169, 0, 0, 0),
    "syslog": (103, 3, BUFFER, 256),
    "acct": (163, b"/box/x"),
    "iopl": (172, 3),
    "open_by_handle_at": (304, -100, BUFFER, 0),
    "bpf": (321, 0, BUFFER, 72),
    "perf_event_open": (298, BUFFER, 0, -1, -1, 0),
}
only_filter = {
    "unshare nothing": (272, 0),
    "keyctl: session keyring": (250, 0, -3, 1),
    "add_key": (248, b"user", b"k", b"v", 1, -3),
    "request_key": (249, b"user", b"k", 0, -3),
    "userfaultfd": (323, 1),
    "ptrace traceme": (101, 0, 0, 0, 0),
    "process_vm_readv of itself": (310, os.getpid(), 0, 0, 0, 0, 0),
    "pidfd_getfd": (438, 0, 0, 0),
    "kcmp": (312, os.getpid(), os.getpid(), 0, 0, 1),
    "shmget": (29, 0, 4096, 0o1600),
    "msgget": (68, 0, 0o1600),
    "semget": (64, 0, 1, 0o1600),
    "personality": (135, 0x0040000),
    "name_to_handle_at": (303, -100, b"/usr", BUFFER, BUFFER, 0),
    "fanotify_init": (300, 0, 0),
    "mbind": (237, 0, 0, 0, 0, 0, 0),
    "modify_ldt": (154, 0, BUFFER, 256),
}
absent = {
    "clone3 user": (435, BUFFER, 88),
    "io_uring_setup": (425, 8, BUFFER),
    "io_uring_enter": (426, 0, 0, 0, 0, 0),
    "io_uring_register": (427, 0, 0, 0, 0),
    "memfd_secret": (447, 0),
    "io_setup": (206, 1, BUFFER),
}
# As from a kernel without it.
lacking = {
    "seccomp with a filter": (errno.EINVAL, 317, 1, 0, PROGRAM),
    "prctl with a filter": (errno.EINVAL, 157, 22, 2, PROGRAM),
    "core scheduling": (errno.EINVAL, 157, 62, 1, 0, 0, 0),
    "huge pages": (errno.ENOMEM, 9, 0, 2 << 20, 3, 0x40022, -1, 0),
    "file of huge pages": (errno.EINVAL, 319, b"x", 4),
}
# Seems to work: of no file it would fail.
idle = {"fsync": (74, -1), "fdatasync": (75, -1), "syncfs": (306, -1), "sync_file_range": (277, -1, 0, 0, 7)}
idle["fadvise DONTNEED"] = (221, -1, 0, 0, 4)
for name, call in calls.items():
    wanted = (EPERM,) if filtered else ()
    refused(name, lambda call=call: syscall(*call), *wanted)
if filtered:
    for name, call in only_filter.items():
        refused(name, lambda call=call: syscall(*call), EPERM)
    for name, call in absent.items():
        refused(name, lambda call=call: syscall(*call), ENOSYS)
    for name, call in lacking.items():
        refused(name, lambda call=call: syscall(*call[1:]), call[0])
    for name, call in idle.items():
        check(syscall(*call) == 0, name)
    killed("x32 call", lambda: libc.syscall(ctypes.c_long(0x40000000 | 39)) and 1, signal.SIGSYS)


def int80():
    """getpid by the 32-bit entry, from code written into a fresh page."""
    code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"  # mov eax, 20; int 0x80; ret
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return 0 if ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0 else 1


if filtered:
    # SIGSEGV where the kernel has no 32-bit entry at all.
    killed("int 0x80", int80, signal.SIGSYS, signal.SIGSEGV)
# Of PID 1 too, so they hold without the program's own.
refused("io_uring_setup, PID 1's rule", lambda: syscall(425, 8, BUFFER), ENOSYS)
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1 << 30))
lingers = struct.unpack("ii", s.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8))
check(lingers == (0, 0), "SO_LINGER", str(lingers))
for name, option, value in (
    ("FILTER", 26, PROGRAM.raw),
    ("BPF", 50, bytes(4)),
    ("REUSEPORT_CBPF", 51, PROGRAM.raw),
    ("REUSEPORT_EBPF", 52, bytes(4)),
):
    refused(f"SO_ATTACH_{name}", lambda o=option, v=value: s.setsockopt(socket.SOL_SOCKET, o, v), EPERM)
r = subprocess.run(["/usr/bin/unshare", "-Ur", "true"], capture_output=True)
check(r.returncode != 0, "unshare -Ur", r.stderr.decode().strip())
refused("device node", lambda: os.mknod("/box/sda", 0o60600, os.makedev(254, 0)), EPERM)
refused("setuid 0", lambda: os.setuid(0), EPERM, errno.EINVAL)
refused("setgroups", lambda: os.setgroups([0]), EPERM)
done()
