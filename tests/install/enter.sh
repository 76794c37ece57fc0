#!/bin/bash
# In mount and process namespaces of its own: make the clean system's copy the
# root, and run a script of WORK/share there.
#   enter.sh BASE WORK SOURCES SCRIPT
# pivot_root and not chroot: the kernel lets nobody in a chroot make a user
# namespace, which each sandbox needs.
set -eu
base=$1
work=$2
sources=$3
script=$4
root=$work/root

mount -t overlay overlay \
	-o "lowerdir=$base,upperdir=$work/upper,workdir=$work/overlay" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mkdir -p "$root"/mnt/{share,devnet,old}
mount --bind "$work/share" "$root/mnt/share"
mount --bind -o ro "$sources/tests/devnet" "$root/mnt/devnet"
# What was downloaded once.
mount --bind "$sources/build/install/archives" "$root/var/cache/apt/archives"
cp /etc/resolv.conf /etc/hosts "$root/etc/"
cd "$root"
pivot_root . mnt/old
umount -l /mnt/old
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	DEBIAN_FRONTEND=noninteractive bash "/mnt/share/$script"
