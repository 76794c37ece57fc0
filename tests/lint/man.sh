#!/bin/bash
# The manual pages: well-formed for mandoc and for groff, and every setting of
# the example is in tollbox.conf(5). (That the example has every setting is a
# unit test.)
set -eu -o pipefail
cd "$(dirname "$0")/../.."
bad=0

make -s man
# Its own pages are not installed here, and a heading in brackets is meant.
mandoc -Tlint -Wwarning build/man/*.[58] || bad=1
for page in build/man/*.[58]; do
	said=$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" \
		2>&1 >/dev/null)
	if [ -n "$said" ]; then
		printf '%s: %s\n' "$page" "$said"
		bad=1
	fi
done
mandoc -Tutf8 build/man/tollbox.conf.5 | col -b >build/man/text
while read -r setting; do
	grep -qF "$setting" build/man/text || {
		echo "tollbox.conf(5) has no $setting"
		bad=1
	}
done < <(sed -nE 's/^#?([a-z_]+ = ).*/\1/p' docs/tollbox.conf.example | sort -u)
exit "$bad"
