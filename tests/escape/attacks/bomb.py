"""Fork and thread bombs end at the limit, and nobody survives the run."""

import errno
import os
import signal
import threading
import time

from probe import check, done

for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
    signal.signal(sig, signal.SIG_IGN)

threads = 0
stop = threading.Event()
try:
    for _ in range(500):
        threading.Thread(target=stop.wait, daemon=True).start()
        threads += 1
except RuntimeError:
    pass
# Of the 64 PID 1 is one and this process another.
check(threads == 62, "threads", str(threads))
stop.set()
time.sleep(0.2)

forks = 0
code = 0
for _ in range(500):
    try:
        pid = os.fork()
    except OSError as e:
        code = e.errno
        break
    if pid == 0:
        os.setsid()
        os.close(0)
        while True:
            try:
                os.fork()
            except OSError:
                time.sleep(0.05)
    forks += 1
check(code == errno.EAGAIN, "the bomb's own error", errno.errorcode.get(code, str(code)))
check(0 < forks <= 62, "forks", str(forks))
done()
