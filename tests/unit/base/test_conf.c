#include "base/conf.h"

#include <ftw.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define USDC "0x036CbD53842c5426634e7929541eC2318f3dCF7e" /* Base Sepolia */
#define PAYEE "0x1111111111111111111111111111111111111111"

/* The folder of one test: a file to load and a folder of runtimes. */
static char dir[64];
static char file[96];

static int
setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_conf.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(file, sizeof(file), "%s/tollbox.conf", dir);
	return 0;
}

static int
remove_one(const char *path, const struct stat *sb, int type, struct FTW *ftw)
{
	(void)sb;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int
teardown(void **state)
{
	(void)state;
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
write_file(const char *path, const void *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

static void
write_runtime(const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/%s/runtime.conf", dir, name);
	write_file(path, text, strlen(text));
}

/* Load text as the file with the test's folder of runtimes and environment
 * over it. */
static enum status
load(struct conf **c, const char *text, char *const *env, struct fault *f)
{
	struct buf b;
	enum status st;

	buf_init(&b, 1u << 20);
	buf_addf(&b, "[sandbox]\nruntimes_dir=%s\n%s", dir, text);
	write_file(file, buf_cstr(&b), b.len);
	buf_free(&b);
	memset(f, 0, sizeof(*f));
	st = conf_load(c, file, env, f);
	if (st != ST_OK)
		assert_null(*c);
	return st;
}

/* It must load. */
static struct conf *
good(const char *text, char *const *env)
{
	struct conf *c = NULL;
	struct fault f;
	enum status st = load(&c, text, env, &f);

	if (st != ST_OK)
		fail_msg("%s: %s", status_name(st), f.message);
	return c;
}

/* It must be refused with a message that holds part. */
static void
bad(const char *text, char *const *env, const char *part)
{
	struct conf *c = NULL;
	struct fault f;

	if (load(&c, text, env, &f) == ST_OK) {
		conf_free(c);
		fail_msg("taken: %.200s (wanted: %s)", text, part);
	}
	if (strstr(f.message, part) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", f.message, part);
}

static void
test_price(void **state)
{
	static const struct {
		const char *text;
		uint64_t micros; /* 0: refused */
	} rows[] = {
		{ "$0.001", 1000 },
		{ "0.001", 1000 },
		{ "$0.000001", 1 },
		{ "1", 1000000 },
		{ "$1.000000", 1000000 },
		{ "007.5", 7500000 },
		{ "$1000000", 1000000000000 },
		{ "$1000000.000001", 0 },
		{ "$1000001", 0 },
		{ "99999999999999999999999999", 0 },
		{ "$0", 0 },
		{ "0.000000", 0 },
		{ "0.0000001", 0 },
		{ "", 0 },
		{ "$", 0 },
		{ ".5", 0 },
		{ "1.", 0 },
		{ "-1", 0 },
		{ "+1", 0 },
		{ "1e3", 0 },
		{ "1 ", 0 },
		{ " 1", 0 },
		{ "$$1", 0 },
		{ "1,5", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t micros = 7;
		enum status st = conf_price(&micros, rows[i].text);

		if ((st == ST_OK) != (rows[i].micros != 0) ||
		    (st == ST_OK && micros != rows[i].micros))
			fail_msg("\"%s\": %s %" PRIu64, rows[i].text,
			    status_name(st), micros);
		if (st != ST_OK)
			assert_int_equal(micros, 7);
	}
}

static void
test_shipped(void **state)
{
	struct conf *c = good("", NULL);
	const struct conf_tier *t;

	(void)state;
	assert_string_equal(c->name, "tollbox");
	assert_string_equal(c->listen, "/run/tollbox/tollbox.sock");
	assert_null(c->listen_tcp);
	assert_string_equal(c->user, "tollbox");
	assert_string_equal(c->run_user, "tollbox-run");
	assert_string_equal(c->socket_group, "www-data");
	assert_string_equal(c->state_dir, "/var/lib/tollbox");
	assert_null(c->store);
	assert_int_equal(c->queue_ms, 10000);
	assert_int_equal(c->body_bytes, 256u << 20);
	assert_int_equal(c->answer_bytes, 1u << 30);
	assert_int_equal(c->drain_ms, 330000);
	assert_int_equal(c->cores, 1);
	assert_string_equal(c->memory_limit, "auto");
	/* From the host: asked, not 0. */
	assert_int_equal(c->max_runs, 2 * sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(c->memory_bytes > 0);
	/* No payee, asset or network is ever assumed. */
	assert_null(c->site.pay_to);
	assert_null(c->site.network);
	assert_null(c->site.asset);
	assert_null(c->site.asset_name);
	assert_null(c->site.public_url);
	assert_int_equal(c->site.asset_decimals, 6);
	assert_int_equal(c->n_facilitators, 0);
	t = conf_tier(c, "small");
	assert_non_null(t);
	assert_int_equal(t->price_micros, 1000);
	assert_int_equal(t->limits.timeout_ms, 10000);
	assert_int_equal(t->limits.memory_bytes, 268435456);
	assert_int_equal(t->limits.output_bytes, 1048576);
	assert_int_equal(t->limits.work_bytes, 67108864);
	t = conf_tier(c, "medium");
	assert_non_null(t);
	assert_int_equal(t->price_micros, 5000);
	assert_int_equal(t->limits.memory_bytes, 512u << 20);
	assert_null(conf_tier(c, "huge"));
	conf_free(c);
	conf_free(NULL);
}

static void
test_large_tier(void **state)
{
	struct conf *c = good("[service]\nmemory_bytes=3G\n", NULL);
	const struct conf_tier *t = conf_tier(c, "large");

	(void)state;
	assert_non_null(t);
	assert_int_equal(t->price_micros, 20000);
	assert_int_equal(t->limits.timeout_ms, 300000);
	assert_int_equal(t->limits.memory_bytes, 2147483648);
	assert_int_equal(t->limits.output_bytes, 16u << 20);
	assert_int_equal(t->limits.work_bytes, 1u << 30);
	assert_null(c->tiers_dropped);
	conf_free(c);
}

static void
test_values(void **state)
{
	struct conf *c =
	    good("# a comment\n"
		 "; another = one\n"
		 "\n"
		 "   \n"
		 "[service]\n"
		 "name = my-box\n"
		 "memory_bytes=2G\r\n"
		 "body_bytes = 64M\n"
		 "answer_bytes = 134217728\n"
		 "max_runs = 7\n"
		 "[site]\n"
		 "description = Runs code; \"safely\" # and cheap\n"
		 "public_url = https://box.example:8443/run/\n"
		 "routes = /execute \t /mcp\n"
		 "[facilitator:cdp]\n"
		 "url = http://[::1]:4021\n"
		 "timeout_ms = 5000\n"
		 "verify = both\n"
		 "[site]\n"
		 "facilitator = cdp\n",
		NULL);

	(void)state;
	assert_string_equal(c->name, "my-box");
	assert_int_equal(c->memory_bytes, 2147483648);
	assert_int_equal(c->body_bytes, 64u << 20);
	assert_int_equal(c->answer_bytes, 134217728);
	assert_int_equal(c->max_runs, 7);
	/* ; and # inside a value are text. */
	assert_string_equal(
	    c->site.description, "Runs code; \"safely\" # and cheap");
	assert_string_equal(c->site.public_url, "https://box.example:8443/run");
	assert_string_equal(c->site.routes[0], "/execute");
	assert_string_equal(c->site.routes[1], "/mcp");
	assert_null(c->site.routes[2]);
	assert_string_equal(c->facilitators[0].url, "http://[::1]:4021");
	assert_int_equal(c->facilitators[0].timeout_ms, 5000);
	assert_int_equal(c->facilitators[0].verify, CONF_VERIFY_BOTH);
	assert_ptr_equal(conf_facilitator(c, "cdp"), &c->facilitators[0]);
	conf_free(c);
}

/* The harness's load() puts two lines before the text. */
static void
test_form_errors(void **state)
{
	char text[5000];

	(void)state;
	bad("[service]\nmax_run = 3\n", NULL,
	    "tollbox.conf:4: unknown key \"max_run\"");
	bad("[servise]\nmax_runs = 3\n", NULL,
	    "tollbox.conf:3: unknown section [servise]");
	bad("[service:x]\n", NULL, ":3: unknown section");
	bad("[tier]\n", NULL, ":3: unknown section");
	bad("[tier:]\n", NULL, "must be 1 to 31");
	bad("[tier:Big]\nprice = 1\n", NULL, ":3: [tier:Big] name must be");
	bad("[tier:aaaaaaaaaabbbbbbbbbbccccccccccdd]\n", NULL, ":3: ");
	bad("[runtime:../x]\n", NULL, ":3: ");
	bad("[empty_and_unknown]\n", NULL, ":3: unknown section");
	bad("[site] x\n", NULL, ":3: this is no [section]");
	bad("[site\nname = x\n", NULL, ":3: this is no [section]");
	bad("[service]\nmax_runs = 3\nmax_runs = 3\n", NULL,
	    ":5: max_runs is set twice, in line 4 too");
	bad("[service]\nmax_runs = 3\n[site]\n[service]\nmax_runs = 4\n", NULL,
	    ":7: max_runs is set twice, in line 4 too");
	bad("[service]\nname = a\n  b\n", NULL,
	    ":5: the line begins with a blank");
	bad("[service]\n\tname = a\n", NULL,
	    ":4: the line begins with a blank");
	bad("[service]\nname\n", NULL, ":4: neither [section]");
	bad("[site]\nname = a\x01z\n", NULL, ":4: the line holds control");
	bad("[site]\ndescription = \xff\n", NULL, "must be UTF-8");
	bad("[site]\ndescription = a\x7fz\n", NULL, ":4: ");
	bad("[service]\nname =\n", NULL, ":4: name must not be empty");
	bad("[site]\ntiers =\n", NULL, ":4: tiers must not be empty");
	bad("[service]\nmax_runs = 4 ; comment\n", NULL,
	    ":4: max_runs must be a whole number from 1 to 1024");
	/* An over-long line is refused, not cut. */
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "[site]\ndescription = ", 21);
	bad(text, NULL, ":4: the line is over-long");
	/* Keys of our own messages are not for people. */
	bad("[facilitator:x]\nurl=http://h\nauth_header = A: b\n", NULL,
	    ":5: unknown key \"auth_header\"");
	bad("[service]\ntiers_dropped = large\n", NULL, "unknown key");
}

static void
test_nul_byte(void **state)
{
	static const char text[] = "[service]\nname = a\0b\n";
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };

	(void)state;
	write_file(file, text, sizeof(text) - 1);
	assert_int_equal(conf_load(&c, file, NULL, &f), ST_FORMAT);
	assert_non_null(strstr(f.message, ":2: the line holds control"));
}

static void
test_file_errors(void **state)
{
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };
	char *big;

	(void)state;
	assert_int_equal(
	    conf_load(&c, "/nonexistent/x.conf", NULL, &f), ST_NOT_FOUND);
	assert_non_null(strstr(f.message, "/nonexistent/x.conf"));
	big = malloc(CONF_FILE_BYTES + 1);
	assert_non_null(big);
	memset(big, '\n', CONF_FILE_BYTES + 1);
	write_file(file, big, CONF_FILE_BYTES + 1);
	assert_int_equal(conf_load(&c, file, NULL, &f), ST_FORMAT);
	write_file(file, big, CONF_FILE_BYTES);
	assert_int_equal(conf_load(&c, file, NULL, &f), ST_OK);
	conf_free(c);
	free(big);
}

static void
test_numbers(void **state)
{
	static const char *const refused[] = { "max_runs = -1", "max_runs = +1",
		"max_runs = 1025", "max_runs = 1.5", "max_runs = 0x10",
		"max_runs = 18446744073709551616", "memory_bytes = 63M",
		"memory_bytes = 1T", "memory_bytes = 64MB",
		"memory_bytes = 64m", "memory_bytes = 17179869184G",
		"memory_bytes = M", "body_bytes = 0", "max_runs = 1K" };
	struct conf *c;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		char text[96];

		snprintf(text, sizeof(text), "[service]\n%s\n", refused[i]);
		bad(text, NULL, ":4: ");
	}
	c = good("[service]\nmax_runs=0\nmemory_bytes = 1048576K \n"
		 "queue_ms=0\n",
	    NULL);
	assert_int_equal(c->memory_bytes, 1u << 30);
	assert_int_equal(c->max_runs, 2 * sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(c->queue_ms, 0);
	conf_free(c);
}

static void
test_single_forms(void **state)
{
	static const char *const refused[] = {
		"[service]\nname = My",
		"[service]\nname = -x",
		"[service]\nlisten = tollbox.sock",
		"[service]\nlisten_tcp = localhost:9000\n"
		"listen_tcp_peers=127.0.0.1",
		"[service]\nlisten_tcp = 127.0.0.1:0\n"
		"listen_tcp_peers=127.0.0.1",
		"[service]\nlisten_tcp = 127.0.0.1:65536\n"
		"listen_tcp_peers=127.0.0.1",
		"[service]\nlisten_tcp_peers = 127.0.0.1, 10.0.0.1",
		"[service]\nlisten_tcp_peers = ::1",
		"[service]\nuser = a b",
		"[service]\nstore = postgresql://x",
		"[service]\nstore = sqlite:relative.db",
		"[service]\nlog_level = loud",
		"[sandbox]\nmemory_limit = none",
		"[sandbox]\nbwrap = bwrap",
		"[sandbox]\ncores = 0",
		"[site]\nname = 123456789012345678901234567890123",
		"[site]\nname = B\xc3\xb6x",
		"[site]\npublic_url = example.com",
		"[site]\npublic_url = ftp://example.com",
		"[site]\npublic_url = https://",
		"[site]\npublic_url = https:///x",
		"[site]\npublic_url = https://a b",
		"[site]\npublic_url = https://u@h",
		"[site]\npublic_url = https://h?x=1",
		"[site]\npublic_url = https://h#x",
		"[site]\npublic_url = https://h:port",
		"[site]\npublic_url = https://h:99999",
		"[site]\npublic_url = https://[::1",
		"[site]\npublic_url = https://h\"x",
		"[site]\npay_to = 0x11",
		"[site]\npay_to = 0x0000000000000000000000000000000000000000",
		"[site]\npay_to = 0xg111111111111111111111111111111111111111",
		"[site]\npay_to = not-an-address",
		"[site]\nnetwork = base-sepolia",
		"[site]\nnetwork = eip155:",
		"[site]\nnetwork = eip155:084532",
		"[site]\nnetwork = eip155:0x1",
		"[site]\nnetwork = EIP155:1",
		"[site]\nasset_decimals = 61",
		"[site]\nprices = small",
		"[site]\nprices = small=",
		"[site]\nprices = small=$0",
		"[site]\nroutes = execute",
		"[site]\nroutes = /execute /execut",
		"[facilitator:a]\nurl = http://h\nverify = yes",
		"[facilitator:a]\nurl = http://h\ntimeout_ms = 99",
		"[tier:a]\nprice = 0",
		"[tier:a]\nprice = $1\ntimeout_ms = 99",
		"[tier:a]\nprice = $1\ntimeout_ms = 300001",
		"[tier:a]\nprice = $1\nmemory_bytes = 33554431",
		"[tier:a]\nprice = $1\nmemory_bytes = 2147483649",
		"[tier:a]\nprice = $1\noutput_bytes = 1023",
		"[tier:a]\nprice = $1\nwork_bytes = 1048575",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		bad(refused[i], NULL, "must ");
	conf_free(good("[site]\npay_to = 0xAbCdEfabcdefABCDEF11111111111111111"
		       "11111\n[service]\nlisten_tcp = 127.0.0.1:9000\n"
		       "listen_tcp_peers = 127.0.0.1,10.0.0.1\n",
	    NULL));
}

static void
test_description_length(void **state)
{
	char text[1200] = "[site]\ndescription = ";
	struct conf *c;

	(void)state;
	for (int i = 0; i < CONF_DESCRIPTION; i++)
		strncat(text, "\xc3\xa4", sizeof(text) - strlen(text) - 1);
	c = good(text, NULL);
	assert_int_equal(strlen(c->site.description), 2 * CONF_DESCRIPTION);
	conf_free(c);
	strncat(text, "a", sizeof(text) - strlen(text) - 1);
	bad(text, NULL, "description must be at most 500 characters");
	c = good("[site]\ndescription =\n", NULL);
	assert_string_equal(c->site.description, "");
	conf_free(c);
}

static void
test_environment(void **state)
{
	char *const env[] = { (char[]){ "PATH=/bin" },
		(char[]){ "TOLLBOX_MAX_RUNS=9" },
		(char[]){ "TOLLBOX_PAY_TO= " PAYEE " " },
		(char[]){ "TOLLBOX_FACILITATOR_URL=http://f.example/x402/" },
		(char[]){ "TOLLBOX_PORT=1" }, (char[]){ "TOLLBOX_TLS_PORT=2" },
		(char[]){ "TOLLBOX_TEST_ANYTHING=x" },
		(char[]){ "TOLLBOX_DESCRIPTION=a ; b" }, NULL };
	struct conf *c = good("[service]\nmax_runs = 3\nqueue_ms = 5\n", env);

	(void)state;
	assert_int_equal(c->max_runs, 9); /* the later wins */
	assert_int_equal(c->queue_ms, 5);
	assert_string_equal(c->site.pay_to, PAYEE);
	assert_string_equal(c->site.description, "a ; b");
	assert_int_equal(c->n_facilitators, 1);
	assert_string_equal(c->facilitators[0].name, "default");
	assert_string_equal(c->facilitators[0].url, "http://f.example/x402");
	assert_int_equal(c->facilitators[0].timeout_ms, 90000);
	assert_int_equal(c->facilitators[0].verify, CONF_VERIFY_LOCAL);
	conf_free(c);
}

static void
test_environment_facilitator(void **state)
{
	/* In any order: the URL goes to the section in use. */
	char *const env[] = { (char[]){ "TOLLBOX_FACILITATOR_URL=http://new" },
		(char[]){ "TOLLBOX_FACILITATOR=b" }, NULL };
	struct conf *c = good("[facilitator:a]\nurl = http://a\n"
			      "[facilitator:b]\nurl = http://b\n"
			      "verify = facilitator\n"
			      "[site]\nfacilitator = a\n",
	    env);

	(void)state;
	assert_string_equal(c->site.facilitator, "b");
	assert_string_equal(conf_facilitator(c, "a")->url, "http://a");
	assert_string_equal(conf_facilitator(c, "b")->url, "http://new");
	assert_int_equal(
	    conf_facilitator(c, "b")->verify, CONF_VERIFY_FACILITATOR);
	conf_free(c);
}

static void
test_environment_errors(void **state)
{
	static const struct {
		const char *env;
		const char *part;
	} rows[] = {
		{ "TOLLBOX_MAXRUNS=1", "unknown name TOLLBOX_MAXRUNS" },
		{ "TOLLBOX_RPC_URL=http://x", "unknown name TOLLBOX_RPC_URL" },
		{ "TOLLBOX_=1", "unknown name TOLLBOX_" },
		{ "TOLLBOX_MAX_RUNS=many",
		    "environment: TOLLBOX_MAX_RUNS must be a whole number" },
		{ "TOLLBOX_PAY_TO=", "TOLLBOX_PAY_TO must not be empty" },
		{ "TOLLBOX_SITE_NAME=a\nb", "must not hold control" },
		{ "TOLLBOX_DESCRIPTION=\xc3", "must be UTF-8" },
		{ "TOLLBOX_FACILITATOR_URL=x",
		    "environment: TOLLBOX_FACILITATOR_URL must be http" },
		{ "TOLLBOX_A234567890123456789012345678901234567890123456789"
		  "01234567890123456789=1",
		    "unknown name TOLLBOX_A23" },
	};
	char *const twice[] = { (char[]){ "TOLLBOX_MAX_RUNS=1" },
		(char[]){ "TOLLBOX_MAX_RUNS=2" }, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char one[160];
		char *const env[] = { one, NULL };

		snprintf(one, sizeof(one), "%s", rows[i].env);
		bad("", env, rows[i].part);
	}
	bad("", twice, "TOLLBOX_MAX_RUNS is set twice");
}

#define SITE                                                                   \
	"[site]\npublic_url = https://h\nnetwork = eip155:84532\n"             \
	"asset = " USDC "\nasset_name = USDC\nasset_version = 2\n"             \
	"pay_to = " PAYEE "\n"

static void
test_assets(void **state)
{
	(void)state;
	conf_free(good(SITE, NULL));
	/* The trap of x402.md 4.5: the other Base's name. */
	bad("[site]\nnetwork = eip155:84532\nasset = " USDC
	    "\nasset_name = USD Coin\n",
	    NULL,
	    "asset_name (TOLLBOX_ASSET_NAME) must be \"USDC\" for this asset "
	    "on eip155:84532, not \"USD Coin\"");
	/* Any spelling of the address. */
	bad("[site]\nnetwork = eip155:8453\nasset = "
	    "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913\nasset_name = USDC\n",
	    NULL, "must be \"USD Coin\"");
	bad("[site]\nnetwork = eip155:84532\nasset = " USDC
	    "\nasset_version = 1\n",
	    NULL, "asset_version (TOLLBOX_ASSET_VERSION) must be \"2\"");
	bad("[site]\nnetwork = eip155:84532\nasset = " USDC
	    "\nasset_decimals = 18\n",
	    NULL, "asset_decimals (TOLLBOX_ASSET_DECIMALS) must be 6");
	bad("[site]\nnetwork = eip155:14\nasset = "
	    "0xe7cd86e13AC4309349F30B3435a9d337750fC82D\n"
	    "asset_name = USDT0\n",
	    NULL,
	    "must be \"USD\xe2\x82\xae"
	    "0\"");
	/* The same address elsewhere is not the known token. */
	conf_free(good("[site]\nnetwork = eip155:31337\nasset = " USDC
		       "\nasset_name = Any\nasset_version = 9\n",
	    NULL));
	/* A Solana address on an EVM network. */
	bad("[site]\nnetwork = eip155:1\npay_to = "
	    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\n",
	    NULL, "pay_to (TOLLBOX_PAY_TO) must be 0x");
	bad("[site]\nnetwork = eip155:1\nasset = "
	    "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\n",
	    NULL, "asset (TOLLBOX_ASSET) must be 0x");
	conf_free(good("[site]\nnetwork = solana:"
		       "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp\npay_to = "
		       "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v\n",
	    NULL));
}

static void
test_whole_prices(void **state)
{
	(void)state;
	/* $0.001 with three decimals is 1, with two nothing whole. */
	conf_free(good("[site]\nasset_decimals = 3\n", NULL));
	bad("[site]\nasset_decimals = 2\n", NULL,
	    "[tier:small] price is no whole number");
	conf_free(good("[site]\nasset_decimals = 2\n"
		       "prices = small=$0.01 medium=$0.02 large=$0.03\n",
	    NULL));
	bad("[site]\nasset_decimals = 2\n"
	    "prices = small=$0.01 medium=$0.02 large=$0.035\n",
	    NULL, "\"large=$0.035\" is no whole number");
	/* Only what is sold must be whole. */
	conf_free(good("[site]\nasset_decimals = 2\ntiers = large\n"
		       "[service]\nmemory_bytes=4G\n",
	    NULL));
	conf_free(good("[site]\nasset_decimals = 0\nprices = small=$1 "
		       "medium=$2 large=$3\n",
	    NULL));
	conf_free(good("[site]\nasset_decimals = 18\n", NULL));
}

static void
test_references(void **state)
{
	(void)state;
	bad("[site]\ntiers = small tiny\n", NULL,
	    "tiers (TOLLBOX_TIERS): there is no \"tiny\"");
	bad("[site]\ntiers = small small\n", NULL, "\"small\" is there twice");
	bad("[site]\nprices = tiny=$1\n", NULL, "there is no \"tiny\"");
	bad("[site]\nprices = small=$1 small=$2\n", NULL,
	    "prices (TOLLBOX_PRICES): \"small\" is there twice");
	bad("[site]\nruntimes = perl\n", NULL, "there is no \"perl\"");
	bad("[site]\nroutes = /mcp /mcp\n", NULL, "\"/mcp\" is there twice");
	bad("[site]\nfacilitator = cdp\n", NULL, "no [facilitator:cdp]");
	bad("[facilitator:a]\nurl = http://a\n", NULL,
	    "no [facilitator:default]");
	bad("[facilitator:default]\nverify = both\n", NULL,
	    "[facilitator:default] url is not set");
	bad("[tier:mine]\ntimeout_ms = 500\n", NULL,
	    "[tier:mine] price is not set");
	bad("[service]\nlisten_tcp = 127.0.0.1:9000\n", NULL,
	    "TOLLBOX_LISTEN_TCP_PEERS");
	bad("[service]\nuser = a\nrun_user = a\n", NULL,
	    "user and run_user must be two");
}

static void
test_tiers(void **state)
{
	struct conf *c = good("[service]\nmemory_bytes = 4G\n"
			      "[tier:medium]\nprice = $0.03\n"
			      "[tier:tiny]\nprice = $0.0005\n"
			      "timeout_ms = 1000\n"
			      "[tier:twin]\nprice = $0.02\n",
	    NULL);
	static const char *const order[] = { "tiny", "small", "large", "twin",
		"medium" };

	(void)state;
	assert_int_equal(c->n_tiers, 5);
	for (size_t i = 0; i < 5; i++)
		assert_string_equal(c->tiers[i].name, order[i]);
	assert_int_equal(c->tiers[0].limits.timeout_ms, 1000);
	assert_int_equal(c->tiers[0].limits.memory_bytes, 256u << 20);
	assert_int_equal(c->tiers[4].price_micros, 30000);
	assert_int_equal(c->tiers[4].limits.timeout_ms, 60000);
	conf_free(c);
}

static void
test_too_many(void **state)
{
	char text[4096] = "";

	(void)state;
	for (int i = 0; i < CONF_TIERS - 2; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
		    "[tier:t%d]\nprice = $1\n", i);
	bad(text, NULL, "too many [tier:");
	text[0] = '\0';
	snprintf(text, sizeof(text), "[site]\nroutes =");
	for (int i = 0; i <= CONF_WORDS; i++)
		strncat(text, " /mcp", sizeof(text) - strlen(text) - 1);
	bad(text, NULL, "must be at most 64 words");
}

static void
test_dropped(void **state)
{
	/* medium needs 512M + 256M, large 3G. */
	struct conf *c = good("[service]\nmemory_bytes = 768M\n"
			      "[site]\ntiers = large small\n"
			      "prices = large=$9 small=$0.5\n",
	    NULL);

	(void)state;
	assert_int_equal(c->n_tiers, 2);
	assert_non_null(conf_tier(c, "small"));
	assert_non_null(conf_tier(c, "medium"));
	assert_null(conf_tier(c, "large"));
	assert_string_equal(c->tiers_dropped[0], "large");
	assert_null(c->tiers_dropped[1]);
	/* The site's lists speak of it no more. */
	assert_string_equal(c->site.tiers[0], "small");
	assert_null(c->site.tiers[1]);
	assert_string_equal(c->site.prices[0], "small=$0.5");
	assert_null(c->site.prices[1]);
	conf_free(c);
	c = good("[service]\nmemory_bytes = 805306367\n"
		 "[site]\nprices = large=$9\n",
	    NULL);
	assert_int_equal(c->n_tiers, 1);
	assert_null(c->site.prices);
	conf_free(c);
	bad("[service]\nmemory_bytes = 768M\n[site]\ntiers = large\n", NULL,
	    "none of them fits");
	bad("[service]\nmemory_bytes = 319M\n", NULL, "hold no tier");
}

#define RUNTIME "entry = main.x\ncommand = /bin/x {entry}\n"

static void
test_runtimes(void **state)
{
	struct conf *c;
	const struct conf_runtime *r;

	(void)state;
	write_runtime("py", "# comment\nentry = main.py\n"
			    "command = /usr/bin/python3 -B {entry}\n"
			    "env_refused = PYTHON* FOO\nbinds = /etc/py*\n"
			    "env = A=b C=\nmin_memory = 64M\nmin_tasks = 8\n");
	write_runtime("aa", RUNTIME);
	write_runtime(".hidden", "nonsense");
	c = good("[runtime:py]\nmin_tasks = 4\n[runtime:own]\n" RUNTIME, NULL);
	assert_int_equal(c->n_runtimes, 3);
	r = conf_runtime(c, "py");
	assert_non_null(r);
	assert_string_equal(r->entry, "main.py");
	assert_null(r->entry_module);
	assert_string_equal(r->command[0], "/usr/bin/python3");
	assert_string_equal(r->command[1], "-B");
	assert_string_equal(r->command[2], "{entry}");
	assert_null(r->command[3]);
	assert_string_equal(r->binds[0], "/etc/py*");
	assert_string_equal(r->env[1], "C=");
	assert_string_equal(r->env_refused[0], "PYTHON*");
	assert_int_equal(r->min_memory_bytes, 64u << 20);
	assert_int_equal(r->min_tasks, 4); /* the main file on top */
	r = conf_runtime(c, "aa");
	assert_non_null(r);
	assert_int_equal(r->min_memory_bytes, 32u << 20);
	assert_int_equal(r->min_tasks, 1);
	assert_null(r->env);
	assert_non_null(conf_runtime(c, "own"));
	conf_free(c);
}

static void
test_runtime_errors(void **state)
{
	static const struct {
		const char *text;
		const char *part;
	} rows[] = {
		{ "", "[runtime:py] entry is not set" },
		{ "entry = a\n", "[runtime:py] command is not set" },
		{ "entry = a\ncommand = x {entry}\n", "absolute path" },
		{ "entry = a\ncommand = /x y\n", "must hold {entry}" },
		{ RUNTIME "entry = b\n",
		    "py/runtime.conf:3: entry is set twice, in line 1 too" },
		{ "[runtime:py]\n" RUNTIME, "1: a runtime.conf has no sect" },
		{ RUNTIME "price = $1\n", "3: unknown key \"price\"" },
		{ "entry = a/b\n", "1: entry must be a file name" },
		{ "entry = ..\n", "1: entry must be a file name" },
		{ "entry = -x\n", "1: entry must be a file name" },
		{ "entry = 12345678901234567890123456789012\n",
		    "1: entry must be a file name" },
		{ RUNTIME "binds = etc\n", "3: binds word \"etc\" must be" },
		{ RUNTIME "env = 1A=b\n", "must be NAME=value" },
		{ RUNTIME "env = A\n", "must be NAME=value" },
		{ RUNTIME "env_refused = A*B\n", "must be a variable" },
		{ RUNTIME "env_refused = *\n", "must be a variable" },
		{ RUNTIME "min_tasks = 65\n", "from 1 to 64" },
		{ RUNTIME "min_memory = 31M\n", "from 32M to 2G" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_runtime("py", rows[i].text);
		bad("", NULL, rows[i].part);
	}
	write_runtime("py", RUNTIME);
	write_runtime("Bad Name", RUNTIME);
	bad("", NULL, "[runtime:Bad Name] name must be");
}

static void
test_runtimes_dir(void **state)
{
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };
	static const char text[] = "[sandbox]\nruntimes_dir=/nonexistent\n";

	(void)state;
	write_file(file, text, sizeof(text) - 1);
	assert_int_equal(conf_load(&c, file, NULL, &f), ST_IO);
	assert_non_null(strstr(f.message, "TOLLBOX_RUNTIMES_DIR"));
	assert_null(c);
}

/* What is written for a role, read back; *text is the writing. */
static struct conf *
round_trip(const struct conf *c, enum conf_role role, char **text)
{
	struct conf *back = NULL;
	struct fault f = { .st = ST_OK };
	struct buf b;

	buf_init(&b, CONF_FILE_BYTES);
	conf_write(&b, c, role);
	assert_int_equal(buf_status(&b), ST_OK);
	if (conf_parse(&back, buf_cstr(&b), &f) != ST_OK)
		fail_msg("%s in\n%s", f.message, buf_cstr(&b));
	*text = buf_take(&b, NULL);
	return back;
}

static void
test_round_trip(void **state)
{
	struct conf *c;
	struct conf *gate;
	struct conf *boxer;
	char *text;
	char secret[128];
	char conf_text[1024];
	struct fault f = { .st = ST_OK };

	(void)state;
	write_runtime("py", "entry = main.py\ncommand = /bin/py {entry}\n"
			    "env = A=b\nbinds = /etc/py\nenv_refused = PY*\n");
	snprintf(secret, sizeof(secret), "%s/auth", dir);
	write_file(secret, "Authorization: Bearer s3cret\n", 29);
	assert_int_equal(chmod(secret, 0600), 0);
	snprintf(conf_text, sizeof(conf_text),
	    SITE "[service]\nmemory_bytes = 1G\nmax_runs = 5\n"
		 "[facilitator:default]\nurl = https://f\n"
		 "auth_header_file = %s\nverify = both\n"
		 "[site]\ntiers = small large\n"
		 "description = with ; and \"#\"\n"
		 "prices = small=$0.0015\n",
	    secret);
	c = good(conf_text, NULL);
	assert_int_equal(conf_secrets(c, &f), ST_OK);
	gate = round_trip(c, CONF_GATE, &text);
	assert_string_equal(
	    gate->facilitators[0].auth_header, "Authorization: Bearer s3cret");
	assert_int_equal(gate->facilitators[0].verify, CONF_VERIFY_BOTH);
	assert_int_equal(gate->max_runs, 5);
	assert_int_equal(gate->memory_bytes, 1u << 30);
	assert_string_equal(gate->site.pay_to, PAYEE);
	assert_string_equal(gate->site.description, "with ; and \"#\"");
	assert_string_equal(gate->site.prices[0], "small=$0.0015");
	assert_int_equal(gate->n_tiers, 2);
	assert_int_equal(gate->tiers[1].price_micros, 5000);
	assert_string_equal(gate->tiers_dropped[0], "large");
	assert_string_equal(gate->runtimes[0].env_refused[0], "PY*");
	/* The gate needs no paths of the sandbox. */
	assert_null(gate->runtimes[0].command);
	assert_null(gate->runtimes[0].binds);
	assert_null(strstr(text, "bwrap"));
	free(text);
	conf_free(gate);

	boxer = round_trip(c, CONF_BOXER, &text);
	assert_string_equal(boxer->runtimes[0].command[0], "/bin/py");
	assert_string_equal(boxer->runtimes[0].env[0], "A=b");
	assert_int_equal(boxer->memory_bytes, 1u << 30);
	assert_int_equal(boxer->n_tiers, 0);
	/* And the boxer nothing of the money. */
	assert_null(strstr(text, "s3cret"));
	assert_null(strstr(text, secret));
	assert_null(strstr(text, PAYEE));
	assert_null(strstr(text, "facilitator"));
	assert_null(strstr(text, "[site]"));
	assert_null(strstr(text, "state_dir"));
	assert_null(strstr(text, "$"));
	free(text);
	conf_free(boxer);

	boxer = round_trip(c, CONF_ALL, &text);
	assert_null(strstr(text, "s3cret"));
	assert_non_null(strstr(text, PAYEE));
	assert_non_null(strstr(text, "/bin/py"));
	free(text);
	conf_free(boxer);
	conf_free(c);
}

static void
test_parse_errors(void **state)
{
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };

	(void)state;
	assert_int_equal(conf_parse(&c, "[service]\nx = 1\n", &f), ST_FORMAT);
	assert_non_null(strstr(f.message, "settings:2: unknown key"));
	assert_null(c);
	/* No environment, no folders, no shipped tiers. */
	assert_int_equal(conf_parse(&c, "", &f), ST_OK);
	assert_int_equal(c->n_tiers, 0);
	assert_int_equal(c->n_runtimes, 0);
	conf_free(c);
}

static void
test_complete(void **state)
{
	static const char *const lines[] = { "public_url = https://h\n",
		"network = eip155:84532\n", "asset = " USDC "\n",
		"asset_name = USDC\n", "asset_version = 2\n",
		"pay_to = " PAYEE "\n" };
	static const char *const wanted[] = {
		"[site] public_url (TOLLBOX_PUBLIC_URL)",
		"[site] network (TOLLBOX_NETWORK)",
		"[site] asset (TOLLBOX_ASSET)",
		"[site] asset_name (TOLLBOX_ASSET_NAME)",
		"[site] asset_version (TOLLBOX_ASSET_VERSION)",
		"[site] pay_to (TOLLBOX_PAY_TO)",
		"[facilitator:default] url (TOLLBOX_FACILITATOR_URL)",
		"no runtime in "
	};
	char text[1024] = "[site]\n";
	struct conf *c;
	struct fault f = { .st = ST_OK };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		c = good(text, NULL);
		assert_int_equal(conf_complete(c, &f), ST_FORMAT);
		if (strstr(f.message, wanted[i]) == NULL)
			fail_msg("\"%s\" is not \"%s\"", f.message, wanted[i]);
		conf_free(c);
		if (i < 6)
			strncat(
			    text, lines[i], sizeof(text) - strlen(text) - 1);
		else if (i == 6)
			strncat(text, "[facilitator:default]\nurl = http://f\n",
			    sizeof(text) - strlen(text) - 1);
	}
	write_runtime("py", RUNTIME);
	c = good(text, NULL);
	assert_int_equal(conf_complete(c, &f), ST_OK);
	conf_free(c);
}

struct params {
	const char *name;
	const char *value;
};

static const char *
get(void *ctx, const char *name)
{
	for (const struct params *p = ctx; p->name != NULL; p++)
		if (strcmp(p->name, name) == 0)
			return p->value;
	return NULL;
}

static void
test_site(void **state)
{
	struct conf *c;
	struct conf_site s;
	struct fault f = { .st = ST_OK };
	struct params none[] = { { NULL, NULL } };
	struct params some[] = {
		{ "TOLLBOX_PAY_TO",
		    "0x2222222222222222222222222222222222222222" },
		{ "TOLLBOX_PRICES", "small=$0.002 medium=$0.01 large=$1" },
		{ "TOLLBOX_TIERS", "medium large" },
		{ "TOLLBOX_RUNTIMES", "py" },
		{ "TOLLBOX_FACILITATOR", "b" },
		{ "TOLLBOX_PUBLIC_URL", "https://other/" },
		/* Not a location's to set: not even asked for. */
		{ "TOLLBOX_DESCRIPTION", "x" },
		{ "TOLLBOX_SITE_NAME", "x" },
		{ NULL, NULL },
	};

	(void)state;
	write_runtime("py", RUNTIME);
	write_runtime("js", RUNTIME);
	c = good(SITE "[service]\nmemory_bytes = 1G\n"
		      "[facilitator:a]\nurl=http://a\n"
		      "[facilitator:b]\nurl=http://b\n"
		      "[site]\nfacilitator = a\nroutes = /execute\n",
	    NULL);
	assert_int_equal(conf_site_resolve(&s, c, get, none, &f), ST_OK);
	assert_string_equal(s.pay_to, PAYEE);
	assert_string_equal(s.facilitator, "a");
	assert_int_equal(s.asset_decimals, 6);
	assert_string_equal(s.routes[0], "/execute");
	assert_null(s.tiers);
	assert_ptr_not_equal(s.pay_to, c->site.pay_to);
	conf_site_free(&s);
	conf_site_free(&s);

	assert_int_equal(conf_site_resolve(&s, c, get, some, &f), ST_OK);
	assert_string_equal(
	    s.pay_to, "0x2222222222222222222222222222222222222222");
	assert_string_equal(s.prices[1], "medium=$0.01");
	assert_null(s.prices[2]); /* large does not fit here */
	assert_string_equal(s.tiers[0], "medium");
	assert_null(s.tiers[1]);
	assert_string_equal(s.runtimes[0], "py");
	assert_string_equal(s.facilitator, "b");
	assert_string_equal(s.public_url, "https://other");
	assert_string_equal(s.network, "eip155:84532");
	assert_string_equal(s.description, "Run code in a sandbox");
	assert_string_equal(s.name, "Tollbox");
	conf_site_free(&s);
	conf_free(c);
}

static void
test_site_errors(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		const char *part;
	} rows[] = {
		{ "TOLLBOX_PAY_TO", "0x1", "location: TOLLBOX_PAY_TO must" },
		{ "TOLLBOX_PAY_TO", "", "must not be empty" },
		{ "TOLLBOX_NETWORK", "eip155:8453x", "TOLLBOX_NETWORK must" },
		{ "TOLLBOX_ASSET_NAME", "USD Coin", "must be \"USDC\"" },
		{ "TOLLBOX_ASSET_DECIMALS", "2", "must be 6" },
		{ "TOLLBOX_PRICES", "tiny=$1", "no \"tiny\"" },
		{ "TOLLBOX_PRICES", "small=1 small=2", "there twice" },
		{ "TOLLBOX_PRICES", "small=$0.0000001", "six decimals" },
		{ "TOLLBOX_TIERS", "tiny", "no \"tiny\"" },
		{ "TOLLBOX_TIERS", "large", "none of them fits" },
		{ "TOLLBOX_RUNTIMES", "perl", "no \"perl\"" },
		{ "TOLLBOX_ROUTES", "/exec", "TOLLBOX_ROUTES word" },
		{ "TOLLBOX_FACILITATOR", "b", "no [facilitator:b]" },
		{ "TOLLBOX_FACILITATOR", "http://evil", "must be 1 to 31" },
	};
	struct conf *c = good(SITE "[service]\nmemory_bytes = 1G\n"
				   "[facilitator:default]\nurl=http://a\n",
	    NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct params p[] = { { rows[i].name, rows[i].value },
			{ NULL, NULL } };
		struct conf_site s;
		struct fault f = { .st = ST_OK };

		assert_int_equal(
		    conf_site_resolve(&s, c, get, p, &f), ST_FORMAT);
		if (strstr(f.message, rows[i].part) == NULL)
			fail_msg("%s=%s: \"%s\"", rows[i].name, rows[i].value,
			    f.message);
		/* Nothing half made is left to be used. */
		assert_null(s.pay_to);
		conf_site_free(&s);
	}
	conf_free(c);
}

static void
test_site_param(void **state)
{
	static const char *const allowed[] = { "TOLLBOX_PAY_TO",
		"TOLLBOX_NETWORK", "TOLLBOX_ASSET", "TOLLBOX_ASSET_NAME",
		"TOLLBOX_ASSET_VERSION", "TOLLBOX_ASSET_DECIMALS",
		"TOLLBOX_PUBLIC_URL", "TOLLBOX_PRICES", "TOLLBOX_TIERS",
		"TOLLBOX_ROUTES", "TOLLBOX_RUNTIMES", "TOLLBOX_FACILITATOR" };
	static const char *const refused[] = { "TOLLBOX_FACILITATOR_URL",
		"TOLLBOX_STATE_DIR", "TOLLBOX_MAX_RUNS", "TOLLBOX_BWRAP",
		"TOLLBOX_DESCRIPTION", "TOLLBOX_", "PAY_TO", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		assert_true(conf_site_param(allowed[i]));
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(conf_site_param(refused[i]));
}

static void
test_secrets(void **state)
{
	static const char *const wrong[] = { "", "\n", "no header\n", "A:b\n",
		"A: \n", "A: b\nB: c\n", "A: b\r\n", ": b\n", "A b: c\n",
		"A: \xc3\xa4\n" };
	char path[96];
	char text[256];
	struct conf *c;
	struct fault f = { .st = ST_OK };

	(void)state;
	snprintf(path, sizeof(path), "%s/auth", dir);
	snprintf(text, sizeof(text),
	    "[facilitator:default]\nurl=http://a\nauth_header_file=%s\n", path);
	c = good(text, NULL);
	assert_int_equal(conf_secrets(c, &f), ST_IO);
	assert_non_null(strstr(f.message, path));
	write_file(path, "A: b\n", 5);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(conf_secrets(c, &f), ST_FORMAT);
	assert_non_null(strstr(f.message, "others"));
	assert_null(c->facilitators[0].auth_header);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(conf_secrets(c, &f), ST_OK);
	assert_string_equal(c->facilitators[0].auth_header, "A: b");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_file(path, wrong[i], strlen(wrong[i]));
		if (conf_secrets(c, &f) != ST_FORMAT)
			fail_msg("taken: %s", wrong[i]);
		/* The reason never holds the secret. */
		assert_null(strstr(f.message, "B: c"));
	}
	write_file(path, "A: b\0c\n", 7);
	assert_int_equal(conf_secrets(c, &f), ST_FORMAT);
	write_file(path, "X-Key: v", 8); /* no line end is fine */
	assert_int_equal(conf_secrets(c, &f), ST_OK);
	conf_free(c);
}

static void
test_print(void **state)
{
	char *const env[] = { (char[]){ "TOLLBOX_MAX_RUNS=9" },
		(char[]){ "TOLLBOX_FACILITATOR_URL=http://f" }, NULL };
	struct conf *c;
	struct buf b;
	char want[200];

	(void)state;
	write_runtime("py", "\n" RUNTIME);
	c = good("[service]\nqueue_ms = 5\nmemory_bytes = 1G\n"
		 "[tier:tiny]\nprice = $0.0005\n",
	    env);
	c->facilitators[0].auth_header = strdup("A: s3cret");
	buf_init(&b, 1u << 16);
	conf_print(&b, c);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_non_null(strstr(buf_cstr(&b), "service.name = tollbox  "
					     "# default\n"));
	assert_non_null(strstr(buf_cstr(&b),
	    "service.queue_ms = 5  # configuration file, line 4\n"));
	assert_non_null(strstr(buf_cstr(&b),
	    "service.max_runs = 9  # environment, TOLLBOX_MAX_RUNS\n"));
	assert_non_null(strstr(buf_cstr(&b),
	    "facilitator:default.url = http://f  # environment, "
	    "TOLLBOX_FACILITATOR_URL\n"));
	/* Its line is its own although the tiers were put in order. */
	assert_non_null(strstr(buf_cstr(&b),
	    "tier:tiny.price = $0.0005  # configuration file, line 7\n"));
	assert_non_null(
	    strstr(buf_cstr(&b), "tier:small.price = $0.001  # default\n"));
	assert_non_null(strstr(buf_cstr(&b), "# tier:large is over"));
	assert_non_null(strstr(buf_cstr(&b), "site.pay_to =   # not set\n"));
	snprintf(want, sizeof(want),
	    "runtime:py.entry = main.x  # %s/py/runtime.conf:2\n", dir);
	assert_non_null(strstr(buf_cstr(&b), want));
	assert_null(strstr(buf_cstr(&b), "s3cret"));
	buf_free(&b);
	conf_free(c);
	c = good("[service]\nmax_runs = 0\n", NULL);
	buf_init(&b, 1u << 16);
	conf_print(&b, c);
	snprintf(want, sizeof(want),
	    "service.max_runs = %" PRIu64 "  # from the host\n", c->max_runs);
	assert_non_null(strstr(buf_cstr(&b), want));
	buf_free(&b);
	conf_free(c);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_price),
		T(test_shipped),
		T(test_large_tier),
		T(test_values),
		T(test_form_errors),
		T(test_nul_byte),
		T(test_file_errors),
		T(test_numbers),
		T(test_single_forms),
		T(test_description_length),
		T(test_environment),
		T(test_environment_facilitator),
		T(test_environment_errors),
		T(test_assets),
		T(test_whole_prices),
		T(test_references),
		T(test_tiers),
		T(test_too_many),
		T(test_dropped),
		T(test_runtimes),
		T(test_runtime_errors),
		T(test_runtimes_dir),
		T(test_round_trip),
		T(test_parse_errors),
		T(test_complete),
		T(test_site),
		T(test_site_errors),
		T(test_site_param),
		T(test_secrets),
		T(test_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
