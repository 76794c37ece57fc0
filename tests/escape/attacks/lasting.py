"""Sockets that would have the kernel wait when they are closed: it closes those
that lie unread in each other, by one thread for all of the host."""

import errno
import os
import select
import socket
import struct
import time

from probe import check, child, done


def pair():
    """A connection that lingers, with more on its way than ever is read."""
    with socket.create_server(("127.0.0.1", 0)) as s:
        a = socket.create_connection(s.getsockname())
        b = s.accept()[0]
    a.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 12))
    a.setblocking(False)
    try:
        while True:
            a.send(bytes(1 << 16))
    except BlockingIOError:
        pass
    return a.detach(), b.detach()


def send(x, fds):
    # What is on its way counts for the user, who has other sandboxes too.
    until = time.monotonic() + 10
    while True:
        try:
            return socket.send_fds(x, [b"x"], fds)
        except OSError as e:
            if e.errno != errno.ETOOMANYREFS or time.monotonic() > until:
                raise
            time.sleep(0.05)


def leave(held):
    # In which order they are closed is the kernel's choice.
    for i in range(8):
        a, b = pair()
        x, y = socket.socketpair()
        ends = [a, b] if i % 2 == 0 else [b, a]
        send(x, [x.fileno(), y.fileno(), held, *ends, held])


for i in range(4):
    read, write = os.pipe()
    code = child(lambda write=write: leave(write))
    os.close(write)
    until, gone = time.monotonic() + 10, False
    while not gone and time.monotonic() < until:
        # The kernel looks for such sockets when one is closed.
        for s in socket.socketpair():
            s.close()
        gone = bool(select.select([read], [], [], 0.1)[0])
    check(code == 0 and gone, f"let go, {i}", "" if gone else "still open")
    os.close(read)
    if not gone:
        break
done()
