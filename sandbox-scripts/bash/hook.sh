# shellcheck shell=bash
# Read as BASH_ENV while bash is started ahead of its job (init_warm.c).
if [ $$ = 2 ]; then
	# What a short program does, done once with nothing: it is in memory
	# then. (This file lies over /dev/null.)
	echo >/dev/zero
	SECONDS=0
	unset REPLY
	exec 197</dev/zero 197<&-
	printf R >&199
	IFS= read -rN1 -u198 REPLY
	exec 198<&- 199>&-
	unset REPLY
	SECONDS=0
fi
unset BASH_ENV
: "$BASH" # what $_ is in the beginning
