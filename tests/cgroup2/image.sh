#!/bin/bash
# The test machine's file system, as an initramfs: the programs under test at
# the same relative paths as here, and what they need.
#   image.sh BUILD MACHINE OUT     MACHINE is what fetch.sh unpacked
set -eu -o pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
build=$1
machine=$2
out=$3
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

# Libraries that programs of this host are linked with, one a line.
libraries() {
	ldd "$@" 2>/dev/null | grep -oE '/[^ :]+ \(' | cut -d' ' -f1 | sort -u
}
# Copy programs of this host, or what their names link to, and libraries.
add() {
	local file
	for file in "$@" $(libraries "$@"); do
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
cp "$machine/bin/busybox" "$root/usr/bin/busybox"
cp "$here/init" "$root/init"

# What programs find on a Debian: a few small ones, and the runtimes without
# what only developers need. The rest is busybox's.
mapfile -t small < <(dpkg -L coreutils | grep -E '^(/usr)?/bin/' |
	sed -E 's|^/bin|/usr/bin|')
add "${small[@]}" /usr/bin/{bash,dash,bwrap,setpriv,setsid,grep,sed} \
	/usr/sbin/ldconfig \
	/usr/bin/cgi-fcgi /usr/bin/python3.11 \
	/usr/lib/python3.11/lib-dynload/*.so
ln -s dash "$root/usr/bin/sh"
ln -s python3.11 "$root/usr/bin/python3"
tar -C / --exclude='config-3*' --exclude=test --exclude=tests \
	--exclude=ensurepip --exclude=idlelib --exclude=lib2to3 \
	--exclude=pydoc_data --exclude=distutils \
	-c usr/lib/python3.11 etc/python3.11 etc/alternatives etc/ld.so.cache |
	tar -C "$root" -x
add "$(realpath /usr/bin/node)"
[ -e "$root/usr/bin/node" ] ||
	ln -s "$(realpath /usr/bin/node)" "$root/usr/bin/node"

# The users that an installation makes.
cat >"$root/etc/passwd" <<'USERS'
root:x:0:0:root:/root:/bin/bash
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
tollbox:x:990:990::/nonexistent:/usr/sbin/nologin
tollbox-run:x:991:991::/nonexistent:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
USERS
printf '%s\n' root:x:0: www-data:x:33: tollbox:x:990: tollbox-run:x:991: \
	nogroup:x:65534: >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' \
	>"$root/etc/nsswitch.conf"

# The product and its tests.
product=("$build"/{tollbox,sandbox-init,tests/escape/box}
	"$build"/tests/unit/box/test_{cgroup,boxer,boxer_life,weight,work,filter,host}
	"$build"/tests/unit/cgroup2/test_wall)
for file in "${product[@]}"; do
	mkdir -p "$root/tollbox/${file%/*}"
	cp "$file" "$root/tollbox/$file"
done
# shellcheck disable=SC2046 # a path has no blanks
add $(libraries "${product[@]}")
tar -c sandbox-scripts tests/escape tests/cgroup2 | tar -C "$root/tollbox" -x
printf '%s\n' "$build" >"$root/tollbox/build-folder"

(cd "$root" && find . | usr/bin/busybox cpio -o -H newc -R 0:0 2>/dev/null) \
	>"$out"
