#!/bin/bash
# Install what is missing of the Debian and npm packages, and say which.
#   deps.sh [demo|package|bench|test]
#                     demo: to build and run; package: also what `make deb` and
#                     `make test-install` need; bench: what `make bench`
#                     measures; test (default): also what `make test` needs,
#                     lint and both compilers
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
PATH=$PATH:/usr/sbin:/sbin
node_least=18 # Debian 12's own

demo=(gcc libc6-dev musl-tools make pkg-config git ca-certificates curl openssl
	bubblewrap python3 util-linux
	libfcgi-dev libcjson-dev libcurl4-openssl-dev libssl-dev
	libsecp256k1-dev nettle-dev libseccomp-dev libinih-dev libsqlite3-dev
	zlib1g-dev)
package=(debhelper dpkg-dev debootstrap lintian mandoc)
bench=(libcmocka-dev r-base-core)
tests=("${bench[@]}" libfcgi-bin fcgiwrap apache2-bin clang clang-format clang-tidy
	libclang-rt-14-dev cppcheck shellcheck
	python3-numpy python3-matplotlib perl mandoc prometheus
	chromium fonts-liberation)

case ${1:-test} in
demo) wanted=("${demo[@]}") npm=(devnet) ;;
package) wanted=("${demo[@]}" "${package[@]}") npm=() ;;
bench) wanted=("${demo[@]}" "${bench[@]}") npm=(devnet) ;;
test) wanted=("${demo[@]}" "${tests[@]}") npm=(devnet discovery mcp solc v1 browser) ;;
*)
	echo "usage: deps.sh [demo|package|bench|test]" >&2
	exit 2
	;;
esac

installed() {
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing=()
for package in "${wanted[@]}"; do
	installed "$package" || missing+=("$package")
done

# These may come from elsewhere (nginx.org, nodesource): the command counts.
command -v nginx >/dev/null || missing+=(nginx)
node_major=$(node -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
if [ "$node_major" -lt "$node_least" ]; then
	echo "deps: node $node_least or newer is not here (found: $node_major), taking Debian's"
	missing+=(nodejs npm)
elif ! command -v npm >/dev/null; then
	echo "deps: npm is not here, taking Debian's"
	missing+=(npm)
fi

# A package's service must not start by itself: nginx would take port 80.
policy=/usr/sbin/policy-rc.d
forbid_services() {
	[ ! -e "$policy" ] || return 0
	trap 'rm -f "$policy"' EXIT
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
}

if [ ${#missing[@]} -eq 0 ]; then
	echo "deps: every Debian package is here"
else
	echo "deps: installing ${missing[*]}"
	if [ "$(id -u)" -ne 0 ]; then
		echo "deps: only root can install packages" >&2
		exit 1
	fi
	forbid_services
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -q -o Acquire::Retries=5 </dev/null
	apt-get install -q -y -o Acquire::Retries=5 --no-install-recommends \
		"${missing[@]}" </dev/null
fi

[ ${#npm[@]} -eq 0 ] || "$here/../devnet/install.sh" "${npm[@]}"
