#!/bin/bash
# shellcheck disable=SC2317 # checks are functions called by name
# The test machine's whole life, as its first process: mounts, the tests of one
# part, a last line 'N passed, N failed', power off. If it dies before, the
# kernel panics and that line is never said.
set -u
export PATH=/usr/bin:/usr/sbin LANG=C.UTF-8
cd /tollbox || exit 1
build=$(<build-folder)
top=/sys/fs/cgroup
unit=$top/unit
passed=0
failed=0

mounts() {
	/usr/bin/busybox --install -s 2>/dev/null
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs devtmpfs /dev
	mkdir -p /dev/pts /dev/shm
	ln -s /proc/self/fd /dev/fd
	mount -t devpts devpts /dev/pts
	mount -t tmpfs -o mode=1777 tmpfs /dev/shm
	mount -t tmpfs -o mode=1777 tmpfs /tmp
	mount -t cgroup2 cgroup2 "$top"
	ifconfig lo up
	# A way out that an attack finds which should find none.
	route add -net 192.0.2.0 netmask 255.255.255.0 dev lo
	mkdir "$unit"
	echo '+memory +pids +cpu' >"$top/cgroup.subtree_control"
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

# soon COMMAND...: it succeeds within half a minute.
soon() {
	local until=$((SECONDS + 30))
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.2
	done
}

# Become a program as a service manager starts a unit with Delegate=yes: alone
# in a cgroup of its own that is not the top one.
in_unit() {
	echo "$BASHPID" >"$unit/cgroup.procs" || exit 125
	exec "$@"
}
is_bare() {
	[ "$(find "$top" -mindepth 1 -type d)" = "$unit" ] &&
		[ -z "$(cat "$unit/cgroup.procs")" ]
}
# Nothing is left of what ran; if it is, the next one shall not suffer.
check_bare() {
	check "$1 leaves no cgroup" is_bare
	is_bare && return
	find "$top" -mindepth 1 -type d
	echo 1 >"$unit/cgroup.kill"
	sleep 1
	find "$top" -mindepth 1 -depth -type d -exec rmdir {} +
	mkdir -p "$unit"
}

# suite NAME COMMAND...: a cmocka program; all that it says goes to the console.
suite() {
	local name=$1 log=/run/suite.log rc ok bad
	shift
	printf '== %s (after %d s)\n' "$name" "$SECONDS"
	("$@") >"$log" 2>&1 </dev/null
	rc=$?
	cat "$log"
	ok=$(grep -c '^\[       OK \]' "$log")
	# cmocka lists the failed ones once more at the end.
	bad=$(sed -nE 's/^\[  FAILED  \] ([a-z_0-9]+)$/\1/p' "$log" | sort -u | wc -l)
	if [ "$bad" -eq 0 ] && { [ "$rc" -ne 0 ] || [ "$ok" -eq 0 ]; }; then
		bad=1
	fi
	printf '   %s: passed %d, failed %d\n' "$name" "$ok" "$bad"
	passed=$((passed + ok))
	failed=$((failed + bad))
	check_bare "$name"
}

# ---- the service ----

socket=/run/tollbox.sock
settings=/run/tollbox.conf

write_settings() {
	cat >"$settings" <<-EOF
		[service]
		name = guest
		listen = $socket
		state_dir = /run/state
		[sandbox]
		init = /tollbox/$build/sandbox-init
		runtimes_dir = /tollbox/sandbox-scripts
		[site]
		public_url = https://localhost
		network = eip155:8453
		asset = 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913
		asset_name = USD Coin
		asset_version = 2
		asset_decimals = 6
		pay_to = 0x209693Bc6afc0C5328bA36FaF03C514EF312287C
		[facilitator:default]
		url = http://127.0.0.1:9
	EOF
}

health() {
	REQUEST_METHOD=GET REQUEST_URI=/health SCRIPT_NAME=/health \
		SERVER_PROTOCOL=HTTP/1.1 \
		cgi-fcgi -bind -connect "$socket" </dev/null 2>&1
}
healthy() {
	grep -q '"status":"ok".*"memoryLimit":"cgroup2"' <<<"$(health)"
}
# Processes of the service: super, gate, boxer.
members() {
	cat "$unit/guest/main/cgroup.procs" 2>/dev/null
}
boxer() {
	local pid
	for pid in $(members); do
		if [ "$(stat -c %U "/proc/$pid")" = tollbox-run ]; then
			echo "$pid"
		fi
	done
}
other_boxer() {
	[ "$(boxer)" != "$1" ] && healthy
}
all_in_main() {
	[ "$(members | wc -l)" -eq 3 ] && [ -z "$(cat "$unit/cgroup.procs")" ]
}

# A cgroup that holds others cannot be divided. The service must say so, not
# run without limits.
crowded() {
	local other status
	in_unit sleep 600 &
	other=$!
	soon grep -q . "$unit/cgroup.procs"
	(in_unit "$build/tollbox" serve -c "$settings") >/run/crowded.log 2>&1
	status=$?
	kill "$other"
	wait "$other" 2>/dev/null
	sed 's/^/. /' /run/crowded.log
	[ "$status" -eq 1 ] && grep -q 'Delegate=yes' /run/crowded.log
}

service() {
	local daemon old status
	write_settings
	"$build/tollbox" check -c "$settings" >/run/check.log
	sed 's/^/. /' /run/check.log
	check 'tollbox check takes cgroup2' \
		grep -q '^ok *memory limit: cgroup2$' /run/check.log
	check 'tollbox check runs every runtime' \
		grep -q '^ok *runtime: python3: said hello' /run/check.log
	in_unit "$build/tollbox" serve -c "$settings" &
	daemon=$!
	check 'the service answers' soon healthy
	health
	echo
	check 'its processes are in the leaf' all_in_main
	old=$(boxer)
	kill -KILL "$old"
	check 'a killed boxer comes back' soon other_boxer "$old"
	check 'in the leaf' all_in_main
	kill -TERM "$daemon"
	wait "$daemon"
	status=$?
	check "it stops in order, status $status" [ "$status" -eq 0 ]
	check_bare 'the service'
	check 'beside another process it refuses to start' crowded
	check_bare 'the refused service'
}

# ---- parts ----

# unit_test NAME HOW [in_unit]
unit_test() {
	local name=$1 how=$2
	shift 2
	suite "test_$name$how" "$@" "$build/tests/unit/box/test_$name"
}

part_groups() {
	unit_test cgroup '' in_unit
	unit_test cgroup ' from the top cgroup'
	# A limit of memory alone would only make a run swap.
	mkswap /dev/nvme0n1 >/dev/null
	check 'swap space' swapon /dev/nvme0n1
	unit_test cgroup ' with swap' in_unit
	swapoff /dev/nvme0n1
	suite test_wall in_unit "$build/tests/unit/cgroup2/test_wall"
	service
	unit_test work '' in_unit
	unit_test filter '' in_unit
	unit_test host '' in_unit
}

part_runs() {
	unit_test boxer '' in_unit
	unit_test weight '' in_unit
}

part_life() {
	unit_test boxer_life '' in_unit
	cat "$unit/cgroup.stat"
}

part_escape() {
	# The attacks; the faults' limits of time are not for an emulator.
	tests/escape/attacks.sh "$build" >/run/escape.log 2>&1
	cat /run/escape.log
	[[ $(tail -n 1 /run/escape.log) =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]
	check 'the attacks come to an end' [ "${BASH_REMATCH[1]:-0}" -gt 0 ]
	passed=$((passed + ${BASH_REMATCH[1]:-0}))
	failed=$((failed + ${BASH_REMATCH[2]:-0}))
}

mounts
uname -sr
"part_$(sed -nE 's/.*\bpart=([a-z]+).*/\1/p' /proc/cmdline)"
dmesg -n 1
printf '\n%d passed, %d failed\n' "$passed" "$failed"
poweroff -f
