#!/bin/bash
# shellcheck disable=SC2317 # checks are functions called by name
# In the machine, under its systemd: the package's unit started, paid, reloaded,
# restarted, killed, upgraded and removed. A last line 'N passed, N failed'.
set -u
cd /root || exit 1
export HOME=/root LANG=C.UTF-8
share=/test
upgrade=$(<$share/version)+upgrade1
site=https://127.0.0.1:8443
devnet=/run/devnet.json
client=$share/devnet/client.mjs
state=/var/lib/tollbox
# shellcheck source=tests/install/common.sh
. $share/common.sh

start_devnet() {
	node --import "$share/webcrypto.mjs" "$share/devnet/devnet.mjs" \
		--out $devnet >/dev/null 2>devnet.log &
	soon test -e $devnet
}
is() {
	[ "$(systemctl is-active tollbox)" = "$1" ] || {
		systemctl status --no-pager tollbox
		return 1
	}
}
main_pid() {
	systemctl show -P MainPID tollbox
}
other_main() {
	[ "$(main_pid)" != "$1" ] && healthy
}
memory_limit_is() {
	curl -s --cacert cert.pem "$site/health" >health
	says "\"memoryLimit\":\"$1\"" health
}
version_is() {
	curl -s --cacert cert.pem "$site/version" >version
	says "\"version\":\"$1\"" version
}
fails() {
	! "$@"
}
# Each process of the service is in a group below the unit's.
groups() {
	systemctl show -P ControlGroup tollbox >group
	says '^/system.slice/tollbox.service$' group &&
		[ -n "$(<"/sys/fs/cgroup$(<group)/tollbox/main/cgroup.procs")" ]
}
starts_and_pays() {
	check 'a local chain and facilitator' start_devnet
	check 'the unit is there and not enabled' \
		test "$(systemctl is-enabled tollbox)" = disabled
	write_settings
	write_site
	check 'nginx takes the site' systemctl restart nginx
	check 'tollbox check' tollbox check
	check 'enable --now: it says when it is ready' \
		systemctl enable --now tollbox
	check 'it is active' is active
	check 'it answers' healthy
	check 'cgroup v2 limits memory' memory_limit_is cgroup2
	check 'in groups of the unit'\''s own' groups
	check 'a paid run by the official client' buyer pay first
	check 'its stored answer' buyer again first
}
changes() {
	local before
	before=$(main_pid)
	printf '[tier:small]\nprice = 0.003\n' >>"$conf"
	check 'reload lets a paid run end' in_the_middle systemctl reload tollbox
	check 'and the new settings are in force' price_is 0.0030
	check 'in the same main process' test "$(main_pid)" = "$before"
	echo 'prise = 0.004' >>"$conf"
	check 'reload with wrong settings fails' fails systemctl reload tollbox
	check 'and all stays as it was' price_is 0.0030
	write_settings
	check 'restart lets a paid run end' \
		in_the_middle systemctl restart tollbox
	check 'the stored answer' buyer again first
	before=$(main_pid)
	kill -KILL "$before"
	check 'killed, it comes back' soon other_main "$before"
	check 'the stored answer once more' buyer again first
}
packages() {
	check 'dpkg upgrades it' dpkg -i "$share/tollbox_${upgrade}"_*.deb
	check 'and it was restarted' version_is "$upgrade"
	check 'and knows who paid' buyer again first
	check 'dpkg removes it' dpkg -r tollbox
	check 'it does not run any more' is inactive
	check 'the ledger stays' test -s $state/ledger.db
}

echo
uname -sr
systemctl --version | head -n 1
starts_and_pays
changes
packages
if [ "$failed" -gt 0 ]; then
	journalctl -b --no-pager -u tollbox -u nginx | tail -n 60
fi
printf '\n%d passed, %d failed\n' "$passed" "$failed"
