"""What all attacks share. Each attempt prints one line, "ok" or "FAIL"; the
last line is "done", so that an attack that died half-way is noticed."""

import ctypes
import errno
import os
import signal

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def check(good, name, detail=""):
    print(f"{'ok  ' if good else 'FAIL'} {name}" + (f": {detail}" if detail else ""), flush=True)


def text(e):
    return errno.errorcode.get(e, str(e))


def syscall(number, *args):
    """A system call; its result, or OSError."""
    ctypes.set_errno(0)
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        e = ctypes.get_errno()
        raise OSError(e, os.strerror(e))
    return result


def refused(name, fn, *wanted):
    """fn must fail with OSError, of one of the wanted numbers if any."""
    try:
        result = fn()
    except OSError as e:
        good = not wanted or e.errno in wanted
        check(good, name, text(e.errno))
    else:
        check(False, name, f"went through, gave {result!r}")


def child(fn):
    """Run fn in a child; its wait status."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = fn() or 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def killed(name, fn, *signals):
    """fn must be ended by one of the signals."""
    status = child(fn)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    what = signal.Signals(ended).name if ended else f"exit {os.waitstatus_to_exitcode(status)}"
    check(ended in signals, name, what)


def done():
    print("done", flush=True)
