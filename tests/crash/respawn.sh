#!/bin/bash
# What a service manager does: starts the command again whenever it ended,
# until it is itself told to stop (SIGTERM, which goes on to the command).
# shellcheck disable=SC2317 # stop is called by a trap
set -u
stopping='' child=''

stop() {
	stopping=1
	[ -z "$child" ] || kill -s TERM "$child" 2>/dev/null
}
trap stop TERM

while [ -z "$stopping" ]; do
	setpriv --pdeathsig KILL -- "$@" &
	child=$!
	# A signal interrupts wait.
	while kill -0 "$child" 2>/dev/null; do
		wait "$child"
		status=$?
	done
	[ -n "$stopping" ] || sleep 0.05
done
exit "$status"
