#!/bin/bash
# Run each fuzz target for some seconds: run.sh SECONDS TARGET… Seeds and old
# crashes are in corpus/NAME; new inputs stay in the build folder.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=$1
shift
passed=0
failed=0
# Folders that stand for a sandbox's are made and emptied all the time.
TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for target in "$@"; do
	name=${target##*/}
	found=build/fuzz/corpus/$name
	mkdir -p "$found"
	seeds=tests/fuzz/corpus/$name
	[ -d "$seeds" ] || seeds=
	printf 'fuzz %s for %s s… ' "$name" "$seconds"
	if "$target" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 \
		-artifact_prefix="build/fuzz/$name-" "$found" ${seeds:+"$seeds"} \
		>"build/fuzz/$name.log" 2>&1; then
		grep -E '^Done' "build/fuzz/$name.log" || echo 'ended well'
		passed=$((passed + 1))
	else
		echo FAILED
		tail -n 30 "build/fuzz/$name.log"
		failed=$((failed + 1))
	fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
