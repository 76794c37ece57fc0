#include "role.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/io.h"
#include "base/log.h"
#include "box/boxer.h"
#include "drop.h"
#include "web/gate.h"

static enum log_level
log_level(const struct conf *c)
{
	static const char *const names[LOG_LEVEL_MAX] = {
		[LOG_LEVEL_ERR] = "err",
		[LOG_LEVEL_WARN] = "warn",
		[LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug",
	};

	for (int i = 0; i < LOG_LEVEL_MAX; i++)
		if (strcmp(names[i], c->log_level) == 0)
			return (enum log_level)i;
	return LOG_LEVEL_INFO;
}

void
role_log(const char *role, const struct conf *c)
{
	log_open(role, log_level(c));
	log_set_form(
	    strcmp(c->log, "json") == 0 ? LOG_FORM_JSON : LOG_FORM_TEXT);
}

/* A decimal id other than root's. */
static bool
id_of(unsigned *out, const char *text)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || v == 0 || v >= UINT32_MAX)
		return false;
	*out = (unsigned)v;
	return true;
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Nothing that this process starts may inherit one. */
static bool
close_on_exec(int from, int to)
{
	for (int fd = from; fd <= to; fd++)
		if (is_open(fd) && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
			return false;
	return true;
}

static enum status
read_conf(struct conf **c)
{
	struct fault f = { .st = ST_BUG };
	char *text = NULL;
	size_t len = 0;
	enum status st =
	    io_read_file(ROLE_FD_CONF, CONF_FILE_BYTES, &text, &len);

	close(ROLE_FD_CONF);
	if (st == ST_OK)
		st = conf_parse(c, text, &f);
	if (st != ST_OK)
		log_err("%s", f.message);
	if (text != NULL) {
		explicit_bzero(text, len); /* the facilitator's key is in it */
		free(text);
	}
	return st;
}

/* super's end must be ours, even a kill -9 of it: by a signal, and by the end
 * of file on the life pipe in case it was before the signal was asked for. */
static enum status
tie_to_super(void)
{
	struct pollfd life = { .fd = ROLE_FD_LIFE, .events = POLLIN };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return ST_IO;
	return poll(&life, 1, 0) == 0 ? ST_OK : ST_CLOSED;
}

static enum status
run_gate(const struct conf *c)
{
	const struct gate_fds fds = {
		.listen = ROLE_FD_GATE_LISTEN,
		.listen_tcp = is_open(ROLE_FD_GATE_TCP) ? ROLE_FD_GATE_TCP : -1,
		.boxer = ROLE_FD_GATE_BOXER,
		.life = ROLE_FD_LIFE,
		.control = ROLE_FD_GATE_CONTROL,
		.ready = ROLE_FD_GATE_READY,
	};

	return gate_serve(c, &fds);
}

static enum status
run_boxer(const struct conf *c)
{
	const struct boxer_fds fds = {
		.gate = ROLE_FD_BOXER_GATE,
		.life = ROLE_FD_LIFE,
		.init_binary = ROLE_FD_BOXER_INIT,
	};
	enum status st = boxer_serve(c, &fds, c->name);

	/* The gate has ended and super starts both anew: nothing is wrong. */
	return st == ST_CLOSED ? ST_OK : st;
}

static enum status
not_super(void)
{
	log_err("only `tollbox serve` starts this");
	return ST_REFUSED;
}

enum status
role_run(int argc, char **argv)
{
	struct conf *c = NULL;
	unsigned uid;
	unsigned gid;
	bool gate;
	int last;
	enum status st;

	log_open(argv[1], LOG_LEVEL_INFO);
	if (argc != 4)
		return not_super();
	gate = strcmp(argv[1], ROLE_GATE) == 0;
	last = gate ? ROLE_FD_GATE_TCP : ROLE_FD_BOXER_INIT;
	if (!id_of(&uid, argv[2]) || !id_of(&gid, argv[3]))
		return not_super();
	for (int fd = ROLE_FD_CONF; fd <= last; fd++)
		if (!is_open(fd) && !(gate && fd == ROLE_FD_GATE_TCP))
			return not_super();
	/* The kernel may have called it by its descriptor's number. */
	prctl(PR_SET_NAME, gate ? "tollbox-gate" : "tollbox-boxer", 0, 0, 0);
	if (!close_on_exec(ROLE_FD_CONF, last))
		return ST_IO;
	st = read_conf(&c);
	if (st != ST_OK)
		return st;
	role_log(argv[1], c);
	st = drop_privileges(uid, gid);
	if (st == ST_OK)
		st = tie_to_super(); /* a change of uid would undo it */
	if (st == ST_OK)
		st = gate ? run_gate(c) : run_boxer(c);
	if (st != ST_OK)
		log_err("ends: %s", status_name(st));
	conf_free(c);
	return st;
}
