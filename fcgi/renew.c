#include "renew.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/status.h"
#include "box/host.h"

/* What super has opened, made or given away at its start. */
static const struct fixed {
	const char *name;
	size_t at;
} fixed[] = {
	{ "[service] name", offsetof(struct conf, name) },
	{ "[service] listen", offsetof(struct conf, listen) },
	{ "[service] listen_tcp", offsetof(struct conf, listen_tcp) },
	{ "[service] listen_tcp_peers",
	    offsetof(struct conf, listen_tcp_peers) },
	{ "[service] socket_group", offsetof(struct conf, socket_group) },
	{ "[service] user", offsetof(struct conf, user) },
	{ "[service] run_user", offsetof(struct conf, run_user) },
	{ "[service] state_dir", offsetof(struct conf, state_dir) },
	{ "[service] store", offsetof(struct conf, store) },
	{ "[sandbox] init", offsetof(struct conf, init) },
	{ "[sandbox] memory_limit", offsetof(struct conf, memory_limit) },
};

static const char *
text_at(const struct conf *c, size_t at)
{
	const char *text;

	memcpy(&text, (const char *)c + at, sizeof(text));
	return text;
}

static enum status
same_fixed(const struct conf *a, const struct conf *b, struct fault *f)
{
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		const char *x = text_at(a, fixed[i].at);
		const char *y = text_at(b, fixed[i].at);

		if (x == y || (x != NULL && y != NULL && strcmp(x, y) == 0))
			continue;
		return fault_set(f, ST_REFUSED,
		    "%s has changed, which needs a restart", fixed[i].name);
	}
	return ST_OK;
}

static void
host_line(void *ctx, const struct host_line *line)
{
	(void)ctx;
	if (!line->ok)
		log_err("host: %s: %s", line->what, line->text);
}

/* Whoever has paid must not meet a runtime that does not run. In a process of
 * its own, since signals come to this one through a descriptor only. */
static enum status
try_runtimes(const struct conf *c, struct fault *f)
{
	sigset_t none;
	int how = 0;
	pid_t pid = fork();

	if (pid == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		_exit(host_try_runtimes(c, host_line, NULL) ? 0 : 1);
	}
	if (pid < 0)
		return fault_set(f, ST_IO, "fork: %s", strerror(errno));
	while (waitpid(pid, &how, 0) < 0)
		if (errno != EINTR)
			return fault_set(f, ST_IO, "wait: %s", strerror(errno));
	if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
		return fault_set(f, ST_REFUSED, "a runtime does not run");
	return ST_OK;
}

bool
renew_ask(struct renew *r)
{
	struct fault f = { .st = ST_OK };
	struct conf *c = NULL;
	enum status st = conf_load(&c, r->path, r->environment, &f);

	if (st == ST_OK)
		st = conf_complete(c, &f);
	if (st == ST_OK)
		st = conf_secrets(c, &f);
	if (st == ST_OK)
		st = same_fixed(r->now, c, &f);
	if (st == ST_OK)
		st = try_runtimes(c, &f);
	if (st != ST_OK) {
		log_err("the settings stay as they are: %s",
		    f.message[0] != '\0' ? f.message : status_name(st));
		conf_free(c);
		return false;
	}
	conf_free(r->next);
	r->next = c;
	return true;
}

void
renew_take(struct renew *r)
{
	conf_free(r->before);
	r->before = r->now;
	r->now = r->next;
	r->next = NULL;
}

void
renew_settle(struct renew *r)
{
	conf_free(r->before);
	r->before = NULL;
}

bool
renew_back(struct renew *r)
{
	if (r->before == NULL)
		return false;
	conf_free(r->now);
	r->now = r->before;
	r->before = NULL;
	return true;
}

void
renew_free(struct renew *r)
{
	conf_free(r->now);
	conf_free(r->next);
	conf_free(r->before);
	r->now = r->next = r->before = NULL;
}
