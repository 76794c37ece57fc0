#!/bin/sh
# make install: the two users without a login, and the ledger's folder. What is
# there is left as it is.
set -eu

for user in tollbox tollbox-run; do
	id -u "$user" >/dev/null 2>&1 || useradd --system --user-group \
		--no-create-home --home-dir /nonexistent \
		--shell /usr/sbin/nologin "$user"
done
[ -d /var/lib/tollbox ] ||
	install -d -m 700 -o tollbox -g tollbox /var/lib/tollbox
