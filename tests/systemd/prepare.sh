#!/bin/bash
# In the clean Debian: install the package and what it needs, put the test in,
# and write the whole system as an initramfs to /mnt/share/image. Called by
# ../install/enter.sh.
set -eu
share=/mnt/share
export DEBIAN_FRONTEND=noninteractive

# Here nothing shall start; in the machine all shall.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
{
	apt-get -q update
	apt-get -q -y install systemd-sysv "$(cat $share/package)"
} >$share/apt.log 2>&1 || {
	cat $share/apt.log
	exit 1
}
rm /usr/sbin/policy-rc.d

mkdir /test
cp $share/*.{sh,mjs,deb} $share/version /test
cp -r /mnt/devnet /test/devnet
cat >/etc/systemd/system/test.service <<-'EOF'
	[Unit]
	After=multi-user.target
	[Service]
	Type=oneshot
	ExecStart=/bin/bash /test/guest.sh
	ExecStopPost=/bin/systemctl --no-block poweroff
	StandardOutput=file:/dev/ttyS0
	StandardError=inherit
EOF
# Not wanted by multi-user.target, or each would wait for the other.
mkdir -p /etc/systemd/system/default.target.wants
ln -sf /lib/systemd/system/multi-user.target /etc/systemd/system/default.target
ln -s ../test.service /etc/systemd/system/multi-user.target.wants/test.service
ln -s /dev/null /etc/systemd/system/serial-getty@ttyS0.service

# What nobody reads in the machine.
rm -rf /usr/share/{doc,locale,man,i18n} /usr/share/mime /var/lib/apt/lists/*
mkdir -p /mnt/image/system /mnt/image/bin
mount --bind / /mnt/image/system
cp $share/busybox /mnt/image/bin/busybox
cp $share/init /mnt/image/init
cd /mnt/image
find bin init system -xdev -path system/mnt/share -prune -o \
	-path system/mnt/image -prune -o -print |
	bin/busybox cpio -o -H newc >$share/image 2>/dev/null
