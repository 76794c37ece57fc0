#!/bin/bash
# make test-cgroup2: the box's tests on a kernel where cgroup v2 is all there
# is, as on a stock Debian or Ubuntu, whatever this host mounts. The machine is
# emulated in software: no KVM, no root, no network but for Debian packages.
#
#	[B=build] tests/cgroup2/run.sh
#
#   fetch.sh   qemu, kernel, busybox       into build/cgroup2/machine, once
#   image.sh   programs and runtimes       into B/cgroup2/image
#   init       the machine's first steps   guest.sh   what is tested, there
#
# Ends on 'N passed, N failed'; B/cgroup2/console.log is the whole console.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
machine=build/cgroup2/machine
image=$B/cgroup2/image
console=$B/cgroup2/console.log
seconds_most=300

if [ "$(uname -m)" != x86_64 ]; then
	echo 'cgroup2: the machine can only be an x86_64, as is this host not' >&2
	exit 1
fi
make -j"$(nproc)" B="$B" all "$B"/tests/escape/box \
	"$B"/tests/unit/box/test_{cgroup,boxer}
tests/cgroup2/fetch.sh "$machine"
mkdir -p "$B/cgroup2"
tests/cgroup2/image.sh "$B" "$machine" "$image"

# In the background, so that a signal to this script ends qemu at once.
libs=$machine/usr/lib/x86_64-linux-gnu:$machine/lib/x86_64-linux-gnu
: >"$console"
LD_LIBRARY_PATH=$libs timeout -k 5 "$seconds_most" \
	"$machine/usr/bin/qemu-system-x86_64" -L "$machine/usr/share/qemu" \
	-L "$machine/usr/share/seabios" -M q35 -accel tcg -cpu max -smp 1 \
	-m 1024 -nodefaults -display none -serial "file:$console" -no-reboot \
	-kernel "$machine"/boot/vmlinuz-* -initrd "$image" \
	-append 'console=ttyS0 panic=-1 mitigations=off quiet' </dev/null &
qemu=$!
trap 'kill "$qemu" 2>/dev/null || true' EXIT
trap 'exit 1' INT TERM HUP
rc=0
wait "$qemu" || rc=$?
