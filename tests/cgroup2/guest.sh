#!/bin/bash
# The test machine's whole life, as its first process: mounts, the tests, a
# last line 'N passed, N failed', power off. If it dies before, the kernel
# panics and that line is never said.
set -u
export PATH=/usr/bin:/usr/sbin LANG=C.UTF-8
cd /tollbox || exit 1
top=/sys/fs/cgroup
passed=0
failed=0

mounts() {
	/bin/busybox --install -s 2>/dev/null
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs devtmpfs /dev
	mkdir -p /dev/pts /dev/shm
	mount -t devpts devpts /dev/pts
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	mount -t cgroup2 cgroup2 "$top"
	ifconfig lo up
}

# check NAME COMMAND...: one check, passed if the command succeeds.
check() {
	local name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
		printf 'ok    %s\n' "$name"
	else
		failed=$((failed + 1))
		printf 'FAIL  %s\n' "$name"
	fi
}

# Run a program as a service manager runs a unit with Delegate=yes: alone in a
# cgroup of its own that is not the top one.
in_unit() (
	echo "$BASHPID" >"$top/unit/cgroup.procs" || exit 125
	exec "$@"
)

# suite NAME COMMAND...: a cmocka program; all that it says goes to the console.
suite() {
	local name=$1 log=/run/suite.log rc ok bad
	shift
	printf '== %s (%d s)\n' "$name" "$SECONDS"
	"$@" >"$log" 2>&1 </dev/null
	rc=$?
	cat "$log"
	ok=$(grep -c '^\[       OK \]' "$log")
	bad=$(grep -cE '^\[  (FAILED|ERROR)  \] [a-z_0-9]+$' "$log")
	if [ "$bad" -eq 0 ] && { [ "$rc" -ne 0 ] || [ "$ok" -eq 0 ]; }; then
		bad=1
	fi
	printf '   %s: passed %d, failed %d, status %d\n' "$name" "$ok" "$bad" "$rc"
	passed=$((passed + ok))
	failed=$((failed + bad))
}

mounts
build=$(<build-folder)
unit=$top/unit
mkdir "$unit"
echo '+memory +pids +cpu' >"$top/cgroup.subtree_control"
suite "test_wall" in_unit "$build/tests/unit/cgroup2/test_wall"
suite "test_boxer_life" in_unit "$build/tests/unit/box/test_boxer_life"
cat $unit/cgroup.stat
printf '%d passed, %d failed\n' "$passed" "$failed"
poweroff -f
