"""What must go on working inside (sandbox-facts.md 8)."""

import asyncio
import multiprocessing
import os
import pwd
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import shared_memory

from probe import check, done


def square(x):
    return x * x


if __name__ == "__main__":
    check(open("/box/main.py").readline().startswith('"""What'), "its own source")
    check(subprocess.check_output(["echo", "é 你 😀"], text=True) == "é 你 😀\n", "subprocess")
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            check(pool.map(square, [1, 2, 3]) == [1, 4, 9], f"multiprocessing {method}")
    shm = shared_memory.SharedMemory(create=True, size=1 << 16)
    shm.buf[0] = 7
    again = shared_memory.SharedMemory(shm.name)
    check(again.buf[0] == 7, "shared memory")
    again.close()
    shm.close()
    shm.unlink()

    async def both():
        process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
        return (await process.communicate(b"async"))[0]

    check(asyncio.run(both()) == b"async", "asyncio")
    db = sqlite3.connect("/box/x.db")
    db.execute("create table t (a)")
    db.execute("insert into t values (5)")
    db.commit()
    check(db.execute("select a from t").fetchone() == (5,), "sqlite")
    result = []
    threads = [threading.Thread(target=lambda: result.append(1)) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(len(result) == 20, "threads")
    with tempfile.TemporaryDirectory() as folder:
        check(folder.startswith("/tmp/"), "temporary folder", folder)
    check(pwd.getpwuid(os.getuid()).pw_name == "sandbox", "user name")
    check(socket.gethostbyname("localhost") == "127.0.0.1", "localhost")
    check(time.tzname[0] == "UTC", "time zone", time.tzname[0])
    check(sys.getfilesystemencoding() == "utf-8", "utf-8")
    check(len(os.urandom(8)) == 8, "random numbers")
    done()
