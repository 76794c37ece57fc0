#!/bin/bash
# Make a root file system of a Debian package and all it depends on, unpacked
# and not installed, for a runtime with a `rootfs`; print its folder.
#   rootfs.sh CACHE PACKAGE [VERSION]     VERSION: how it must begin
# Made once: CACHE/PACKAGE-VERSION, full version.
set -euo pipefail
cache=$1
package=$2
wanted=${3:-}

die() {
	echo "rootfs: $*" >&2
	exit 1
}

# The newest version of the package that begins so.
newest() {
	apt-cache madison "$package" |
		awk -v wanted="$wanted" '!v && index($3, wanted) == 1 { v = $3 }
			END { print v }'
}

version=$(newest)
if [ -z "$version" ]; then
	apt-get update -q -o Acquire::Retries=5 </dev/null >&2
	version=$(newest)
fi
[ -n "$version" ] || die "no package $package of version $wanted"

if [ -d "$cache/$package-$version" ]; then
	echo "$cache/$package-$version"
	exit
fi

mkdir -p "$cache"
cache=$(realpath "$cache")
root=$cache/$package-$version
work=$(mktemp -d "$cache/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/root/etc" "$work/packages"

# What its programs may want of a system beside what it depends on: a shell.
{
	apt-cache depends --recurse --no-recommends --no-suggests --no-breaks \
		--no-conflicts --no-replaces --no-enhances \
		"$package=$version" dash coreutils | grep '^[a-z]'
} | sort -u >"$work/names"
# Of one source, one version: the library of an interpreter is its other half.
xargs apt-cache madison <"$work/names" >"$work/versions"
awk -v wanted="$version" '
	NR == FNR { if ($3 == wanted) same[$1] = "=" wanted; next }
	{ print $1 same[$1] }' "$work/versions" "$work/names" >"$work/list"
(
	cd "$work/packages"
	# Not as apt's own user, which may not reach this folder.
	xargs apt-get -q -o APT::Sandbox::User=root \
		-o Acquire::Retries=5 download <"$work/list" >&2
)
for deb in "$work"/packages/*.deb; do
	dpkg -x "$deb" "$work/root"
done
[ -e "$work/root/bin/sh" ] || ln -s dash "$work/root/bin/sh"
# The sandbox lays its own over these.
touch "$work/root/etc/"{passwd,group,hosts,nsswitch.conf}
chmod -R a+rX "$work/root"
mv "$work/root" "$root"
echo "$root"
