/*
 * A config file of any bytes, and behind NULs the environment over it. What
 * loads writes itself for each process as text that reads back to the same, and
 * the boxer's has nothing of payments; what does not load says why.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/conf.h"
#include "base/log.h"
#include "base/utf8.h"

#define SETTINGS "/etc/tollbox/fuzz.conf"
#define VARIABLES 8
#define OUT_BYTES (4u << 20)

/* What SETTINGS holds; -1: none is open. */
static int settings = -1;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);

/* The settings are the input. All other files that they name are there, and
 * short: what is really there may be a terminal that waits. */
int
__wrap_open(const char *path, int flags, ...)
{
	static const char text[] = "# nothing\n";
	mode_t mode = 0;
	va_list ap;
	int fd;

	if ((flags & O_CREAT) != 0) {
		va_start(ap, flags);
		mode = va_arg(ap, mode_t);
		va_end(ap);
	}
	if (settings < 0)
		return __real_open(path, flags, mode);
	if (strcmp(path, SETTINGS) == 0)
		return fcntl(settings, F_DUPFD_CLOEXEC, 0);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	must(fd >= 0 && pwrite(fd, text, strlen(text), 0) > 0);
	return fd;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_open("fuzz", LOG_LEVEL_ERR);
	return 0;
}

static void
check_refusal(const struct conf *c, enum status st, const struct fault *f)
{
	must(c == NULL && f->st == st && f->message[0] != '\0');
	must(utf8_valid(f->message, strlen(f->message)));
}

/* Written, read and written again it is the same. */
static void
check_role(const struct conf *c, enum conf_role role)
{
	struct fault f = { .st = ST_OK };
	struct buf first, second;
	struct conf *again;

	buf_init(&first, OUT_BYTES);
	buf_init(&second, OUT_BYTES);
	conf_write(&first, c, role);
	must(buf_status(&first) == ST_OK);
	must(conf_parse(&again, buf_cstr(&first), &f) == ST_OK);
	conf_write(&second, again, role);
	must(strcmp(buf_cstr(&first), buf_cstr(&second)) == 0);
	if (role == CONF_BOXER) {
		must(strstr(buf_cstr(&first), "\npay_to = ") == NULL);
		must(strstr(buf_cstr(&first), "\nstore = ") == NULL);
		must(strstr(buf_cstr(&first), "\nauth_header") == NULL);
	}
	conf_free(again);
	buf_free(&first);
	buf_free(&second);
}

static void
check_conf(const struct conf *c)
{
	struct fault f = { .st = ST_OK };
	struct buf shown;

	must(c->max_runs > 0 && c->memory_bytes > 0 && c->n_tiers > 0);
	for (size_t i = 0; i < c->n_tiers; i++) {
		must(c->tiers[i].price_micros > 0);
		must(i == 0 ||
		     c->tiers[i - 1].price_micros <= c->tiers[i].price_micros);
	}
	for (int role = 0; role < CONF_ROLE_MAX; role++)
		check_role(c, (enum conf_role)role);
	if (conf_complete(c, &f) != ST_OK)
		must(f.message[0] != '\0');
	buf_init(&shown, OUT_BYTES);
	conf_print(&shown, c);
	must(buf_status(&shown) == ST_OK);
	buf_free(&shown);
}

/* Text that a process of ours was handed, for its form alone. */
static void
handed(const char *text)
{
	struct fault f = { .st = ST_OK };
	struct conf *c;
	enum status st = conf_parse(&c, text, &f);

	if (st != ST_OK)
		check_refusal(c, st, &f);
	conf_free(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *at;
	char *environment[VARIABLES + 1] = { NULL };
	struct fault f = { .st = ST_OK };
	struct conf *c;
	enum status st;

	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	at = text + strlen(text);
	for (size_t i = 0; i < VARIABLES && at < text + size; i++) {
		environment[i] = at + 1;
		at += 1 + strlen(at + 1);
	}
	settings = memfd_create("settings", MFD_CLOEXEC);
	must(settings >= 0);
	must(pwrite(settings, text, strlen(text), 0) == (ssize_t)strlen(text));
	st = conf_load(&c, SETTINGS, environment, &f);
	if (st == ST_OK)
		check_conf(c);
	else
		check_refusal(c, st, &f);
	conf_free(c);
	handed(text);
	close(settings);
	settings = -1;
	free(text);
	return 0;
}
