#!/bin/bash
# make test-install: the package as a new operator meets it, in a clean Debian
# with systemd but without a running one, and with Debian's own nginx and
# Node.js. Installed, set up, paid, upgraded, removed and purged by guest.sh; the
# local chain and facilitator run out here.
#   run.sh [BUILD]     ends on 'N passed, N failed'
# Root. The base system is made once, in build/install/base (debootstrap);
# tests see it through an overlay, in mount and process namespaces of their own
# that take all they hold with them.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
build=${1:-build}
base=$PWD/build/install/base
work=
devnet=

finish() {
	[ -z "$devnet" ] || kill "$devnet" 2>/dev/null || true
	[ -z "$work" ] || rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

start_devnet() {
	tests/devnet/install.sh devnet
	setpriv --pdeathsig TERM -- node tests/devnet/devnet.mjs \
		--out "$work/share/devnet.json" >/dev/null </dev/null &
	devnet=$!
	until [ -e "$work/share/devnet.json" ]; do
		kill -0 "$devnet" 2>/dev/null || {
			echo 'install: the local chain did not start' >&2
			exit 1
		}
		sleep 0.1
	done
}

free_port() {
	/usr/bin/python3 - <<-'PYTHON'
		import socket
		s = socket.socket()
		s.bind(("127.0.0.1", 0))
		print(s.getsockname()[1])
	PYTHON
}

[ "$(id -u)" -eq 0 ] || {
	echo 'install: needs root, to install packages in a system of its own' >&2
	exit 1
}
version=$(dpkg-parsechangelog -S Version)
"$here/base.sh" "$base"
work=$(mktemp -d "$(dirname "$base")/test.XXXXXX")
chmod 755 "$work"
mkdir -p "$work"/{upper,overlay,root,share} build/install/archives
packaging/deb.sh "$build/deb" >"$work/share/package"
packaging/deb.sh "$work/share" "$version+upgrade1" >"$work/share/upgrade"
cp "$(cat "$work/share/package")" "$work/share"
cp "$here"/{guest,common}.sh "$here/buyer.mjs" tests/harness/webcrypto.mjs "$work/share"
free_port >"$work/share/port"
echo "$version" >"$work/share/version"
start_devnet
unshare --mount --pid --fork --kill-child --propagation private \
	"$here/enter.sh" "$base" "$work" "$PWD" guest.sh </dev/null
