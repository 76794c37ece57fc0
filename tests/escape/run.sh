#!/bin/bash
# The attack suite.
#
#	tests/escape/run.sh [BUILD]
#
# First attacks.sh: programs that try to get out, against the sandbox alone.
# Then the faults of sandbox-faults.md (faults/*.case, see case.h) against a
# real boxer: with warm sandboxes; without rlimits and without cgroup, those
# that hold all the same. A table of all faults comes last.
#
# A runtime that is missing is a failure; TOLLBOX_TEST_STRICT=0 skips it.
# LOOPS=N runs everything N times with the faults at once, cold and warm in
# turn, and looks for what grows. VERBOSE=1 names what passes.
set -u
umask 022 # what is made here is for other users' eyes too
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$(realpath "${1:-${B:-$top/build}}")
loops=${LOOPS:-1}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0
failed=0
strict=()
[ "${TOLLBOX_TEST_STRICT:-1}" = 1 ] || strict=(-s)
# It holds on to what was freed, which looks like a leak of the service.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=4"

count() {
	if [ "$1" = ok ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		shift
		printf 'FAIL %s\n' "$*"
	fi
}

# suite TITLE COMMAND...: its lines go on, but for those that passed, into the
# log too; its sum is added.
suite() {
	local title=$1 p=0 f=1 line
	shift
	printf '%s\n' "-- $title"
	while IFS= read -r line; do
		printf '%s\n' "$line" >>"$log"
		if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
			p=${BASH_REMATCH[1]}
			f=${BASH_REMATCH[2]}
		fi
		[[ $line == ok* && -z ${VERBOSE:-} ]] || printf '%s\n' "$line"
	done < <("$@" 2>&1 </dev/null)
	passed=$((passed + p))
	failed=$((failed + f))
}

faults() {
	"$build/tests/escape/bin/faults" -v "${strict[@]}" "$@" \
		"$top/sandbox-scripts" "$here"/faults/*.case
}

# What stands in elsewhere.txt must be there.
elsewhere() {
	local number file text
	while read -r number file text; do
		[[ $number == [0-9]* ]] || continue
		if grep -qF -e "$text" "$top/$file" 2>/dev/null; then
			count ok
			printf 'ok   fault-%s %s: %s\n' "$number" "$file" "$text" >>"$log"
		else
			count FAIL "fault-$number: no '$text' in $file"
		fi
	done <"$here/elsewhere.txt"
}

# Nothing that decides about a run may look at a clock that can be set.
clocks() {
	if grep -nE 'CLOCK_REALTIME|gettimeofday|[^_]time\(NULL' \
		"$top"/fcgi/box/*.c "$top"/sandbox-scripts/*.c; then
		count FAIL 'fault-13-clock-jumps'
	else
		count ok
		echo 'ok   fault-13-clock-jumps no settable clock is asked' >>"$log"
	fi
}

# The attempts of attacks.sh that are a fault's case.
declare -A attempt=([14]='itself: +limit' [20]='itself: +first to go'
	[27]='itself.*: +descriptors' [43]='no core file' [45]='itself: +/proc'
	[46]='itself: +(/proc|cgroup)' [47]='itself: +(TIOC|controlling)'
	[48]='kernel: +(unshare|clone)' [49]='(x32|int 0x80|upper half)'
	[50]='(vsock|_key|keyctl|io_uring)')
by_attempt() {
	local number
	for number in "${!attempt[@]}"; do
		grep -E "^(ok|FAIL) .*${attempt[$number]}" "$log" |
			sed -E "s/^(ok  |FAIL) +([^:]*): .*/\1 fault-$number attacks: \2/"
	done >"$log.more"
	cat "$log.more" >>"$log"
	rm -f "$log.more"
}

# number, tests, result
table() {
	local n number lines bad names
	printf '%s\n' '-- faults: tests and results (a path names a test of another suite, which is there)'
	for n in $(seq 60); do
		number=$(printf '%02d' "$n")
		lines=$(grep -E "^(ok  |FAIL) fault-${number}[- ]" "$log")
		bad=$(grep -c '^FAIL' <<<"$lines")
		names=$(sed -E 's/^(ok  |FAIL) (fault-[0-9]+-[^ ]+).*/\2/;
			s/^(ok  |FAIL) fault-[0-9]+ //' <<<"$lines" |
			sort -u | paste -sd ';' | sed 's/;/; /g')
		if [ -z "$lines" ]; then
			count FAIL "fault-$number has no test"
		elif [ "$bad" -gt 0 ]; then
			printf '%s  FAIL %3d of %3d  %s\n' "$number" "$bad" \
				"$(wc -l <<<"$lines")" "$names"
		else
			printf '%s  ok   %3d         %s\n' "$number" \
				"$(wc -l <<<"$lines")" "$names"
		fi
	done
}

suite 'attacks' env VERBOSE=1 "$here/attacks.sh" "$build"
suite 'faults' faults -j 3
suite 'faults, without rlimits' env \
	TOLLBOX_TEST_INIT="$build/tests/escape/init-without-rlimits" \
	"$build/tests/escape/bin/faults" -v "${strict[@]}" -w rlimits -j 3 \
	"$top/sandbox-scripts" "$here"/faults/*.case
suite 'faults, without cgroup' faults -w cgroup -j 3
suite 'faults, PID 1 looks slowly' env \
	TOLLBOX_TEST_INIT="$build/tests/escape/init-slow-poll" \
	"$build/tests/escape/bin/faults" -v "${strict[@]}" -j 3 \
	"$top/sandbox-scripts" "$here"/faults/{03,06,32,52}-*.case
if [ "$loops" -gt 1 ]; then
	suite "faults, $loops times at once" faults -l "$loops" -j 6
	suite "faults, cold, $((loops / 4 + 2)) times at once" \
		faults -c -l $((loops / 4 + 2)) -j 6
	for i in $(seq 2 "$loops"); do
		suite "attacks, $i" "$here/attacks.sh" "$build"
	done
fi
elsewhere
clocks
by_attempt
table
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 400 ]
