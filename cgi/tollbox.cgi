#!/bin/sh
# One request of a plain CGI host, handed to the daemon: libfcgi's cgi-fcgi
# passes on the environment and the body, and writes the answer. The web server
# may name another socket as CGI_TOLLBOX_SOCKET.
set -eu
socket=${CGI_TOLLBOX_SOCKET:-/run/tollbox/tollbox.sock}

# The daemon said nothing. What became of a payment is in its ledger.
away() {
	printf 'Status: 502 Bad Gateway\r\nContent-Type: application/json\r\n'
	printf 'Cache-Control: no-store\r\nRetry-After: 2\r\n'
	printf 'Request-Id: %s\r\n' "$(printf %s \
		"${REQUEST_ID:-${UNIQUE_ID:-unknown-$$}}" | tr -c '0-9A-Za-z-' _)"
	printf 'Access-Control-Allow-Origin: *\r\nAccess-Control-Expose-Headers: '
	printf 'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, '
	printf 'TOLLBOX-RECEIPT, Idempotency-Replayed, Retry-After, Request-Id, '
	printf 'Allow\r\n\r\n{"error":{"code":"SERVICE_INTERNAL_FAILURE",'
	printf '"message":"the service did not answer; send the same request '
	printf 'with the same payment again, it is never charged twice",'
	printf '"billable":false,"category":"internal_failure"}}\n'
}

# The whole body first, then the daemon: a slow sender costs a file and not one
# of the daemon's threads.
if [ "${CONTENT_LENGTH:-0}" != 0 ]; then
	body=$(mktemp)
	# shellcheck disable=SC2094 # read when it is written
	exec 3>"$body" 4<"$body"
	rm "$body"
	head -c "$CONTENT_LENGTH" >&3
	exec 3>&- <&4 4<&-
fi

# A daemon that dies in the middle of an answer (cgi-fcgi then ends with 253)
# is told by an end that comes late: a web server that has the beginning and the
# end at once takes what there is for the whole, and rewrites Content-Length.
{ /usr/bin/cgi-fcgi -bind -connect "$socket" || [ $? -ne 253 ] || sleep 1; } | {
	if IFS= read -r status; then
		printf '%s\n' "$status"
		exec cat
	fi
	away
}
