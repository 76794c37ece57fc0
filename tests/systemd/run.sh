#!/bin/bash
# make test-systemd: the package under a real systemd, on a kernel with cgroup v2,
# in the machine of ../cgroup2 (qemu in software, no network).
#   run.sh [BUILD]     ends on 'N passed, N failed'
# Root, to install the package in a clean system (../install/base.sh), which
# becomes the machine's. SYSTEMD_SECONDS=1800 are the most it may take. All that it
# said: BUILD/systemd/console.log.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
build=${1:-build}
base=$PWD/build/install/base
machine=build/cgroup2/machine
log=$build/systemd/console.log
work=

finish() {
	[ -z "$work" ] || rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM HUP

[ "$(id -u)" -eq 0 ] || {
	echo 'systemd: needs root, to install packages in a system of its own' >&2
	exit 1
}
version=$(dpkg-parsechangelog -S Version)
tests/devnet/install.sh devnet
tests/install/base.sh "$base"
tests/cgroup2/fetch.sh "$machine"
mkdir -p "$build/systemd" build/install/archives
work=$(mktemp -d build/install/systemd.XXXXXX)
work=$(realpath "$work")
chmod 755 "$work"
mkdir -p "$work"/{upper,overlay,root,share}
packaging/deb.sh "$work/share" >"$work/share/package"
packaging/deb.sh "$work/share" "$version+upgrade1" >/dev/null
sed -i 's|^.*/|/mnt/share/|' "$work/share/package"
echo "$version" >"$work/share/version"
cp "$here"/{prepare,guest}.sh "$here/init" tests/install/common.sh \
	tests/install/buyer.mjs tests/harness/webcrypto.mjs \
	"$machine/bin/busybox" "$work/share"
unshare --mount --pid --fork --kill-child --propagation private \
	tests/install/enter.sh "$base" "$work" "$PWD" prepare.sh </dev/null

# See ../cgroup2/run.sh for the clock.
rm -f "$log"
rc=0
LD_LIBRARY_PATH=$machine/usr/lib/x86_64-linux-gnu:$machine/lib/x86_64-linux-gnu \
	timeout -k 5 "${SYSTEMD_SECONDS:-1800}" \
	"$machine/usr/bin/qemu-system-x86_64" \
	-L "$machine/usr/share/qemu" -L "$machine/usr/share/seabios" \
	-M q35 -accel tcg -icount shift=2,sleep=off -cpu max -smp 1 -m 4096 \
	-nodefaults -display none -no-reboot -serial "file:$log" \
	-kernel "$machine"/boot/vmlinuz-* -initrd "$work/share/image" \
	-append 'console=ttyS0 panic=-1 mitigations=off quiet' </dev/null || rc=$?
tr -d '\r' <"$log" | grep -vE '^\[ *[0-9.]+\]' || true
tr -d '\r' <"$log" | grep -qE '^[0-9]+ passed, 0 failed$' && [ "$rc" -eq 0 ]
