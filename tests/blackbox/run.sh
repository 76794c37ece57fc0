#!/bin/bash
# The black-box tests: real nginx with the shipped files, the daemon, a real
# chain and facilitator, the released clients. Ends on "N passed, N failed".
#   run.sh [--keep] [PREFIX ...]     PREFIX: beginnings of files' names
# TOLLBOX_TEST_B names the build folder (build/asan, for instance).
set -euo pipefail
umask 022 # what is made here is for other users' eyes too
here=$(cd "$(dirname "$0")" && pwd)
"$here/../devnet/install.sh" devnet discovery mcp v1 browser
# Settings of the caller's own stack are not for this one.
for name in $(compgen -e TOLLBOX_ || true); do
	[[ $name == TOLLBOX_TEST_* ]] || unset "$name"
done
exec node "$here/run.mjs" "$@" </dev/null
