#!/bin/bash
# make test: every suite one after the other, each in its own log, and one sum
# at the end. A suite counts by its own line 'N passed, N failed'.
set -u
cd "$(dirname "$0")/.." || exit 1
passed=0
failed=0
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
jobs=$(nproc)
began=$SECONDS

# suite NAME COMMAND…: run it, show its closing line, and all of it if it failed.
suite() {
	local name=$1 log rc line p f t=$SECONDS
	shift
	log=$logs/${name//[^a-z0-9]/-}
	printf '== %s\n' "$name"
	"$@" >"$log" 2>&1 </dev/null &
	local pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		if [ $(((SECONDS - t) % 30)) -eq 29 ]; then
			printf '   … %d s: %s\n' "$((SECONDS - t))" "$(tail -n 1 "$log" | cut -c1-100)"
		fi
	done
	wait "$pid"
	rc=$?
	line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	p=$(sed -nE 's/^([0-9]+) passed.*/\1/p' <<<"$line")
	f=$(sed -nE 's/.* ([0-9]+) failed.*/\1/p' <<<"$line")
	p=${p:-0}
	f=${f:-0}
	# A suite without a closing line is one check by itself.
	if [ -z "$line" ] && [ "$rc" -eq 0 ]; then p=1; fi
	if [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
	if [ "$rc" -ne 0 ] || [ "$f" -gt 0 ]; then cat "$log"; fi
	printf '   %s: passed %d, failed %d (%d s)\n' "$name" "$p" "$f" "$((SECONDS - t))"
	passed=$((passed + p))
	failed=$((failed + f))
}

tests/harness/deps.sh test || exit 1
suite 'build' make -j"$jobs" all
suite 'lint' tests/lint/run.sh
suite 'unit tests' make -j"$jobs" unit
suite 'unit tests, ASan and UBSan' make -j"$jobs" asan
suite 'token bytecode equals its source' node tests/devnet/token/compile.mjs --check
suite 'local chain and facilitator' node tests/devnet/selftest.mjs
suite 'sandbox escape attempts' make escape
suite 'black box' make blackbox
suite 'kills at each step of a payment, a sample' make crash
suite 'the bench measures' make bench ARGS='latency path --runtime bash --n 2'
# The files that between them run most of our code: bodies, runs, streams,
# stored answers, receipts. The others would take the time that is left.
suite 'black box, ASan and UBSan' env TOLLBOX_TEST_B=build/asan tests/blackbox/run.sh \
	20 40 50 55 60 75 80 85
printf 'all suites took %d s\n' "$((SECONDS - began))"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
