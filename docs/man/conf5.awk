# tollbox.conf.example -> tollbox.conf(5), so that the page tells of every
# setting and of nothing else. What it relies on: text stands before the settings
# that it is about; "#key = value" and "key = value" are settings, "[x]" begins a
# section, all other comments are text.

function quote(text)
{
	gsub(/\\/, "\\e", text)
	if (text ~ /^[.']/)
		text = "\\&" text
	return text
}

function add(text)
{
	# A sentence begins a line, as manual pages want it.
	text = quote(text)
	gsub(/[.?] +/, "&\n", text)
	gsub(/ +\n/, "\n", text)
	said = said text "\n"
}

# The settings collected so far, with their text below them.
function flush(   i)
{
	if (n > 0 && !listed) {
		print ".Bl -tag -width Ds"
		listed = 1
	}
	for (i = 1; i <= n; i++)
		print ".It Li \"" quote(setting[i]) "\""
	if (said != "" && n == 0)
		print ".Pp"
	printf "%s", said
	said = ""
	n = 0
}

function end_section()
{
	flush()
	if (listed)
		print ".El"
	listed = 0
}

# A paragraph ends; within the file's head that is one of the page too.
function pause()
{
	if (n > 0)
		flush()
	else if (said != "")
		said = said ".Pp\n"
}

BEGIN {
	print ".\\\" Made from docs/tollbox.conf.example; change that one."
	print ".Dd November 29, 2026\n.Dt TOLLBOX.CONF 5\n.Os\n.Sh NAME"
	print ".Nm tollbox.conf\n.Nd settings of Tollbox\n.Sh DESCRIPTION"
	print "The file is"
	print ".Pa /etc/tollbox/tollbox.conf"
	print "unless"
	print ".Xr tollbox 8"
	print "is told another."
	print ".Pp"
}

/^\[/ {
	text = said
	said = ""
	if (section == "") {
		sub(/(\.Pp\n)+$/, "", text)
		head = text
		if (head != "")
			printf "%s", head
		text = ""
		print ".Sh SETTINGS"
	} else
		end_section()
	section = $0
	print ".Ss " quote($0)
	if (text != "") {
		sub(/(\.Pp\n)+$/, "", text)
		printf "%s", text
	}
	next
}

/^#?[a-z_]+ = / {
	sub(/^#/, "")
	setting[++n] = $0
	next
}

/^#/ {
	if (n > 0)
		flush()
	sub(/^#[ ]?/, "")
	if ($0 == "")
		said = said ".Pp\n"
	else
		add($0)
	next
}

/^$/ { pause() }

END {
	end_section()
	print ".Sh FILES"
	print ".Bl -tag -width Ds"
	print ".It Pa /etc/tollbox/tollbox.conf"
	print "Root's alone, mode 0600."
	print ".It Pa /usr/share/doc/tollbox/examples/tollbox.conf.example"
	print "All settings with their values as shipped."
	print ".It Pa /usr/lib/tollbox/runtimes"
	print "A folder for each runtime."
	print ".It Pa /var/lib/tollbox"
	print "The ledger."
	print ".El"
	print ".Sh SEE ALSO"
	print ".Xr tollbox 8"
}
