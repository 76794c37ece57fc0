"""All of itself that a python program can see, a line each: "what: value"."""
import sys

before = {
    "argv": sys.argv, "orig_argv": sys.orig_argv, "flags": sys.flags,
    "path": sys.path, "modules": sorted(sys.modules),
    "importers": sorted(sys.path_importer_cache),
    "meta": [getattr(m, "__name__", type(m).__name__) for m in sys.meta_path],
    "hooks": [getattr(h, "__name__", str(h)) for h in sys.path_hooks],
    "main": sorted(globals()), "file": __file__, "executable": sys.executable,
    "prefix": sys.prefix, "warnoptions": sys.warnoptions,
    "xoptions": sys._xoptions, "stdio": [
        (f.name, f.mode, f.encoding, f.errors, f.line_buffering)
        for f in (sys.stdin, sys.stdout, sys.stderr)],
    "trace": (sys.gettrace(), sys.getprofile(), sys.excepthook is
              sys.__excepthook__, sys.getrecursionlimit(),
              sys.getswitchinterval(), sys.dont_write_bytecode),
    "site": sorted(vars(sys.modules["sitecustomize"]))
            if "sitecustomize" in sys.modules else None,
}

import atexit
import gc
import inspect
import locale
import os
import resource
import signal
import stat
import threading
import time
import warnings


def show(what, value):
    print(f"{what}: {value!r}")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def listing(path):
    return sorted(os.listdir(path))


def descriptor(fd):
    try:
        s = os.fstat(fd)
    except OSError:
        return None
    import fcntl
    return (fd, stat.S_IFMT(s.st_mode), fcntl.fcntl(fd, fcntl.F_GETFD),
            fcntl.fcntl(fd, fcntl.F_GETFL))


for what, value in before.items():
    show(what, value)
show("gc", (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(),
            gc.get_debug(), gc.callbacks))
show("objects", len(gc.get_objects()))
show("atexit", atexit._ncallbacks())
show("threads", [t.name for t in threading.enumerate()])
show("locale", (locale.getlocale(), locale.getpreferredencoding()))
show("warnings", [str(w) for w in warnings.filters])
show("environ", dict(os.environ))
show("environ block", read("/proc/self/environ"))
show("cmdline", read("/proc/self/cmdline"))
show("cwd", (os.getcwd(), oct(os.umask(0o22))))
show("ids", (os.getpid(), os.getppid(), os.getpgid(0), os.getsid(0),
             os.getresuid(), os.getresgid(), os.getgroups()))
show("descriptors", [d for d in map(descriptor, range(256)) if d])
show("links", [os.readlink(f"/proc/self/fd/{n}").split(":")[0]
               for n in range(3)])
show("handlers", [(s.name, str(signal.getsignal(s)))
                  for s in signal.valid_signals() if hasattr(s, "name")])
show("blocked", signal.pthread_sigmask(signal.SIG_BLOCK, ()))
show("itimer", signal.getitimer(signal.ITIMER_REAL))
for name in sorted(dir(resource)):
    if name.startswith("RLIMIT_"):
        show(name, resource.getrlimit(getattr(resource, name)))
show("priority", (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0),
                  os.sched_getscheduler(0)))
show("oom", read("/proc/self/oom_score_adj"))
for line in read("/proc/self/status").decode().splitlines():
    name, _, value = line.partition(":")
    if name in ("State", "TracerPid", "FDSize", "NStgid", "NSpid", "Threads",
                "CapEff", "CapBnd", "NoNewPrivs", "Seccomp",
                "Seccomp_filters", "ShdPnd", "SigPnd", "SigBlk", "SigIgn",
                "SigCgt", "Umask", "THP_enabled"):
        show("status " + name, value)
mounts = [line.split(b" ", 2)[2] for line in
          read("/proc/self/mountinfo").splitlines()]
show("mounts", [m.split(b" ", 1)[1] for m in mounts])
show("maps", sorted({line.split(None, 5)[5] for line in
                     read("/proc/self/maps").splitlines()
                     if len(line.split(None, 5)) == 6}))
show("processes", [p for p in listing("/proc") if p.isdigit()])
show("init", read("/proc/1/cmdline").split(b"\0")[5:])
for folder in ("/", "/box", "/tmp", "/dev", "/dev/shm", "/etc",
               "/etc/python3.11"):
    show("folder " + folder, listing(folder))
show("hook", read(sys.modules["sitecustomize"].__file__))
show("source", inspect.getsource(sys.modules["sitecustomize"]))
show("null", (stat.S_ISCHR(os.stat("/dev/null").st_mode), read("/dev/null")))
show("frames", [f.function for f in inspect.stack()])
show("room", [(os.statvfs(p).f_blocks, os.statvfs(p).f_files)
              for p in ("/box", "/tmp", "/dev/shm")])
show("zone", time.tzname)
