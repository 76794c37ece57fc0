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
port=$(<$share/port)
site=https://127.0.0.1:$port
conf=/etc/tollbox/tollbox.conf
unit=/lib/systemd/system/tollbox.service
state=/var/lib/tollbox
passed=0
failed=0
daemon=

# check NAME COMMAND...: one check, passed if the command succeeds; what it says
# is shown only if it does not.
check() {
	local name=$1
	shift
	if "$@" >/root/said 2>&1; then
		passed=$((passed + 1))
		printf 'ok    %s\n' "$name"
	else
		failed=$((failed + 1))
		printf 'FAIL  %s\n' "$name"
		sed 's/^/      /' /root/said
	fi
}

# soon COMMAND...: it succeeds within half a minute.
soon() {
	local until=$((SECONDS + 30))
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.1
	done
}

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
healthy() {
	curl -sf --cacert /root/cert.pem -o /dev/null "$site/health"
}
buyer() {
	node $share/buyer.mjs "$1" "$site" /root/cert.pem "/root/$2"
}
says() {
	grep -q -- "$1" "$2" || {
		cat "$2"
		return 1
	}
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
installed() {
	echo '== apt install'
	check 'apt installs it, with what it needs' apt install.log install \
		"$share/tollbox_${version}"_*.deb
	check 'and says what is missing' says 'public_url' install.log
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

member() {
	node -p "JSON.parse(require('fs').readFileSync('$share/devnet.json')).$1"
}
write_settings() {
	cat >"$conf" <<-EOF
		[site]
		public_url = $site
		pay_to = $(member payTo)
		network = $(member network)
		asset = $(member asset)
		asset_name = $(member assetName)
		asset_version = $(member assetVersion)
		[facilitator:default]
		url = $(member facilitatorUrl)
	EOF
}
# An nginx site that was there before, and the one line.
write_site() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 1 -subj /CN=site -addext subjectAltName=IP:127.0.0.1 \
		-keyout key.pem -out cert.pem 2>/dev/null
	rm -f /etc/nginx/sites-enabled/default
	cat >/etc/nginx/sites-enabled/site <<-EOF
		server {
			listen 127.0.0.1:$port ssl http2;
			server_name 127.0.0.1;
			ssl_certificate /root/cert.pem;
			ssl_certificate_key /root/key.pem;
			root /var/www/html;
			location / {
				try_files \$uri \$uri/ =404;
			}
			include tollbox.conf;
		}
	EOF
}
set_up() {
	echo '== settings, nginx, start'
	write_settings
	write_site
	check 'tollbox check' tollbox check
	check 'nginx takes the include' nginx -t -q
	nginx
	check 'the unit'\''s command serves, with the unit'\''s rights' start
	check 'a paid run by the official client' buyer pay first
	check 'its stored answer' buyer again first
}

# in_the_middle COMMAND...: while a paid program runs.
in_the_middle() {
	local customer rc=0
	rm -f /root/runs
	buyer long runs &
	customer=$!
	soon test -e /root/runs || return 1
	"$@" || rc=1
	wait "$customer" || rc=1
	return "$rc"
}
drains() {
	check 'a stop lets a paid run end' in_the_middle stop
	check 'and it starts again' start
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

	sed -i '/include tollbox.conf/d' /etc/nginx/sites-enabled/site
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
upgraded
removed
nginx -s quit
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
