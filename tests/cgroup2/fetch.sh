#!/bin/bash
# What the test machine is made of: qemu, its BIOS, a kernel and busybox, as
# Debian packages that are downloaded and unpacked, never installed, so that
# neither root nor a change of this system is needed.
#   fetch.sh FOLDER     unpacks into FOLDER, unless it is there
set -eu -o pipefail
folder=$1
[ ! -d "$folder" ] || exit 0

# The kernel's own package: the name without a version only depends on it.
kernel=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null |
	sed -nE 's/^ *Depends: (linux-image-[0-9][^ ]*)$/\1/p' | head -n 1)
if [ -z "$kernel" ]; then
	echo 'cgroup2: apt knows no kernel package (apt-get update?)' >&2
	exit 1
fi
# The libraries that this system has not got for qemu.
mapfile -t missing < <(apt-get -s install --no-install-recommends \
	qemu-system-x86 seabios 2>/dev/null |
	sed -nE 's/^Inst ([^ ]+) .*/\1/p')

new=$folder.new
rm -rf "$new"
mkdir -p "$new/debs"
(
	cd "$new/debs"
	apt-get -q download "$kernel" busybox-static qemu-system-x86 \
		qemu-system-common qemu-system-data seabios ipxe-qemu \
		"${missing[@]}"
)
for deb in "$new"/debs/*.deb; do
	dpkg -x "$deb" "$new"
done
# Of the kernel only its image is used: what the tests need is built in.
rm -rf "$new/debs" "$new/lib/modules" "$new/usr/share/doc"
mv "$new" "$folder"
