#!/bin/bash
# Run unit test programs (cmocka) and add up. Ends on 'N passed, N failed'.
set -u
umask 022 # what is made here is for other users' eyes too
passed=0
failed=0
for t in "$@"; do
	out=$(ASAN_OPTIONS=detect_leaks=1 "$t" 2>&1)
	rc=$?
	ok=$(grep -c '^\[       OK \]' <<<"$out")
	# cmocka lists the failed ones once more at the end: count names once.
	bad=$(sed -nE 's/^\[  FAILED  \] ([a-z_0-9]+)$/\1/p' <<<"$out" | sort -u | wc -l)
	if [ "$rc" -ne 0 ]; then
		[ "$bad" -gt 0 ] || bad=1
		printf '%s\n' "$out"
	fi
	printf '%-44s %3d ok%s\n' "${t##*/unit/}" "$ok" \
		"$([ "$bad" -gt 0 ] && echo ", $bad FAILED")"
	passed=$((passed + ok))
	failed=$((failed + bad))
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
