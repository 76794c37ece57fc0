#!/bin/bash
# make test-cgroup2: the box on a kernel where cgroup v2 is all there is, as on
# a stock Debian, whatever this host mounts. The machine is emulated in
# software: no KVM, no root, no network but for Debian packages.
#
#	[B=build] [CGROUP2_SECONDS=300] tests/cgroup2/run.sh [PART...]
#
#   groups  cgroups and limits by themselves, the service as a whole
#   runs    programs: memory and fork bombs, time, output, ends
#   life    slots, restarts, what is left behind
#   escape  attacks from inside a sandbox
#
# All of them if none is named, each in a machine of its own that is ended after
# CGROUP2_SECONDS. Ends on 'N passed, N failed'; B/cgroup2/console-PART.log has
# all that the machine said. The files here:
#   fetch.sh   qemu, kernel, busybox      into build/cgroup2/machine, once
#   image.sh   programs and runtimes      into B/cgroup2/image
#   init       the machine's first step   guest.sh   and all others
#   test_wall.c, rules.mk                 a test that runs nowhere else
set -eu -o pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
machine=build/cgroup2/machine
out=$B/cgroup2
seconds_most=${CGROUP2_SECONDS:-300}
passed=0
failed=0
qemu=

[ $# -gt 0 ] || set -- groups runs life escape
if [ "$(uname -m)" != x86_64 ]; then
	echo 'cgroup2: the test machine is an x86_64 and runs programs of this host' >&2
	exit 1
fi

# In the background, so that a signal to this script ends qemu at once.
stop() {
	[ -z "$qemu" ] || kill "$qemu" 2>/dev/null || true
	rm -f "$out/swap" "$out/image"
}
trap stop EXIT
trap 'exit 1' INT TERM HUP

# boot PART. The machine's clock counts its instructions (4 ns each) and skips
# what it would idle: however slow or busy this host is, the tests see a machine
# of the same speed, so none of their times is a matter of luck.
boot() {
	local log=$out/console-$1.log rc=0 began=$SECONDS line=
	rm -f "$log"
	truncate -s 256M "$out/swap"
	LD_LIBRARY_PATH=$machine/usr/lib/x86_64-linux-gnu:$machine/lib/x86_64-linux-gnu \
		timeout -k 5 "$seconds_most" \
		"$machine/usr/bin/qemu-system-x86_64" \
		-L "$machine/usr/share/qemu" -L "$machine/usr/share/seabios" \
		-M q35 -accel tcg -icount shift=2,sleep=off -cpu max -smp 1 \
		-m 1024 -nodefaults -display none -no-reboot \
		-serial "file:$log" \
		-drive "if=none,id=swap,format=raw,file=$out/swap" \
		-device nvme,drive=swap,serial=swap \
		-kernel "$machine"/boot/vmlinuz-* -initrd "$out/image" \
		-append "console=ttyS0 panic=-1 mitigations=off quiet part=$1" \
		</dev/null &
	qemu=$!
	wait "$qemu" || rc=$?
	qemu=
	line=$(tr -d '\r' <"$log" 2>/dev/null |
		grep -E '^[0-9]+ passed, [0-9]+ failed$' | tail -n 1) || true
	# Whoever does not come to the end has failed, however well it began.
	if [ "$rc" -ne 0 ] || [ -z "$line" ]; then
		echo "cgroup2: the machine did not end in order (status $rc)"
		line='0 passed, 1 failed'
	fi
	[[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+) ]]
	passed=$((passed + BASH_REMATCH[1]))
	failed=$((failed + BASH_REMATCH[2]))
	if [ "${BASH_REMATCH[2]}" -gt 0 ]; then
		cat "$log"
	else
		grep -E '^(== |ok |   )' "$log" || true
	fi
	printf '%s: %s (%d s, %s)\n' "$1" "$line" $((SECONDS - began)) "$log"
}

make -j"$(nproc)" -f tests/cgroup2/rules.mk B="$B" cgroup2-programs
tests/cgroup2/fetch.sh "$machine"
mkdir -p "$out"
tests/cgroup2/image.sh "$B" "$machine" "$out/image"
for part in "$@"; do
	boot "$part"
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
