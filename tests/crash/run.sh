#!/bin/bash
# Crash tests: kills at every fault point of a payment's way, in a build that
# has them (make points). Ends on "N passed, N failed".
#   run.sh [--long] [--seed N]
# SECONDS_LEFT is how long new kills are begun (0: until there are enough).
set -euo pipefail
umask 022 # what is made here is for other users' eyes too
here=$(cd "$(dirname "$0")" && pwd)
"$here/../devnet/install.sh" devnet
# Settings of the caller's own stack are not for this one.
for name in $(compgen -e TOLLBOX_ || true); do
	[[ $name == TOLLBOX_TEST_* ]] || unset "$name"
done
export TOLLBOX_TEST_B=build/points
exec node "$here/crash.mjs" "$@" </dev/null
