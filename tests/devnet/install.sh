#!/bin/sh
# Installs the npm packages that tests need, only where they are missing or not those of the lock file.
#   install.sh [devnet|discovery|mcp|solc|v1|browser ...]      default: devnet
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# The seconds are for a first installation with a good connection; they are only said, never waited for.
place() {
    case $1 in
    devnet) dir=$here seconds=20 ;;
    discovery) dir=$here/../clients/discovery seconds=20 ;;
    solc) dir=$here/solc seconds=5 ;;
    v1) dir=$here/../clients/v1 seconds=30 ;;
    mcp) dir=$here/../clients/mcp seconds=10 ;;
    browser) dir=$here/../clients/browser seconds=5 ;;
    *)
        echo "usage: install.sh [devnet|discovery|mcp|solc|v1|browser ...]" >&2
        exit 2
        ;;
    esac
}

install_one() {
    place "$1"
    (
        # Two suites that start together must not install over each other. The lock is the folder itself: no file is left.
        exec 9<"$dir"
        flock 9
        stamp=$dir/node_modules/.installed-lock
        wanted=$(sha256sum <"$dir/package-lock.json")
        if [ "$(cat "$stamp" 2>/dev/null || true)" = "$wanted" ]; then
            exit 0
        fi
        echo "install: npm packages for $1 (may take $seconds seconds)" >&2
        cd "$dir"
        npm ci --no-audit --no-fund --ignore-scripts --prefer-offline --no-update-notifier --logs-max=0 --loglevel=error >&2
        printf '%s\n' "$wanted" >"$stamp"
    )
}

[ $# -gt 0 ] || set -- devnet
for name in "$@"; do
    place "$name"
done
for name in "$@"; do
    install_one "$name"
done
