#!/bin/bash
# shellcheck disable=SC2317 # checks are functions called by name
# In the clean Debian: what a new operator does, in the order of the operator
# guide, and what the years bring. Called by enter.sh. Ends on
# 'N passed, N failed'.
set -u
cd /root || exit 1
share=/mnt/share
version=$(<$share/version)
upgrade=$version+upgrade1
site=https://127.0.0.1:$(<$share/port)
devnet=$share/devnet.json
client=/mnt/devnet/client.mjs
unit=/lib/systemd/system/tollbox.service
state=/var/lib/tollbox
daemon=
# shellcheck source=tests/install/common.sh
. $share/common.sh

# apt LOG ARGUMENT...
apt() {
	local log=$1
	shift
	apt-get -q -y "$@" >"$log" 2>&1 || {
		cat "$log"
		return 1
	}
}

# mode PATH MODE OWNER GROUP
mode() {
	[ "$(stat -c '%a %U %G' "$1")" = "$2 $3 $4" ] || {
		stat "$1"
		return 1
	}
}

# A value of the unit's [Service].
unit_value() {
	sed -nE "s/^$1=(.*)$/\1/p" "$unit"
}

# The unit's command as systemd would run it, as far as one can by hand.
start() {
	local caps
	caps=$(unit_value CapabilityBoundingSet | tr '[:upper:]' '[:lower:]' |
		sed -E 's/cap_/+/g; s/ /,/g')
	# shellcheck disable=SC2046 # the command's words
	setpriv --no-new-privs --bounding-set "-all,$caps" --inh-caps=-all -- \
		$(unit_value ExecStart) >>/root/daemon.log 2>&1 </dev/null &
	daemon=$!
	soon healthy
}
stop() {
	local rc=0
	kill -TERM "$daemon"
	wait "$daemon" || rc=$?
	[ "$rc" -eq 0 ] || cat /root/daemon.log
	return "$rc"
}

# ---- the chapters ----

# No package may start a service: there is no systemd, and the ports are the
# host's.
forbid_services() {
	printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
	chmod 755 /usr/sbin/policy-rc.d
}

not_enabled() {
	! find /etc/systemd/system -name 'tollbox*' | grep .
}
not_startable() {
	! tollbox serve 2>refused && says 'public_url' refused
}
not_ready() {
	! tollbox check
}
# One setting a line, and no other words of the log.
says_missing() {
	local key
	for key in public_url network asset asset_name asset_version pay_to; do
		says "^    \[site\] $key (TOLLBOX_" install.log || return 1
	done
	! grep 'super: ' install.log
}
# Each relative link of the documents, without its anchor.
links_hold() {
	local doc=/usr/share/doc/tollbox link rc=0
	while read -r link; do
		(cd "$doc" && test -e "$link") || {
			echo "$link is not there"
			rc=1
		}
	done < <(grep -ohE '\]\([^)#]+' "$doc"/*.md | cut -c3- | grep -v '^http')
	return "$rc"
}
installed() {
	echo '== apt install'
	check 'apt installs it, with what it needs' apt install.log install \
		"$share/tollbox_${version}"_*.deb
	check 'and says all that is missing' says_missing
	check 'its documents lead to what is there' links_hold
	check 'the settings are root'\''s' mode $conf 600 root root
	check 'the ledger'\''s folder is the payments'\''' \
		mode $state 700 tollbox tollbox
	check 'the unit is not enabled yet' not_enabled
	check 'serve refuses to start, and says why' not_startable
	check 'so does check' not_ready
	check 'it says its version' test "$(tollbox version | cut -d' ' -f2)" = \
		"$version"
	check 'systemd takes the unit' systemd-analyze verify --man=no \
		"$unit"
	for page in man8/tollbox.8 man5/tollbox.conf.5; do
		check "there is $page" test -s "/usr/share/man/$page.gz"
	done
	check 'node is Debian'\''s' test "$(command -v node)" = /usr/bin/node
}

set_up() {
	echo '== settings, nginx, start'
	write_settings
	write_site
	check 'tollbox check' tollbox check
	check 'nginx takes the include' nginx -t -q
	nginx
	check 'the unit'\''s command serves, with the unit'\''s rights' start
	check 'the page for people' page_is_there
	check 'a paid run by the official client' buyer pay first
	check 'its stored answer' buyer again first
}

# The unit's commands for a reload.
reload() {
	local line
	while read -r line; do
		# shellcheck disable=SC2086 # the command's words
		${line//\$MAINPID/$daemon} || return 1
	done < <(unit_value ExecReload)
}
reload_fails() {
	! reload 2>refused && says 'prise' refused
}
logged() {
	grep -q -- "$1" daemon.log
}

drains() {
	check 'a stop lets a paid run end' in_the_middle stop
	check 'and it starts again' start
}
reloads() {
	echo '== reload'
	printf '[tier:small]\nprice = 0.003\n' >>"$conf"
	check 'a reload lets a paid run end' in_the_middle reload
	check 'then the new settings are in force' soon price_is 0.0030
	echo 'prise = 0.004' >>"$conf"
	check 'a reload with wrong settings fails, and says why' reload_fails
	kill -HUP "$daemon"
	check 'the service has seen them' soon logged 'settings stay as they are'
	check 'and stays with the old ones' price_is 0.0030
	write_settings
	check 'a reload' reload
	check 'back to the first settings' soon price_is 0.0010
	check 'the stored answer' buyer again first
}

same_settings() {
	local before
	before=$(<"$conf")
	"$@" && [ "$before" = "$(<"$conf")" ]
}
upgraded() {
	echo '== upgrade'
	check 'apt upgrades it while it runs, and leaves the settings' \
		same_settings apt upgrade.log install \
		"$share/tollbox_${upgrade}"_*.deb
	check 'the running one still answers' buyer again first
	check 'it stops' stop
	check 'the new one starts' start
	check 'and says its version' \
		says "\"version\":\"$upgrade\"" \
		<(curl -s --cacert /root/cert.pem "$site/version")
	check 'the ledger is what it was' buyer again first
	check 'a paid run' buyer pay second
}

nothing_runs() {
	! pgrep -f /usr/bin/tollbox
}
gone() {
	! [ -e "$1" ]
}
removed() {
	echo '== remove, purge'
	check 'it stops' stop
	check 'apt removes it' apt remove.log remove tollbox
	check 'the site that still includes it is told' \
		says 'nginx still includes' remove.log
	check 'the program is gone' gone /usr/bin/tollbox
	check 'the runtimes are gone' gone /usr/lib/tollbox
	check 'nginx still takes its files' nginx -t -q
	check 'the settings stay' test -s "$conf"
	check 'the ledger stays' test -s $state/ledger.db

	check 'installed again' apt again.log install \
		"$share/tollbox_${upgrade}"_*.deb
	check 'it starts with the settings it had' start
	check 'and knows who paid' buyer again first
	check 'it stops' stop

	sed -i '/include tollbox/d' /etc/nginx/sites-available/site
	check 'apt purges it' apt purge.log purge tollbox
	check 'the settings are gone' gone /etc/tollbox
	check 'nginx'\''s files are gone' gone /etc/nginx/tollbox.conf
	check 'the ledger stays even so' \
		mode $state/ledger.db 600 tollbox tollbox
	check 'and the operator is told' says 'kept /var/lib/tollbox' purge.log
}

forbid_services
apt update.log update || exit 1
installed
set_up
drains
reloads
upgraded
removed
nginx -s quit
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
