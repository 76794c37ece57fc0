# shellcheck shell=bash
# Read as BASH_ENV while bash is started ahead of its job (init_warm.c).
if [ $$ = 2 ]; then
	printf R >&199
	IFS= read -rN1 -u198 REPLY
	exec 198<&- 199>&-
	unset REPLY
	SECONDS=0
fi
unset BASH_ENV
: "$BASH" # what $_ is in the beginning
