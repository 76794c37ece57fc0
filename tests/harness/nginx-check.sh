#!/bin/bash
# `nginx -t` on the shipped files: as a whole server block, and included in a
# block that has directives of its own. Part of `make lint`; the black-box tests
# load them for real.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 \
	-subj /CN=check -keyout "$dir/tollbox.key" -out "$dir/tollbox.pem" 2>/dev/null
cp "$root"/nginx/*.conf "$dir"
# The site's own file names this host's certificate; everything else in it, and
# all other files, stay as they are.
sed -i "s|/etc/ssl/certs/|$dir/|; s|/etc/ssl/private/|$dir/|; s|/var/log/nginx/|$dir/|" \
	"$dir/tollbox-site.conf"

# check NAME LINES: is an http block with these lines one that nginx takes?
check() {
	cat >"$dir/$1-nginx.conf" <<-EOF
		pid $dir/nginx.pid;
		error_log stderr;
		events {
		}
		http {
			access_log off;
			client_body_temp_path $dir/body;
			fastcgi_temp_path $dir/fastcgi;
			proxy_temp_path $dir/proxy;
			scgi_temp_path $dir/scgi;
			uwsgi_temp_path $dir/uwsgi;
			$2
		}
	EOF
	nginx -t -q -e stderr -p "$dir/" -c "$dir/$1-nginx.conf"
}

check whole 'include tollbox-server.conf;'
# shellcheck disable=SC2016 # nginx's variables
check existing 'server {
		listen 127.0.0.1:1;
		root /nonexistent;
		error_page 404 /404.html;
		location / {
			try_files $uri =404;
		}
		include tollbox.conf;
		include tollbox-page.conf;
		set $tollbox_pay_to 0x70997970C51812dc3A010C7d01b50e0d17dc79C8;
	}'
