#include "drop.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/own.h"

#define STATUS_BYTES 65536

#if defined(__SANITIZE_ADDRESS__)
#define LEAK_CHECKER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAK_CHECKER 1
#endif
#endif
#ifndef LEAK_CHECKER
#define LEAK_CHECKER 0
#endif

static enum status
failed(const char *what)
{
	log_err("drop: %s: %s", what, strerror(errno));
	return ST_IO;
}

/* Needs CAP_SETPCAP, so it comes before the uid goes. */
static enum status
drop_bounding(void)
{
	for (unsigned long cap = 0; cap < 64; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		/* The kernel's last capability is behind us. */
		if (errno == EINVAL && cap > CAP_SETFCAP)
			return ST_OK;
		return failed("bounding set");
	}
	return ST_OK;
}

static enum status
drop_sets(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return failed("ambient set");
	if (syscall(SYS_capset, &head, none) != 0)
		return failed("capset");
	return ST_OK;
}

/* Does the line `name:` of /proc/self/status hold exactly want? */
static bool
line_is(const char *status, const char *name, const char *want)
{
	size_t len = strlen(name);
	const char *at;
	size_t n;

	for (at = status; at != NULL; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, len) == 0 && at[len] == ':')
			break;
	}
	if (at == NULL)
		return false;
	at += len + 1;
	at += strspn(at, " \t");
	n = strcspn(at, "\n");
	while (n > 0 && (at[n - 1] == ' ' || at[n - 1] == '\t'))
		n--;
	return n == strlen(want) && strncmp(at, want, n) == 0;
}

static enum status
look_back(uid_t uid, gid_t gid)
{
	static const char zero[] = "0000000000000000";
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff",
		"CapBnd", "CapAmb" };
	OWN_FREE char *status = NULL;
	char ids[64];
	gid_t group;
	uid_t u[3];
	gid_t g[3];

	if (getresuid(&u[0], &u[1], &u[2]) != 0 ||
	    getresgid(&g[0], &g[1], &g[2]) != 0)
		return failed("ids");
	for (int i = 0; i < 3; i++)
		if (u[i] != uid || g[i] != gid) {
			log_err("drop: an id is left");
			return ST_REFUSED;
		}
	if (getgroups(1, &group) != 0) {
		log_err("drop: a group is left");
		return ST_REFUSED;
	}
	if (setuid(0) == 0 || setgid(0) == 0) {
		log_err("drop: root can be had back");
		return ST_REFUSED;
	}
	if (io_read_path("/proc/self/status", STATUS_BYTES, &status, NULL) !=
	    ST_OK)
		return failed("/proc/self/status");
	/* Real, effective, saved, and that of the file system. */
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", uid, uid, uid, uid);
	if (!line_is(status, "Uid", ids)) {
		log_err("drop: a uid is left");
		return ST_REFUSED;
	}
	snprintf(ids, sizeof(ids), "%u\t%u\t%u\t%u", gid, gid, gid, gid);
	if (!line_is(status, "Gid", ids) || !line_is(status, "Groups", "")) {
		log_err("drop: a gid is left");
		return ST_REFUSED;
	}
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (!line_is(status, sets[i], zero)) {
			log_err("drop: %s is not empty", sets[i]);
			return ST_REFUSED;
		}
	if (!line_is(status, "NoNewPrivs", "1")) {
		log_err("drop: new privileges are possible");
		return ST_REFUSED;
	}
	return ST_OK;
}

enum status
drop_privileges(uid_t uid, gid_t gid)
{
	enum status st;

	if (uid == 0 || gid == 0) {
		log_err("drop: not to root");
		return ST_REFUSED;
	}
	st = drop_bounding();
	if (st != ST_OK)
		return st;
	if (setgroups(0, NULL) != 0)
		return failed("setgroups");
	if (setresgid(gid, gid, gid) != 0)
		return failed("setresgid");
	if (setresuid(uid, uid, uid) != 0)
		return failed("setresuid");
	st = drop_sets();
	if (st != ST_OK)
		return st;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return failed("no_new_privs");
	/* Another process of the same user must not look into this one. A leak
	 * checker is such a process, in builds that have one. */
	if (prctl(PR_SET_DUMPABLE, LEAK_CHECKER, 0, 0, 0) != 0)
		return failed("dumpable");
	return look_back(uid, gid);
}

enum status
drop_to_user(const char *name)
{
	const struct passwd *pw;

	if (geteuid() != 0)
		return ST_OK;
	pw = getpwnam(name);
	if (pw == NULL) {
		log_err("there is no user %s", name);
		return ST_NOT_FOUND;
	}
	return drop_privileges(pw->pw_uid, pw->pw_gid);
}
