"""No network: no family but three, nobody to reach with those."""

import errno
import socket
import sys

from probe import check, done, refused, syscall, text

SOCKET = 41
host_port, host_abstract, host_path = int(sys.argv[1]), sys.argv[2], sys.argv[3]

for family in range(0, 47):
    try:
        syscall(SOCKET, family, socket.SOCK_DGRAM, 0)
    except OSError as e:
        if family in (1, 2, 10) or e.errno != errno.EAFNOSUPPORT:
            check(False, f"socket family {family}", text(e.errno))
            continue
    else:
        if family not in (1, 2, 10):
            check(False, f"socket family {family}", "made")
            continue
check(True, "socket families: only unix, inet, inet6")
refused("vsock with rubbish in the upper half", lambda: syscall(SOCKET, (1 << 32) | 40, 1, 0), errno.EAFNOSUPPORT)
refused("netlink with rubbish in the upper half", lambda: syscall(SOCKET, (1 << 32) | 16, 3, 0), errno.EAFNOSUPPORT)
INET, INET6, PROTO, TYPE = socket.AF_INET, socket.AF_INET6, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT
# Whatever is not known has the host's root run modprobe: none of it gets there.
for family in (INET, INET6):
    for kind, own in ((socket.SOCK_STREAM, 6), (socket.SOCK_DGRAM, 17)):
        for protocol in (0, own):
            syscall(SOCKET, family, kind, protocol)
        for protocol in (1, 2, 23 - own, 33, 58, 132, 136, 200, 262, 0x7FFFFFFF, (1 << 32) | 132):
            refused(f"protocol {protocol}, type {kind}, family {family}", lambda: syscall(SOCKET, family, kind, protocol), PROTO)
    for kind in (0, 4, 5, 6, 7, 9, 10, 5 | socket.SOCK_CLOEXEC):
        refused(f"type {kind}, family {family}", lambda: syscall(SOCKET, family, kind, 0), TYPE)
    refused(f"raw socket without a protocol, family {family}", lambda: syscall(SOCKET, family, 3, 0), errno.EPERM)
for family in (0, 2, 3, 4, 10, 16, 30):
    refused(f"pair of family {family}", lambda: syscall(53, family, 1, 0, bytes(8)), errno.EAFNOSUPPORT)
for name, request in {"bridge": 0x8940, "new bridge": 0x89A0, "vlan": 0x8982, "dlci": 0x8980}.items():
    with socket.socket(INET, socket.SOCK_DGRAM) as s:
        refused(f"ioctl: {name}", lambda: syscall(16, s.fileno(), request, bytes(64)), errno.EPERM)
with socket.socket(INET, socket.SOCK_STREAM) as s:
    refused("key for TCP", lambda: s.setsockopt(6, 38, bytes(256)), errno.ENOPROTOOPT)
refused("raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1), errno.EPERM)


def connect(family, kind, address):
    with socket.socket(family, kind) as s:
        s.settimeout(3)
        s.connect(address)
        s.send(b"x")


gone = (errno.ENETUNREACH, errno.EHOSTUNREACH)
refused("tcp outward", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)), *gone)
refused("udp outward", lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)), *gone)
refused("tcp6 outward", lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 80)), *gone)
refused("cloud metadata", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)), *gone)
refused("the host's loopback", lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", host_port)), errno.ECONNREFUSED)
refused("the host's abstract socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + host_abstract), errno.ECONNREFUSED)
refused("the host's unix socket", lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, host_path), errno.ENOENT)
refused("name lookup", lambda: socket.getaddrinfo("example.com", 80))
names = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
check(names == ["lo"], "interfaces", " ".join(names))

# What must go on working: a server of its own.
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname()) as c:
        c.sendall(b"hi")
        check(server.accept()[0].recv(2) == b"hi", "its own loopback works")
done()
