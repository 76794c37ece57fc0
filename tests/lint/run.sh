#!/bin/bash
# shellcheck disable=SC2317 # steps are functions called by name
# make lint: format, both compilers' warnings, static analysis, structure,
# shell scripts. Prints a line a step; silent about what is right.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
bad=0

step() {
	local name=$1 out
	shift
	out=$(mktemp)
	if "$@" >"$out" 2>&1; then
		printf 'lint  ok    %s\n' "$name"
	else
		printf 'lint  FAIL  %s\n' "$name"
		cat "$out"
		bad=1
	fi
	rm -f "$out"
}

mapfile -t c_files < <(find fcgi sandbox-scripts tests -name node_modules -prune -o \
	-name '*.[ch]' -print | sort)
mapfile -t tidy_files < <(find fcgi sandbox-scripts -name '*.c' | sort)
mapfile -t shells < <(find tests sandbox-scripts packaging debian cgi .ci \
	-name node_modules -prune -o -type f \( -name '*.sh' -o -name '*.cgi' -o \
	-path .ci/run -o -name '*.p[or]*[mt]' \) -print | sort)

tidy() {
	printf '%s\0' "${tidy_files[@]}" |
		xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet --warnings-as-errors='*' \
			2>/dev/null
}

analysis() {
	cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr -j "$(nproc)" \
		--enable=warning,performance,portability -D_GNU_SOURCE -Ifcgi \
		--suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches \
		fcgi sandbox-scripts
}

step 'clang-format' clang-format --dry-run -Werror "${c_files[@]}"
step 'gcc warnings' make -s -j"$(nproc)" all
step 'clang warnings' make -s -j"$(nproc)" B=build/clang CC=clang all
step 'structure' tests/lint/structure.sh build
step 'cppcheck' analysis
step 'clang-tidy' tidy
step 'nginx -t, files as shipped' tests/harness/nginx-check.sh
step 'manual pages' tests/lint/man.sh
step 'shellcheck' shellcheck -x "${shells[@]}"
exit "$bad"
