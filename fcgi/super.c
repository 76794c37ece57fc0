/*
 * How this works: start-up, each step only after the one before: settings
 * complete, host fit, users there, locks, cgroups, sockets; then gate and
 * boxer, each executed anew (role.h) and watched (watch.h). What is missing
 * stops the start: there is no weaker mode.
 *
 * Both children die with this process, even by kill -9: by a signal of the
 * kernel's and by the life pipe, whose only writing end is here.
 */
#include "super.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/point.h"
#include "box/cgroup.h"
#include "box/host.h"
#include "front.h"
#include "keep.h"
#include "renew.h"
#include "watch.h"

#define PASSED 5 /* variables that the children are given, at most */
#define ENV_BYTES 4096

struct super {
	struct watch_with with;
	struct renew settings;
	struct front front;
	int life_write; /* never written to */
	int name_lock;
	int state_lock;
	char env[PASSED][ENV_BYTES];
	char *gate_environment[PASSED + 1];
	char *boxer_environment[PASSED + 1];
};

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
host_line(void *ctx, const struct host_line *line)
{
	(void)ctx;
	if (!line->ok)
		log_err("host: %s: %s", line->what, line->text);
}

static enum status
user(uid_t *uid, gid_t *gid, const char *name, const char *key, struct fault *f)
{
	const struct passwd *pw = getpwnam(name);

	if (pw == NULL)
		return fault_set(f, ST_NOT_FOUND,
		    "[service] %s: there is no user %s (useradd --system %s)",
		    key, name, name);
	if (pw->pw_uid == 0 || pw->pw_gid == 0)
		return fault_set(
		    f, ST_REFUSED, "[service] %s must not be root", key);
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	return ST_OK;
}

static enum status
users(struct super *s, gid_t *socket_gid, const struct conf *c, struct fault *f)
{
	const struct group *gr;
	enum status st;

	st = user(&s->with.gate_uid, &s->with.gate_gid, c->user, "user", f);
	if (st != ST_OK)
		return st;
	st = user(
	    &s->with.boxer_uid, &s->with.boxer_gid, c->run_user, "run_user", f);
	if (st != ST_OK)
		return st;
	/* Two names can be one number. */
	if (s->with.gate_uid == s->with.boxer_uid)
		return fault_set(f, ST_REFUSED,
		    "[service] user and run_user have the same uid");
	gr = getgrnam(c->socket_group);
	if (gr == NULL)
		return fault_set(f, ST_NOT_FOUND,
		    "[service] socket_group: there is no group %s",
		    c->socket_group);
	*socket_gid = gr->gr_gid;
	return ST_OK;
}

/* Signals come through a descriptor. A log that nobody reads any more must not
 * end the service. */
static enum status
take_signals(int *fd)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &set, NULL) != 0)
		return ST_IO;
	*fd = io_move_high(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
	return *fd >= 0 ? ST_OK : ST_IO;
}

/* An open descriptor works from a folder that only root can read, and after
 * the file was replaced by an update. */
static enum status
open_programs(struct super *s, const struct conf *c, struct fault *f)
{
	int life[2];

	s->with.exe =
	    io_move_high(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	if (s->with.exe < 0)
		return fault_set(
		    f, ST_IO, "/proc/self/exe: %s", strerror(errno));
	s->with.init = io_move_high(open(c->init, O_RDONLY | O_CLOEXEC));
	if (s->with.init < 0)
		return fault_set(f, ST_IO, "[sandbox] init: %s: %s", c->init,
		    strerror(errno));
	if (pipe2(life, O_CLOEXEC) != 0)
		return fault_set(f, ST_IO, "pipe: %s", strerror(errno));
	s->with.life = io_move_high(life[0]);
	s->life_write = io_move_high(life[1]);
	if (s->with.life < 0 || s->life_write < 0)
		return fault_set(f, ST_IO, "pipe: %s", strerror(errno));
	return ST_OK;
}

/* The children's whole environment: what log.c looks at, the options of
 * sanitizers (nobody else reads them), and for the gate libfcgi's list of
 * peers. */
static enum status
make_environment(struct super *s, const struct conf *c)
{
	static const char *const passed[] = {
		"JOURNAL_STREAM",
		"ASAN_OPTIONS",
		"UBSAN_OPTIONS",
#ifdef TOLLBOX_POINTS
		POINT_VARIABLE,
#endif
	};
	size_t n = 0;
	int len;

	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
		const char *value = getenv(passed[i]);

		if (value == NULL)
			continue;
		len = snprintf(s->env[n], ENV_BYTES, "%s=%s", passed[i], value);
		if (len < 0 || len >= ENV_BYTES)
			return ST_TOO_BIG;
		s->gate_environment[n] = s->env[n];
		s->boxer_environment[n] = s->env[n];
		n++;
	}
	if (c->listen_tcp == NULL)
		return ST_OK;
	len = snprintf(s->env[n], ENV_BYTES, "FCGI_WEB_SERVER_ADDRS=%s",
	    c->listen_tcp_peers);
	if (len < 0 || len >= ENV_BYTES)
		return ST_TOO_BIG;
	s->gate_environment[n] = s->env[n];
	return ST_OK;
}

/* The steps in their order. */
static enum status
prepare(struct super *s, struct conf *c, struct fault *f)
{
	gid_t socket_gid = 0;
	enum status st;

	if (geteuid() != 0)
		return fault_set(f, ST_REFUSED,
		    "serve must start as root (it gives it up again)");
	st = conf_complete(c, f);
	if (st == ST_OK)
		st = conf_secrets(c, f);
	if (st == ST_OK)
		st = users(s, &socket_gid, c, f);
	if (st == ST_OK && !host_check(c, host_line, NULL))
		st = fault_set(f, ST_REFUSED,
		    "this host is not fit for the sandbox (tollbox check)");
	if (st == ST_OK)
		st = host_mechanism(&s->with.kind, c, f);
	if (st == ST_OK)
		log_info("memory limit: %s", host_mechanism_text(s->with.kind));
	if (st == ST_OK)
		st = keep_name(&s->name_lock, c->name, f);
	if (st == ST_OK)
		st = keep_state(&s->state_lock, c->state_dir, s->with.gate_uid,
		    s->with.gate_gid, f);
	if (st == ST_OK && s->with.kind != CGROUP_NONE)
		st = cgroup_prepare(s->with.kind, c->name, s->with.boxer_uid,
		    s->with.boxer_gid, f);
	if (st == ST_OK)
		st = front_open(&s->front, c, socket_gid, f);
	if (st == ST_OK)
		st = open_programs(s, c, f);
	if (st == ST_OK)
		st = make_environment(s, c);
	if (st == ST_OK)
		st = take_signals(&s->with.signals);
	return st;
}

enum status
super_serve(struct conf *c, const char *path, char *const *environment)
{
	struct super s = {
		.settings = { .path = path,
		    .environment = environment,
		    .now = c },
		.with = { .settings = &s.settings,
		    .front = &s.front,
		    .kind = CGROUP_NONE,
		    .exe = -1,
		    .init = -1,
		    .life = -1,
		    .signals = -1,
		    .gate_environment = s.gate_environment,
		    .boxer_environment = s.boxer_environment },
		.front = { .unix_fd = -1, .tcp_fd = -1 },
		.life_write = -1,
		.name_lock = -1,
		.state_lock = -1,
	};
	struct fault f = { .st = ST_BUG };
	enum status st;

	st = prepare(&s, c, &f);
	if (st != ST_OK)
		log_err(
		    "%s", f.message[0] != '\0' ? f.message : status_name(st));
	else
		st = watch_run(&s.with);
	front_close(&s.front);
	/* Only who holds the name may take its groups away. */
	if (s.name_lock >= 0 && s.with.kind != CGROUP_NONE)
		cgroup_remove(s.with.kind, s.settings.now->name);
	close_fd(&s.with.exe);
	close_fd(&s.with.init);
	close_fd(&s.with.life);
	close_fd(&s.with.signals);
	close_fd(&s.life_write);
	close_fd(&s.state_lock);
	close_fd(&s.name_lock);
	renew_free(&s.settings);
	if (st == ST_OK)
		log_info("stopped");
	return st;
}
