#include "box/host_attacks.h"

#include <stdio.h>
#include <string.h>

#include "box/trial.h"

#define SHELL "/usr/bin/bash"

/* Each function says what it got and gives true if it got something. Paths
 * of the program's own files and the usual folders are all it may name. */
static const char script[] =
    "exec 2>/dev/null\n"
    "attack_network() {\n"
    "	local name\n"
    "	while read -r name _; do\n"
    "		[[ $name == lo:* || $name != *:* ]] ||\n"
    "			{ echo \"interface $name\"; return; }\n"
    "	done </proc/net/dev\n"
    "	exec 9<>/dev/udp/192.0.2.1/9 && echo 'a route to 192.0.2.1'\n"
    "}\n"
    "attack_namespaces() { unshare --user true && echo 'made one'; }\n"
    "attack_mount() { mount -t tmpfs none /box && echo 'over /box'; }\n"
    "attack_write() {\n"
    "	local f\n"
    "	for f in /x /usr/x /etc/x /dev/x /proc/sys/kernel/hostname \\\n"
    "		/proc/self/oom_score_adj; do\n"
    "		(: >\"$f\") && { echo \"$f\"; return; }\n"
    "	done\n"
    "	false\n"
    "}\n"
    "attack_read() {\n"
    "	local f\n"
    "	for f in /etc/shadow /proc/1/environ /proc/1/mem /proc/kcore \\\n"
    "		/proc/kmsg /dev/mem /dev/kmsg /dev/kvm /dev/fuse; do\n"
    "		(: <\"$f\") && { echo \"$f\"; return; }\n"
    "	done\n"
    "	for f in /*; do\n"
    "		case $f in\n"
    "		/bin | /box | /dev | /etc | /lib* | /opt | /proc) ;;\n"
    "		/sbin | /tmp | /usr) ;;\n"
    "		*) echo \"$f\"; return ;;\n"
    "		esac\n"
    "	done\n"
    "	false\n"
    "}\n"
    "attack_processes() {\n"
    "	local all=(/proc/[0-9]*)\n"
    "	((${#all[@]} > 4)) && echo \"${#all[@]} of them\"\n"
    "}\n"
    "attack_descriptors() {\n"
    "	local fd\n"
    "	for fd in /proc/self/fd/*; do\n"
    "		case ${fd##*/} in\n"
    "		0 | 1 | 2 | 255) ;; # the last is this script\n"
    "		*)\n"
    "			[ -e \"$fd\" ] &&\n"
    "				{ echo \"number ${fd##*/}\"; return; }\n"
    "			;;\n"
    "		esac\n"
    "	done\n"
    "	false\n"
    "}\n"
    "attack_privileges() {\n"
    "	local key value init\n"
    "	while read -r key value; do\n"
    "		[ \"$key\" != Seccomp_filters: ] || init=$value\n"
    "	done </proc/1/status\n"
    "	while read -r key value; do\n"
    "		case $key in\n"
    "		Cap*) [[ $value =~ ^0+$ ]] ;;\n"
    "		NoNewPrivs:) [ \"$value\" = 1 ] ;;\n"
    "		Seccomp:) [ \"$value\" = 2 ] ;;\n"
    "		Seccomp_filters:) ((value > init)) ;; # PID 1 has one\n"
    "		Uid:) [[ $value =~ ^1000[[:space:]] ]] ;;\n"
    "		esac || { echo \"$key $value\"; return; }\n"
    "	done </proc/self/status\n"
    "	false\n"
    "}\n"
    "attack_limits() {\n"
    "	local pair\n"
    "	for pair in u:64 n:256 c:0; do\n"
    "		[ \"$(ulimit \"-H${pair%:*}\")\" -le \"${pair#*:}\" ] ||\n"
    "			{ echo \"ulimit -${pair%:*}\"; return; }\n"
    "	done\n"
    "	false\n"
    "}\n"
    "for name in network namespaces mount write read processes descriptors \\\n"
    "	privileges limits; do\n"
    "	if got=$(\"attack_$name\"); then\n"
    "		echo \"$name: open: $got\"\n"
    "	else\n"
    "		echo \"$name: refused\"\n"
    "	fi\n"
    "done\n";

#define BWRAP                                                                  \
	"; take the distribution's own bubblewrap, 0.8 or newer, not setuid"

static const struct {
	const char *name; /* in the script */
	const char *what;
	const char *mend;
} attacks[] = {
	{ "network", "reach a network",
	    "; use a kernel with network namespaces (CONFIG_NET_NS)" },
	{ "namespaces", "make a user namespace", BWRAP },
	{ "mount", "mount a file system", BWRAP },
	{ "write", "write outside its folders", BWRAP },
	{ "read", "read what is not its own", BWRAP },
	{ "processes", "see other processes",
	    "; use a kernel with PID namespaces (CONFIG_PID_NS)" },
	{ "descriptors", "find open descriptors",
	    "; take the sandbox-init of this build" },
	{ "privileges", "have privileges, or no filter",
	    "; use a kernel with CONFIG_SECCOMP_FILTER, and the sandbox-init "
	    "of this build" },
	{ "limits", "run without limits",
	    "; take the sandbox-init of this build" },
};

/* What stands behind "NAME: " in the program's output, copied to out; false if
 * it is not there. */
static bool
find(char *out, size_t cap, const char *output, const char *name)
{
	size_t len = strlen(name), n;
	const char *p = output;

	while (p != NULL) {
		if (strncmp(p, name, len) == 0 && p[len] == ':' &&
		    p[len + 1] == ' ') {
			p += len + 2;
			n = strcspn(p, "\n");
			if (n >= cap)
				n = cap - 1;
			memcpy(out, p, n);
			out[n] = '\0';
			return true;
		}
		p = strchr(p, '\n');
		if (p != NULL)
			p++;
	}
	return false;
}

static void
judge(struct host_line *line, size_t i, const char *output)
{
	char got[80];

	line->what = "attack";
	line->ok = find(got, sizeof(got), output, attacks[i].name) &&
		   strcmp(got, "refused") == 0;
	if (line->ok)
		snprintf(line->text, sizeof(line->text), "%s: refused",
		    attacks[i].what);
	else if (strncmp(got, "open: ", 6) == 0)
		snprintf(line->text, sizeof(line->text), "%s: it could (%s)%s",
		    attacks[i].what, got + 6, attacks[i].mend);
	else
		snprintf(line->text, sizeof(line->text),
		    "%s: not tried, the program before it ended; is there a "
		    "bash of 4.0 or newer?",
		    attacks[i].what);
}

void
host_attacks_try(const struct conf *c, uid_t uid, gid_t gid,
    void (*fn)(void *ctx, const struct host_line *line), void *ctx)
{
	static char name[] = "attacks", entry[] = "main.sh", shell[] = SHELL;
	static char *command[] = { shell, entry, NULL };
	struct conf_runtime bash = {
		.name = name, .entry = entry, .command = command
	};
	const struct trial_ask ask = { .conf = c,
		.runtime = &bash,
		.source = script,
		.uid = uid,
		.gid = gid };
	struct host_line line = { .what = "attack" };
	struct trial_told told;
	struct fault f = { 0 };

	if (trial_run(&told, &ask, &f) != ST_OK) {
		snprintf(line.text, sizeof(line.text),
		    "none can be tried: %.150s; is " SHELL " there?",
		    f.message);
		fn(ctx, &line);
		return;
	}
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		judge(&line, i, told.output);
		fn(ctx, &line);
	}
}
