#!/bin/bash
# Build the Debian package from this tree into FOLDER and say its name.
#   deb.sh FOLDER [VERSION]    VERSION: instead of the changelog's, for tests
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
version=${2:-}
# The caller's make must not lend its job server or its variables to ours.
unset MAKEFLAGS MFLAGS MAKELEVEL B V

mkdir -p "$folder"
folder=$(realpath "$folder")
work=$(mktemp -d "$folder/work.XXXXXX")
trap 'rm -rf "$work"' EXIT

# A copy: the package is built from sources alone, and dpkg writes its results
# beside the folder it is called in.
mkdir "$work/tollbox"
tar --exclude=./build --exclude=node_modules --exclude=.git -c . |
	tar -C "$work/tollbox" -x
cd "$work/tollbox"
[ -z "$version" ] ||
	sed -i "1s/([^)]*)/($version)/" debian/changelog
if ! dpkg-buildpackage -b -us -uc -j"$(nproc)" >"$work/log" 2>&1; then
	cat "$work/log" >&2
	exit 1
fi
mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$folder"
sed -nE "s|^.*building package 'tollbox' in '\.\./(.*)'\.$|$folder/\1|p" \
	"$work/log"
