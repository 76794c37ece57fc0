#!/bin/bash
# The whole stack in the foreground: local chain and facilitator (unless
# TOLLBOX_FACILITATOR_URL names one), `tollbox serve` and nginx with the shipped
# files. Prints `tollbox ready http://… https://…` once it answers; SIGINT or
# SIGTERM ends all of it in order, a second one in haste.
#
# Settings are the TOLLBOX_* variables of api.md section 11. Besides:
#   TOLLBOX_TEST_B     the build folder, default build
#   TOLLBOX_TEST_CONF  a file whose lines are added to the config file
#   TOLLBOX_TEST_WRAP  a program that is given the daemon's command to run
#   TOLLBOX_TEST_NGINX a file whose lines are added to nginx's http block
# shellcheck disable=SC2317 # finish and what it calls are called by traps
set -euo pipefail
umask 022 # what is made here is for other users' eyes too
# Every child gets a process group of its own, so that Ctrl-C reaches this
# script alone, which stops them in the right order.
set -m
umask 022
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
build=$(cd "$root" && realpath "${TOLLBOX_TEST_B:-build}")
ready_within=60 # seconds; a sanitized build on a busy machine needs some
dir='' devnet='' daemon='' nginx='' started='' port='' tls_port=''

die() {
	echo "run: $*" >&2
	exit 1
}

is_alive() {
	[ -n "$1" ] && kill -0 "$1" 2>/dev/null
}

wait_gone() {
	while is_alive "$1"; do
		wait "$1" 2>/dev/null || true
	done
}

tell() {
	! is_alive "$2" || kill -s "$1" "$2" 2>/dev/null || true
}

hurry() {
	echo 'run: stopping now' >&2
	tell TERM "$nginx"
	# The first may be the one that asks to drain; the second ends it.
	tell TERM "$daemon"
	sleep 0.3
	tell TERM "$daemon"
}

# nginx first, so that no request is refused half-way; then the daemon, which
# drains; the chain last, since a payment may still be settling.
finish() {
	local status=$1
	trap - EXIT
	trap hurry INT TERM
	if is_alive "$daemon"; then
		echo 'run: stopping; programs that run may end (once more: stop now)' >&2
	fi
	tell QUIT "$nginx"
	wait_gone "$nginx"
	tell TERM "$daemon"
	wait_gone "$daemon"
	tell TERM "$devnet"
	wait_gone "$devnet"
	[ -z "$dir" ] || rm -rf "$dir"
	# Tollbox keeps its lock file for the next start of the same name; this
	# name will not come again.
	[ -z "$tls_port" ] || rm -f "/run/tollbox-run-$tls_port.lock"
	exit "$status"
}

# setpriv: nothing stays behind when this script is killed.
start() {
	setpriv --pdeathsig TERM -- "$@" </dev/null &
	started=$!
}

# take_port VARIABLE DEFAULT: the one asked for, which must be free; 0: any; else
# the default or, if that is taken, any.
take_port() {
	local wanted=${!1:-}
	bind "${wanted:-$2}" && return 0
	[ -z "$wanted" ] || die "$1=$wanted: this port cannot be had"
	bind 0 || die 'no free port'
}

# Any port is one below those that the kernel gives away: between now and nginx's
# start a connection that goes out could take one of these. Nor is it $port.

bind() {
	/usr/bin/python3 - "$1" "${port:-0}" 2>/dev/null <<-'PYTHON'
		import random, socket, sys
		wanted = int(sys.argv[1])
		s = socket.socket()
		s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		for port in [wanted] if wanted else random.sample(range(10000, 20000), 100):
		    if port == int(sys.argv[2]):
		        continue
		    try:
		        s.bind(("127.0.0.1", port))
		        break
		    except OSError:
		        pass
		print(s.getsockname()[1] or sys.exit(1))
	PYTHON
}

make_user() {
	id -u "$1" >/dev/null 2>&1 || useradd --system --user-group \
		--no-create-home --home-dir /nonexistent \
		--shell /usr/sbin/nologin "$1" || id -u "$1" >/dev/null
}

make_certificate() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 30 -subj /CN=tollbox \
		-addext subjectAltName=IP:127.0.0.1,DNS:localhost \
		-keyout "$dir/key.pem" -out "$dir/cert.pem" 2>/dev/null
	chmod 600 "$dir/key.pem"
}

# The checkout may lie where only root can read; what other users need is
# copied out of it.
stage() {
	local runtime
	install -D -m 755 "$build/sandbox-init" "$dir/lib/sandbox-init"
	install -D -m 644 -t "$dir/page" "$root"/nginx/page/*.*
	install -D -m 644 -t "$dir/page/tollbox-page" \
		"$root"/nginx/page/tollbox-page/*
	for runtime in "$root"/sandbox-scripts/*/; do
		install -d "$dir/lib/runtimes/$(basename "$runtime")"
		install -m 644 "$runtime"/* \
			"$dir/lib/runtimes/$(basename "$runtime")"
	done
}

start_devnet() {
	"$root/tests/devnet/install.sh" devnet
	start node "$root/tests/devnet/devnet.mjs" --out "$dir/devnet.json" \
		>/dev/null
	devnet=$started
	while [ ! -e "$dir/devnet.json" ]; do
		is_alive "$devnet" || die 'the local chain did not start'
		sleep 0.1
	done
}

# Members of devnet.json, each on a line of its own.
devnet_members() {
	node -e '
		const info = JSON.parse(require("fs").readFileSync(process.argv[1]));
		for (const path of process.argv.slice(2))
			console.log(path.split(".").reduce((at, key) => at[key], info));
	' "$dir/devnet.json" "$@"
}

write_conf() {
	cat <<-EOF
		[service]
		name = run-$tls_port
		listen = $socket
		state_dir = $dir/state
		[sandbox]
		init = $dir/lib/sandbox-init
		runtimes_dir = $dir/lib/runtimes
		[site]
		public_url = https://127.0.0.1:$tls_port
	EOF
	[ -z "$devnet" ] || devnet_members network asset assetName \
		assetVersion assetDecimals payTo facilitatorUrl rpcUrl | {
		mapfile -t value
		cat <<-EOF
			network = ${value[0]}
			asset = ${value[1]}
			asset_name = ${value[2]}
			asset_version = ${value[3]}
			asset_decimals = ${value[4]}
			pay_to = ${value[5]}
			[facilitator:default]
			url = ${value[6]}
			[chain:default]
			rpc_url = ${value[7]}
			confirmations = 1
		EOF
	}
	[ -z "${TOLLBOX_TEST_CONF:-}" ] || cat "$TOLLBOX_TEST_CONF"
}

write_nginx() {
	local file
	for file in tollbox.conf tollbox-pass.conf tollbox-server.conf \
		tollbox-page.conf; do
		ln -s "$root/nginx/$file" "$dir/$file"
	done
	cat >"$dir/tollbox-site.conf" <<-EOF
		listen 127.0.0.1:$port;
		listen 127.0.0.1:$tls_port ssl http2;
		server_name 127.0.0.1 localhost;
		ssl_certificate $dir/cert.pem;
		ssl_certificate_key $dir/key.pem;
		set \$tollbox_backend unix:$socket;
		include tollbox-page.conf;
		set \$tollbox_page $dir/page;
		access_log $dir/access.log tollbox;
	EOF
	cat >"$dir/nginx.conf" <<-EOF
		user www-data;
		worker_processes 1;
		daemon off;
		pid $dir/nginx.pid;
		error_log stderr error;
		events {
			worker_connections 1024;
		}
		http {
			access_log off;
			client_body_temp_path $dir/nginx-body;
			fastcgi_temp_path $dir/nginx-fastcgi;
			proxy_temp_path $dir/nginx-proxy;
			scgi_temp_path $dir/nginx-scgi;
			uwsgi_temp_path $dir/nginx-uwsgi;
			include tollbox-server.conf;
			${TOLLBOX_TEST_NGINX:+include $TOLLBOX_TEST_NGINX;}
		}
	EOF
}

answers() {
	curl -sf -o /dev/null --max-time 5 --noproxy '*' --cacert "$dir/cert.pem" \
		"https://127.0.0.1:$tls_port/health"
}

# wait_until WHAT COMMAND...: until it holds, as long as all parts live.
wait_until() {
	local what=$1 deadline=$((SECONDS + ready_within))
	shift
	until "$@"; do
		is_alive "$daemon" || die 'tollbox did not start'
		[ -z "$nginx" ] || is_alive "$nginx" || die 'nginx did not start'
		[ $SECONDS -lt $deadline ] || die "$what"
		sleep 0.1
	done
}

[ "$(id -u)" -eq 0 ] || die 'needs root: the daemon starts as root to give it up'
[ -x "$build/tollbox" ] || die "$build/tollbox is not there: make all"
trap 'finish $?' EXIT
trap 'finish 0' INT TERM
dir=$(mktemp -d /tmp/tollbox-run.XXXXXX)
chmod 755 "$dir"
socket=${TOLLBOX_LISTEN:-$dir/tollbox.sock}
port=$(take_port TOLLBOX_PORT 8402)
tls_port=$(take_port TOLLBOX_TLS_PORT 8443)
make_user tollbox
make_user tollbox-run
make_certificate
stage
[ -n "${TOLLBOX_FACILITATOR_URL:-}" ] || start_devnet
write_conf >"$dir/tollbox.ini"
write_nginx
start ${TOLLBOX_TEST_WRAP:+"$TOLLBOX_TEST_WRAP"} "$build/tollbox" serve \
	-c "$dir/tollbox.ini"
daemon=$started
wait_until 'tollbox does not listen' test -S "$socket"
start nginx -e stderr -p "$dir/" -c "$dir/nginx.conf"
nginx=$started
wait_until 'it does not answer' answers

if [ -n "$devnet" ]; then
	devnet_members rpcUrl network facilitatorUrl asset assetName payTo \
		payers.0.address payers.0.privateKey | {
		mapfile -t value
		echo "chain ${value[0]} ${value[1]}"
		echo "facilitator ${value[2]}"
		echo "asset ${value[3]} ${value[4]}"
		echo "seller ${value[5]}"
		echo "payer ${value[6]} key ${value[7]}"
	}
fi
echo "certificate $dir/cert.pem"
echo "tollbox ready http://127.0.0.1:$port https://127.0.0.1:$tls_port"

wait -n || true
is_alive "$daemon" || die 'tollbox ended by itself'
is_alive "$nginx" || die 'nginx ended by itself'
die 'the local chain ended by itself'
