# Reads "FILE:#include "room/x.h"" lines (grep -H). An include may go down or
# stay in its room, never up or sideways. Rooms by rank; pay and box share a
# rank and never see each other.
BEGIN {
	rank["base"] = 0; rank["pay"] = 1; rank["box"] = 1
	rank["web"] = 2; rank["top"] = 3
}
{
	file = $0; sub(/:.*/, "", file)
	inc = $0; sub(/^[^"]*"/, "", inc); sub(/".*/, "", inc)
	if (match(file, /^fcgi\/[a-z]+\//))
		from = substr(file, 6, RLENGTH - 6)
	else if (file ~ /^fcgi\//)
		from = "top"
	else
		from = "init"
	sub(/\/$/, "", from)
	to = inc ~ /\// ? inc : "top"
	sub(/\/.*/, "", to)
	bad = 0
	if (from == "init") {
		# PID 1 of a sandbox knows the messages, what reads paths, and its
		# own parts only.
		if (inc !~ /^base\/(wire|limits|utf8|wild)\.h$/ && inc !~ /^init/)
			bad = 1
	} else if (rank[to] > rank[from] || (to != from && rank[to] == rank[from]))
		bad = 1
	if (bad) {
		printf "%s: must not include %s\n", file, inc
		errors++
	}
}
END { exit errors > 0 }
