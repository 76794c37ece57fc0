#!/bin/bash
# `make demo`: from a fresh clone to a paid run and back, in one go. Installs
# what is missing, builds, starts everything on free ports, pays, shows and
# checks what came, stops, and looks for anything left behind.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${TOLLBOX_TEST_B:-build}
# The caller's make must not lend its job server to ours.
unset MAKEFLAGS MFLAGS MAKELEVEL
# The demo shows its own chain, whatever is set for `make run`.
for name in $(compgen -e TOLLBOX_ || true); do
	unset "$name"
done
export TOLLBOX_TEST_B=$build

step() {
	printf '\n== %s\n' "$1"
	shift
	local begin=$SECONDS
	"$@"
	printf '   (%d s)\n' $((SECONDS - begin))
}

compile() {
	make -C "$root" --no-print-directory B="$build" -j"$(nproc)" all |
		sed -u 's/^/    /'
}

step 'packages' "$here/deps.sh" demo
step 'build' compile
exec node "$here/demo.mjs"
