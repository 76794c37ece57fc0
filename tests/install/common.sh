# What guest.sh and ../systemd/guest.sh share: a count of checks, the site, its
# customer. To be sourced in the clean system, with `site` set to the site's
# address, `devnet` to the file that the local chain has written, `client` to
# tests/devnet/client.mjs, and `share` to the folder that this is in.
# shellcheck shell=bash disable=SC2154
export DEVNET=$devnet CLIENT=$client
conf=/etc/tollbox/tollbox.conf
passed=0
failed=0

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

healthy() {
	curl -sf --cacert /root/cert.pem -o /dev/null "$site/health"
}

# buyer COMMAND FILE: see buyer.mjs.
buyer() {
	node "$share/buyer.mjs" "$1" "$site" /root/cert.pem "/root/$2"
}

# says TEXT FILE
says() {
	grep -q -- "$1" "$2" || {
		cat "$2"
		return 1
	}
}

member() {
	node -p "JSON.parse(require('fs').readFileSync('$devnet')).$1"
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

# An nginx site that was there before, and the one line; enabled by a link, as
# Debian does it.
write_site() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 1 -subj /CN=site -addext subjectAltName=IP:127.0.0.1 \
		-keyout key.pem -out cert.pem 2>/dev/null
	rm -f /etc/nginx/sites-enabled/default
	ln -sf ../sites-available/site /etc/nginx/sites-enabled/site
	cat >/etc/nginx/sites-available/site <<-EOF
		server {
			listen ${site#https://} ssl http2;
			server_name 127.0.0.1;
			ssl_certificate /root/cert.pem;
			ssl_certificate_key /root/key.pem;
			root /var/www/html;
			location / {
				try_files \$uri \$uri/ =404;
			}
			include tollbox.conf;
			include tollbox-page.conf;
		}
	EOF
}

page_is_there() {
	curl -s --cacert /root/cert.pem "$site/" >page &&
		says 'Run a program' page &&
		curl -sf --cacert /root/cert.pem -o page.js \
			"$site/tollbox-page/page.js" && test -s page.js
}

# What the cheapest run costs, without the dollar.
price_is() {
	curl -s --cacert /root/cert.pem -d '{}' "$site/quote" >quote
	says "\"price\":\".$1\"" quote
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
