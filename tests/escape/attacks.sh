#!/bin/bash
# Attack a sandbox from the inside and assert that each attempt is refused.
#
#	tests/escape/attacks.sh [BUILD]
#
# needs BUILD/tests/escape/box and BUILD/sandbox-init. As root the sandboxes
# belong to tollbox-run (made if missing) and files of other users are tried
# too; otherwise they belong to whoever runs this. Ends on 'N passed, N failed'.
# shellcheck disable=SC2016 # what is quoted is for the shell inside
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-${B:-$here/../../build}}
secret=planted-$$-secret
passed=0
failed=0
declare -A interpreter=([py]=/usr/bin/python3 [js]=/usr/bin/node)

# Neutral name: it must not be found in any sandbox.
top=$(mktemp -d /tmp/host.XXXXXX)
cleanup() {
	[ -z "${sleeper:-}" ] || kill "$sleeper" 2>/dev/null
	[ -z "${server:-}" ] || kill "$server" 2>/dev/null
	rm -rf "$top"
}
trap cleanup EXIT

as_user=()
user=$(id -un)
if [ "$(id -u)" -eq 0 ]; then
	user=tollbox-run
	id "$user" >/dev/null 2>&1 || useradd --system --no-create-home \
		--shell /usr/sbin/nologin "$user"
	as_user=(setpriv --reuid "$user" --regid "$(id -gn "$user")"
		--clear-groups)
fi

# What the attacks look for on the host.
chmod 711 "$top"
mkdir "$top/src" "$top/open"
chmod 777 "$top/open"
cp "$build/tests/escape/box" "$build/sandbox-init" "$top/"
cp "$here"/attacks/* "$top/src/"
chmod -R a+rX "$top/src"
for name in root-only tollbox-only run-user-only; do
	printf '%s\n' "$secret" >"$top/$name"
	chmod 600 "$top/$name"
done
if [ "$(id -u)" -eq 0 ]; then
	chown "$user" "$top/run-user-only"
	! id tollbox >/dev/null 2>&1 || chown tollbox "$top/tollbox-only"
fi

# A process and a server of the same user on the host.
"${as_user[@]}" sleep 300 &
sleeper=$!
"${as_user[@]}" /usr/bin/python3 -c '
import socket, sys, time
tcp = socket.create_server(("127.0.0.1", 0))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + sys.argv[1])
abstract.listen()
path = socket.socket(socket.AF_UNIX)
path.bind(sys.argv[2])
path.listen()
print(tcp.getsockname()[1], flush=True)
time.sleep(300)
' "$secret" "$top/open/sock" >"$top/port" &
server=$!
for _ in $(seq 100); do
	[ ! -s "$top/port" ] || break
	sleep 0.1
done
port=$(cat "$top/port")

ok() {
	passed=$((passed + 1))
	[ -z "${VERBOSE:-}" ] || printf 'ok   %s\n' "$*"
}
fail() {
	failed=$((failed + 1))
	printf 'FAIL %s\n' "$*"
}
# expect NAME TEXT REGEX
expect() {
	if [[ $2 =~ $3 ]]; then ok "$1"; else fail "$1: got '$2'"; fi
}
# Environment and descriptors of whoever starts the sandbox hold secrets.
box() {
	SECRET=$secret "${as_user[@]}" "$top/box" "$@" 200<"$top/port" \
		2>"$top/err" >"$top/out"
}

# attack TITLE FILE [box options] -- [arguments]: each line that it prints
# counts.
attack() {
	local title=$1 source=$top/src/$2 options=() line n=0
	shift 2
	while [ "${1:---}" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	for line in "$@"; do
		options+=(-a "$line")
	done
	box -t 20000 -b '/etc/python3*' -f "probe.py=$top/src/probe.py" \
		"${options[@]}" "$top/sandbox-init" "$source" \
		"main.${source##*.}" "${interpreter[${source##*.}]}" '{entry}'
	while read -r line; do
		case $line in
		ok*) ok "$title: ${line#ok }" && n=$((n + 1)) ;;
		FAIL*) fail "$title: ${line#FAIL }" ;;
		esac
	done <"$top/out"
	if [ "$(tail -n 1 "$top/out")" != 'done' ] || [ "$n" -eq 0 ]; then
		fail "$title: did not finish: $(tail -n 3 "$top/out" "$top/err")"
	fi
	expect "$title: reported and gone" "$(cat "$top/err")" \
		'box: exit 0.*gone 1'
}

# script TITLE SOURCE WANTED-OUTPUT WANTED-END [box options]: a bash program.
script() {
	local title=$1 wanted=$3 end=$4
	printf '%s\n' "$2" >"$top/src/script.sh"
	shift 4
	box "$@" "$top/sandbox-init" "$top/src/script.sh" main.sh \
		/usr/bin/bash '{entry}'
	expect "$title: output" "$(cat "$top/out")" "^$wanted\$"
	expect "$title: end" "$(cat "$top/err")" "box: $end"
}

attack itself itself.py -- "$secret" "$top"
attack 'itself, descriptors let through' itself.py -k -- "$secret" "$top"
attack network network.py -- "$port" "$secret" "$top/open/sock"
attack kernel kernel.py --
attack others others.py -- "$sleeper"
attack files files.py -w 67108864 -- 67108864 "$top"
attack 'files, least work folder' files.py -w 1048576 -- 1048576 "$top"
attack bomb bomb.py --
attack lasting lasting.py --
attack 'python works' works.py --
attack 'node works' works.js --

# One layer less: the next one holds.
attack 'no filter: kernel' kernel.py -l filter -e FILTER=off --
attack 'no filter: lasting' lasting.py -l filter --
attack 'no filter: others' others.py -l filter -e FILTER=off -- "$sleeper"
attack 'no --disable-userns: kernel' kernel.py -l userns --
attack 'no --remount-ro: files' files.py -w 67108864 -l remount \
	-e REMOUNT=off -- 67108864 "$top"

# What PID 1 saw, and who it says tried.
seen() {
	script "$1" "$2" '' "(exit|signal) .*seen $3"
}
seen 'saw nothing' 'echo x >/box/x; cat /etc/passwd >/dev/null; mkdir /tmp/y' \
	'network 0 writes 0 denied 0 first -'
seen 'saw the network' 'exec 3<>/dev/tcp/192.0.2.1/80' 'network 1 writes 0'
seen 'saw a look-up' 'exec 3<>/dev/tcp/example.com/80' 'network [1-9]'
seen 'saw its own network' 'exec 3<>/dev/tcp/127.0.0.1/80' 'network 0'
seen 'saw writes' 'echo x >/etc/x; mkdir /usr/x' 'network 0 writes 2'
seen 'saw a refused call' 'unshare -Ur true' \
	'network 0 writes 0 denied 1 first unshare'

seen 'saw a refused protocol' \
	'python3 -c "import socket; socket.socket(2, 1, 132)" 2>/dev/null' \
	'network 0 writes 0 denied 1 first socket'
seen 'saw nothing in MPTCP' \
	'python3 -c "import socket; socket.socket(2, 1, 262)" 2>/dev/null' \
	'network 0 writes 0 denied 0 first -'

kill -0 "$sleeper" 2>/dev/null
expect 'the process on the host lives' $? '^0$'
kill -0 "$server" 2>/dev/null
expect 'the server on the host lives' $? '^0$'

# Ends, told apart (sandbox-faults.md 1, 2, 7, 8, 10, 43).
gone='.* gone 1'
script 'exit code' 'exit 7' '' "exit 7$gone"
script 'exit 139' 'exit 139' '' "exit 139$gone"
script 'exit 137' 'exit 137' '' "exit 137$gone"
script 'exit 255' 'exit 255' '' "exit 255$gone"
script 'segmentation fault' 'kill -SEGV $$' '' "signal 11$gone"
script 'SIGKILL' 'kill -9 $$' '' "signal 9$gone"
script 'SIGTERM' 'kill $$' '' "signal 15$gone"
script 'SIGPIPE is not ignored' 'yes | head -n 1; echo "${PIPESTATUS[0]}"' \
	$'y\n141' "exit 0$gone"
script 'no core file' 'ulimit -c; bash -c "kill -SEGV \$\$"; ls' \
	$'0\nmain.sh' "exit 0$gone"
script 'background child holds the pipes' 'sleep 60 & echo finished' \
	finished $'exit 0\nbox: ms [0-9]{1,4} .* gone 1'
script 'daemon' '(setsid bash -c "trap \"\" TERM HUP; while :; do sleep 0.1
	done" >/dev/null 2>&1 </dev/null &) ; echo started' started \
	"exit 0$gone"
script 'stopped' 'kill -STOP $$' '' "signal 9$gone" -t 300
script 'sleeps for ever' 'echo before; sleep 60' before \
	$'signal 9\nbox: ms ([3-9][0-9]{2}|[1-4][0-9]{3}) .* gone 1' -t 300
script 'stdin byte for byte' 'cat; echo "|"' $'a b\nc\\|' "exit 0$gone" \
	-i $'a b\nc'
script 'arguments and variables' 'echo "$# $1 $2 $K $HOME"' \
	'2 a b  v= /h' "exit 0$gone" -a 'a b' -a '' -e K=v= -e HOME=/h
script 'work folder full at the end' \
	'head -c 9000000 /dev/zero >x 2>/dev/null; ls -s x | cut -d" " -f1' \
	'10[0-9]{2}' 'exit 0.* full 1 gone 1' -w 1048576

# Jobs that must not be set up (init is asked directly, no gate before it).
printf 'x' >"$top/src/x"
head -c 2000000 /dev/zero >"$top/src/big"
for path in ../x /etc/x a/../../x ./x 'a//b' a/ .. ''; do
	script "file named '$path'" 'echo ran' '' \
		"(failed file path: Invalid|failed job image: Bad message)" \
		-f "$path=$top/src/x"
done
script 'file over the entry file' 'echo ran' '' \
	'failed create file: File exists' -f "main.sh=$top/src/x"
script 'file as a folder' 'echo ran' '' \
	'failed make folder: Not a directory|failed create file' \
	-f "a=$top/src/x" -f "a/b=$top/src/x"
script 'files that do not fit' 'echo ran' '' \
	'failed write file: No space left on device, disk full 1' \
	-w 1048576 -f "big=$top/src/big"
script 'files in folders' 'cat a/b/c; wc -c <big' x2000000 "exit 0$gone" \
	-f "a/b/c=$top/src/x" -f "big=$top/src/big"
# A boxer that misbehaves does not leave a sandbox behind.
script 'no job' 'echo ran' '' 'failed control socket: .*gone 1' -j hangup
script 'job without image' 'echo ran' '' 'failed message: Bad message' \
	-j nofd
script 'image that may change' 'echo ran' '' 'failed job seals' -j unsealed
script 'image of another length' 'echo ran' '' 'failed job length' -j longer
script 'a message too many' 'sleep 60' '' \
	$'signal 9\nbox: ms [0-9]{1,4} .* gone 1' -j twice
script 'deadline forgotten' 'sleep 60' '' \
	$'signal 9\nbox: ms [2-4][0-9]{3} .* gone 1' -t 100 -j forgets
box "$top/sandbox-init" "$top/src/x" main.x /usr/bin/nothing-there
expect 'no such interpreter' "$(cat "$top/err")" \
	'box: failed exec: No such file'
box "$top/sandbox-init" "$top/src/x" main.x "$top/box"
expect 'interpreter of the host' "$(cat "$top/err")" \
	'box: failed exec: No such file'
"$top/sandbox-init" 64 65 66 67 68 true
expect 'sandbox-init by hand' $? '^2$'

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 200 ]
