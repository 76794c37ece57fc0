#include "verify.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/own.h"
#include "pay/did.h"
#include "pay/fetch.h"
#include "pay/receipt_check.h"

#define FILE_BYTES ((size_t)160 << 20) /* 16 MiB of output, each byte six */
#define KEYS_BYTES ((size_t)256 << 10)
#define FETCH_MS 20000
#define URL_BYTES 4096

enum verify_exit {
	VERIFY_HOLDS,
	VERIFY_FAILS,
	VERIFY_WRONG_USAGE,
	VERIFY_CANNOT_TELL
};

struct options {
	const char *file;
	const char *jwks;    /* file or URL; NULL: what the issuer publishes */
	const char *request; /* NULL: not looked at */
	const char *answer;  /* NULL: what FILE holds, if it holds one */
	const char *ca;	     /* NULL: the system's */
};

/* ---- what to read ---- */

static enum status
read_input(char **text, size_t *len, const char *path)
{
	enum status st = strcmp(path, "-") == 0
			     ? io_read_file(STDIN_FILENO, FILE_BYTES, text, len)
			     : io_read_path(path, FILE_BYTES, text, len);

	if (st != ST_OK)
		fprintf(stderr, "tollbox: %s: cannot be read (%s)\n", path,
		    status_name(st));
	return st;
}

static enum status
fetch(struct buf *out, const char *origin, const char *path, const char *ca)
{
	const struct fetch_server server = {
		.who = "keys", .url = origin, .ca_file = ca
	};
	const struct fetch_request q = { .what = "the issuer's keys",
		.path = path,
		.deadline_ms = io_now_ms() + FETCH_MS };
	struct fetch_reply r;
	struct fetch *h = NULL;
	enum status st = fetch_open(&h, &server);

	if (st != ST_OK)
		return st;
	fetch_reply_init(&r, KEYS_BYTES);
	st = fetch_ask(h, &q, &r);
	if (st == ST_OK && r.http != 200) {
		fprintf(stderr, "tollbox: %s%s answers HTTP %ld\n", origin,
		    path, r.http);
		st = ST_IO;
	}
	if (st == ST_OK)
		buf_add(out, r.body.data, r.body.len);
	fetch_reply_free(&r);
	fetch_close(h);
	return st == ST_OK ? buf_status(out) : st;
}

static bool
is_url(const char *s)
{
	return strncmp(s, "https://", 8) == 0 || strncmp(s, "http://", 7) == 0;
}

/* The issuer's keys into out, and where they are from. */
static enum status
read_keys(struct buf *out, struct buf *from, const struct options *o,
    const struct receipt_check *c)
{
	OWN_BUF struct buf origin, path;
	OWN_FREE char *text = NULL;
	size_t len = 0;
	enum status st;

	buf_init(&origin, URL_BYTES);
	buf_init(&path, URL_BYTES);
	if (o->jwks != NULL && !is_url(o->jwks)) {
		buf_adds(from, o->jwks);
		st = read_input(&text, &len, o->jwks);
		if (st == ST_OK)
			buf_add(out, text, len);
		return st == ST_OK ? buf_status(out) : st;
	}
	if (o->jwks != NULL)
		buf_adds(&origin, o->jwks);
	else if (did_document_url(&origin, &path, c->issuer) != ST_OK)
		fprintf(stderr,
		    "tollbox: the issuer is no did:web name that could be "
		    "looked up; give its keys with --jwks\n");
	if (origin.len == 0)
		return ST_FORMAT;
	buf_addf(from, "%s%s", buf_cstr(&origin), buf_cstr(&path));
	st = fetch(out, buf_cstr(&origin), buf_cstr(&path), o->ca);
	if (st != ST_OK)
		fprintf(stderr, "tollbox: %s: the keys cannot be had\n",
		    buf_cstr(from));
	return st;
}

/* ---- what to say ---- */

/* The text may be another's: nothing of it acts on a terminal. */
static void
put_safely(const char *text)
{
	for (; *text != '\0'; text++)
		putchar(*text < ' ' || *text > '~' ? '?' : *text);
}

static enum verify_exit
say(enum status st, const char *what, const char *good, const struct fault *f)
{
	printf("%-4s  %s: ", st == ST_OK ? "ok" : "FAIL", what);
	put_safely(st == ST_OK ? good : f->message);
	putchar('\n');
	return st == ST_OK ? VERIFY_HOLDS : VERIFY_FAILS;
}

static void
skipped(const char *what, const char *why)
{
	printf("-     %s: not looked at (%s)\n", what, why);
}

/* ---- the steps ---- */

static enum verify_exit
check_signature(const struct receipt_check *c, const struct options *o)
{
	struct fault f = { .st = ST_BUG };
	OWN_BUF struct buf keys, from, good;
	enum status st;

	buf_init(&keys, KEYS_BYTES);
	buf_init(&from, 2 * (size_t)URL_BYTES);
	buf_init(&good, 4 * (size_t)URL_BYTES);
	if (read_keys(&keys, &from, o, c) != ST_OK)
		return VERIFY_CANNOT_TELL;
	st = receipt_check_signature(c, buf_cstr(&keys), keys.len, &f);
	buf_addf(&good, "made with %s, a key of %s", c->kid, buf_cstr(&from));
	return say(st, "signature", buf_cstr(&good), &f);
}

static enum verify_exit
check_request(const struct receipt_check *c, const struct options *o)
{
	struct fault f = { .st = ST_BUG };
	OWN_FREE char *text = NULL;
	size_t len = 0;

	if (o->request == NULL) {
		skipped("request", "give its body with --request");
		return VERIFY_HOLDS;
	}
	if (read_input(&text, &len, o->request) != ST_OK)
		return VERIFY_CANNOT_TELL;
	return say(receipt_check_request(c, text, len, &f), "request",
	    "the receipt is for this body", &f);
}

static enum verify_exit
check_answer(const struct receipt_check *c, const struct options *o)
{
	struct fault f = { .st = ST_BUG };
	OWN_FREE char *text = NULL;
	size_t len = 0;

	if (o->answer == NULL && c->answer == NULL) {
		skipped("answer",
		    "the file is a receipt alone; give the answer with "
		    "--answer");
		return VERIFY_HOLDS;
	}
	if (o->answer != NULL && read_input(&text, &len, o->answer) != ST_OK)
		return VERIFY_CANNOT_TELL;
	return say(receipt_check_answer(c, text, len, &f), "answer",
	    "the receipt is for this output and payment", &f);
}

static enum verify_exit
worse(enum verify_exit a, enum verify_exit b)
{
	return a > b ? a : b;
}

static enum verify_exit
check(const struct options *o)
{
	struct receipt_check c;
	struct fault f = { .st = ST_BUG };
	OWN_FREE char *text = NULL;
	OWN_BUF struct buf good;
	enum verify_exit rc;
	size_t len = 0;
	enum status st;

	buf_init(&good, URL_BYTES);
	if (read_input(&text, &len, o->file) != ST_OK)
		return VERIFY_CANNOT_TELL;
	st = receipt_check_open(&c, text, len, &f);
	if (st != ST_OK)
		return say(st, "receipt", "", &f);
	buf_addf(&good, "issued by %s", c.issuer);
	rc = say(ST_OK, "receipt", buf_cstr(&good), &f);
	rc = worse(rc, check_signature(&c, o));
	rc = worse(rc, check_request(&c, o));
	rc = worse(rc, check_answer(&c, o));
	receipt_check_close(&c);
	return rc;
}

/* ---- the command line ---- */

static enum verify_exit
usage(void)
{
	fputs("usage: tollbox COMMAND\n\n" VERIFY_USAGE, stderr);
	return VERIFY_WRONG_USAGE;
}

int
verify_command(int argc, char **argv)
{
	static const struct option names[] = { { "jwks", required_argument,
						   NULL, 'j' },
		{ "request", required_argument, NULL, 'r' },
		{ "answer", required_argument, NULL, 'a' },
		{ "ca", required_argument, NULL, 'c' }, { NULL, 0, NULL, 0 } };
	struct options o = { .file = NULL };
	int opt;

	log_open("verify-receipt", LOG_LEVEL_WARN);
	opterr = 0;
	optind = 2;
	for (opt = getopt_long(argc, argv, "", names, NULL); opt != -1;
	     opt = getopt_long(argc, argv, "", names, NULL)) {
		if (opt == 'j')
			o.jwks = optarg;
		else if (opt == 'r')
			o.request = optarg;
		else if (opt == 'a')
			o.answer = optarg;
		else if (opt == 'c')
			o.ca = optarg;
		else
			return (int)usage();
	}
	if (optind + 1 != argc)
		return (int)usage();
	o.file = argv[optind];
	return (int)check(&o);
}
