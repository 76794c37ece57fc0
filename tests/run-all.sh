#!/bin/bash
# make test: builds, then every suite, some of them side by side, each in its
# own log, and one sum at the end. A suite counts by its own line
# 'N passed, N failed'; one without such a line is one check by itself.
set -u
umask 022 # what is made here is for other users' eyes too
cd "$(dirname "$0")/.." || exit 1
logs=$(mktemp -d)
cores=$(nproc)
# Most suites wait more than they compute.
lanes=$((cores + 1))
passed=0
failed=0
declare -A name_of=() began_at=() log_of=()

stop() {
	local pid
	for pid in "${!name_of[@]}"; do
		kill "$pid" 2>/dev/null
	done
	rm -rf "$logs"
}
trap stop EXIT
trap 'exit 1' INT TERM

# What a log says of failures: they come once more at the end of all, where
# who sees a part of the output only sees them.
failures() {
	grep -aE -A 12 "^(FAIL|not ok)|\[  (ERROR   |FAILED  )\]|error:|FAILED" \
		"$1" | head -n 100
}

# finish PID: the suite's line; all that it said if it failed.
finish() {
	local name=${name_of[$1]} log=${log_of[$1]} t=$((SECONDS - began_at[$1]))
	local rc line p f
	wait "$1"
	rc=$?
	unset "name_of[$1]" "began_at[$1]" "log_of[$1]"
	line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	p=$(sed -nE 's/^([0-9]+) passed.*/\1/p' <<<"$line")
	f=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' <<<"$line")
	p=${p:-0}
	f=${f:-0}
	if [ -z "$line" ] && [ "$rc" -eq 0 ]; then p=1; fi
	if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
	if [ "$f" -gt 0 ]; then
		cat "$log"
		printf -- '-- %s\n%s\n' "$name" "$(failures "$log")" >>"$logs/failures"
	fi
	printf '== %s: passed %d, failed %d (%d s)\n' "$name" "$p" "$f" "$t"
	passed=$((passed + p))
	failed=$((failed + f))
}

# Wait until fewer than $1 suites run, and say now and then how far they are.
settle() {
	local pid ticks=0
	while [ ${#name_of[@]} -ge "$1" ]; do
		for pid in "${!name_of[@]}"; do
			kill -0 "$pid" 2>/dev/null || finish "$pid"
		done
		[ ${#name_of[@]} -ge "$1" ] || break
		sleep 1
		ticks=$((ticks + 1))
		[ $((ticks % 30)) -eq 0 ] || continue
		for pid in "${!name_of[@]}"; do
			printf '   … %s, %d s: %s\n' "${name_of[$pid]}" \
				"$((SECONDS - began_at[$pid]))" \
				"$(tail -n 1 "${log_of[$pid]}" | cut -c1-90)"
		done
	done
}

# suite NAME COMMAND…: begin it as soon as a lane is free.
suite() {
	local name=$1 pid
	shift
	settle "$lanes"
	printf '   … %s begins\n' "$name"
	"$@" >"$logs/${name//[^A-Za-z0-9]/-}" 2>&1 </dev/null &
	pid=$!
	name_of[$pid]=$name
	began_at[$pid]=$SECONDS
	log_of[$pid]=$logs/${name//[^A-Za-z0-9]/-}
}

# alone NAME COMMAND…: the same with nothing beside it.
alone() {
	settle 1
	suite "$@"
	settle 1
}

build_all() {
	make -j"$cores" all build/tests/bench/bin/bench &&
		make -j"$cores" points &&
		make -j"$cores" B=build/asan SAN=address,undefined all
}

blackbox() {
	tests/blackbox/run.sh "$@"
}

tests/harness/deps.sh test || exit 1
alone 'builds' build_all
[ "$failed" -eq 0 ] || exit 1
# The longest first.
suite 'black box, 10 to 75' blackbox 1 2 3 4 5 6 7
suite 'black box, 80 to 99' blackbox 8 9
suite 'lint' tests/lint/run.sh
suite 'unit tests, ASan and UBSan' make -j"$cores" asan
suite 'unit tests' make -j"$cores" unit
# The files that between them run most of our code: bodies, runs, streams,
# stored answers, receipts. The others would take the time that is left.
suite 'black box, ASan and UBSan' env TOLLBOX_TEST_B=build/asan tests/blackbox/run.sh \
	20 40 50 55 60 75 80 85
suite 'kills at each step of a payment, a sample' make crash
suite 'sandbox escape attempts' make escape
suite 'local chain and facilitator' node tests/devnet/selftest.mjs
suite 'token bytecode equals its source' node tests/devnet/token/compile.mjs --check
suite 'the bench measures' make bench ARGS='latency path --runtime bash --n 2'
settle 1
[ ! -e "$logs/failures" ] || cat "$logs/failures"
printf 'all suites took %d s\n' "$SECONDS"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
