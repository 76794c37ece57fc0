#!/bin/bash
# The test machine's file system, as an initramfs: the programs under test at
# the same relative paths as here, and what they run.
#   image.sh BUILD MACHINE OUT     MACHINE is what fetch.sh unpacked
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
build=$1
busybox=$2/bin/busybox
out=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# Copy a program or library of this host and what it is linked with.
add() {
	local file
	for file in "$@" $(ldd "$@" 2>/dev/null | grep -oE '/[^ :]+( |$)'); do
		[ ! -e "$root$file" ] || continue
		mkdir -p "$root${file%/*}"
		cp -L "$file" "$root$file"
	done
}

mkdir -p "$root"/{dev,etc,proc,sys,run,tmp,root,newroot,tollbox} \
	"$root"/usr/{bin,sbin,lib,lib64}
for name in bin sbin lib lib64; do
	ln -s "usr/$name" "$root/$name"
done
cp "$busybox" "$root/bin/busybox"
cp "$here/init" "$root/init"

# The runtimes as Debian has them, less what only developers need.
add /usr/bin/bash /usr/bin/bwrap /usr/bin/setpriv /usr/bin/python3.11 \
	/usr/lib/python3.11/lib-dynload/*.so
ln -s python3.11 "$root/usr/bin/python3"
cp -a /etc/python3.11 "$root/etc/"
tar -C / --exclude='config-3*' --exclude=test --exclude=ensurepip \
	--exclude=idlelib --exclude=lib2to3 --exclude=pydoc_data \
	--exclude=distutils --exclude=tests -c usr/lib/python3.11 |
	tar -C "$root" -x
if node=$(command -v node); then
	add "$(realpath "$node")"
	[ -e "$root/usr/bin/node" ] ||
		ln -s "$(realpath "$node")" "$root/usr/bin/node"
fi

# The users that `make install` makes on a real host.
cat >"$root/etc/passwd" <<'USERS'
root:x:0:0:root:/root:/bin/bash
tollbox:x:990:990::/nonexistent:/usr/sbin/nologin
tollbox-run:x:991:991::/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
USERS
printf '%s\n' root:x:0: tollbox:x:990: tollbox-run:x:991: nogroup:x:65534: \
	>"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' \
	>"$root/etc/nsswitch.conf"

# The product and its tests.
product=("$build/tollbox" "$build/sandbox-init" "$build/tests/escape/box"
	"$build"/tests/unit/box/test_{cgroup,boxer})
for file in "${product[@]}"; do
	mkdir -p "$root/tollbox/${file%/*}"
	cp "$file" "$root/tollbox/$file"
	add $(ldd "$file" 2>/dev/null | grep -oE '/[^ :]+')
done
tar -c sandbox-scripts tests/escape tests/cgroup2 tests/run-unit.sh |
	tar -C "$root/tollbox" -x
printf '%s\n' "$build" >"$root/tollbox/build-folder"

(cd "$root" && find . | bin/busybox cpio -o -H newc -R 0:0) >"$out"
