#!/bin/bash
# The rules of the house that no compiler checks: layers, prefixes of exported
# symbols, headers that stand alone, one user for each library, banned calls.
# Usage: structure.sh BUILD (object files of a finished build).
set -eu -o pipefail
cd "$(dirname "$0")/../.."
build=$1
bad=0

fail() {
	printf 'lint: %s\n' "$*"
	bad=1
}

grep -rHE '^#include "' fcgi sandbox-scripts --include='*.[ch]' |
	awk -f tests/lint/layers.awk || bad=1

# foo.c exports foo, foo_* or foos_* only.
while read -r object; do
	stem=$(basename "$object" .o)
	[ "$stem" = main ] && continue
	nm -g --defined-only "$object" | awk 'NF == 3 { print $3 }' |
		grep -vE "^(${stem}s?(_|\$)|__(odr_)?asan|__ubsan)" |
		sed "s|^|lint: $object exports |" && bad=1
done < <(find "$build/fcgi" -name '*.o')

for header in fcgi/*.h fcgi/*/*.h fcgi/*/*/*.h; do
	"${CC:-cc}" -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Ifcgi \
		-fsyntax-only -x c "$header" || fail "$header does not stand alone"
done

# A third-party header has one user: one file, or the files of one module.
for lib in fcgiapp.h cjson/cJSON.h curl/curl.h sqlite3.h seccomp.h ini.h \
	secp256k1.h nettle/sha3.h zlib.h; do
	users=$(grep -rlE "^#include <$lib>" fcgi --include='*.[ch]' |
		sed -E 's|.*/([a-z0-9]+)[_.].*|\1|' | sort -u)
	[ "$(wc -w <<<"$users")" -le 1 ] || [ "$lib" = cjson/cJSON.h ] ||
		fail "$lib is used by more than one module: $(tr '\n' ' ' <<<"$users")"
done

banned='strcpy|strcat|sprintf|vsprintf|strtok|atoi|atol|atof|sscanf|gets|system|popen|alloca|localtime|gmtime|signal|tmpnam|mktemp'
grep -rnE "(^|[^A-Za-z0-9_.>])($banned)\(" fcgi sandbox-scripts --include='*.[ch]' |
	sed 's/^/lint: banned call: /' && bad=1

grep -rnwE '(TODO|FIXME|XXX)' fcgi sandbox-scripts nginx tests/harness tests/blackbox \
	--include='*.[ch]' --include='*.sh' --include='*.mjs' --include='*.conf' |
	grep -vE '#[0-9]+' | sed 's/^/lint: a note without an issue number: /' && bad=1

exit "$bad"
