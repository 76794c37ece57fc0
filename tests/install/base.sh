#!/bin/bash
# Make a clean Debian in FOLDER with debootstrap, unless it is there. Root.
#   base.sh FOLDER
set -eu
folder=$1
[ ! -d "$folder" ] || exit 0

echo "install: making a clean Debian in $folder"
rm -rf "$folder.new"
mkdir -p "$folder.new"
debootstrap --variant=minbase --include=systemd,systemd-sysv,curl,openssl \
	bookworm "$folder.new" \
	>"$folder.log" 2>&1 || {
	cat "$folder.log"
	exit 1
}
mv "$folder.new" "$folder"
