# shellcheck shell=bash disable=SC2012,SC2231
# All of itself that a bash program can see, a line each: "what: value".
first="$_" status=$? pipes="${PIPESTATUS[*]}" # before anything changes them
n=$LINENO
shown=$(set | grep -vE '^(BASHPID|RANDOM|SRANDOM|EPOCH|_=|pipes=)')
echo "first: $first $status $n"
echo "pipes: $pipes"
echo "flags: $- $0 $# $$ $PPID $BASH_SUBSHELL $SHLVL $((SECONDS > 9))"
while IFS= read -r line; do echo "set ${line%%=*}: $line"; done <<<"$shown"
shopt | while read -r name value; do echo "shopt $name: $value"; done
set -o | while read -r name value; do echo "option $name: $value"; done
echo "env: $(env | sort | tr '\n' ' ')"
echo "environ block: $(od -An -c /proc/$$/environ | tr -d '\n')"
echo "cmdline: $(tr '\0' ' ' </proc/$$/cmdline)"
echo "traps: $(trap -p)"
echo "functions: $(declare -F)$(alias)$(jobs)$(hash 2>&1)$(history 2>&1)"
echo "attributes: $(declare -p | sed 's/=.*//' | sort | tr '\n' ' ')"
echo "cwd: $PWD $(pwd -P) $(umask)"
for fd in /proc/$$/fd/*; do
	echo "descriptor ${fd##*/}: $(readlink "$fd" | sed 's/\[[0-9]*\]//')"
done
ulimit -a | while IFS= read -r line; do echo "limit ${line%%)*}: $line"; done
ulimit -Ha | while IFS= read -r line; do echo "hard ${line%%)*}: $line"; done
while read -r name value; do # without a child, which would change it
	case $name in
	Tracer* | NSpid* | Threads* | Cap* | NoNew* | Secc* | Shd* | Sig[PBIC]*)
		echo "status $name $value"
		;;
	esac
done <"/proc/$$/status"
echo "mounts: $(cut -d' ' -f4- /proc/$$/mountinfo | tr '\n' ';')"
echo "maps: $(awk '{ print $6 }' /proc/$$/maps | sort -u | tr '\n' ' ')"
echo "init: $(tr '\0' ' ' </proc/1/cmdline | cut -d' ' -f6-)"
for folder in / /box /tmp /dev /dev/shm /etc; do
	echo "folder $folder: $(ls -A $folder | tr '\n' ' ')"
done
echo "null: $(stat -c %F /dev/null) $(cat /dev/null)"
echo "stdin: $(cat)"
echo "child: $(bash -c 'echo $- $# $SHLVL "${BASH_ENV-none}" $(env | sort)')"
echo "stack: ${BASH_SOURCE[*]} ${BASH_LINENO[*]} ${FUNCNAME[*]}"
