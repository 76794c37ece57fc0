#include "base/conf.h"

#include "conf_fixture.h"

#include <inttypes.h>

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
	struct conf *c = good("[service]\nmemory_bytes=3088M\n", NULL);
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
	char text[33000];

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
		{ "TOLLBOX_RPC_URL=x", "TOLLBOX_RPC_URL" },
		{ "TOLLBOX_=1", "unknown name TOLLBOX_" },
		{ "TOLLBOX_MAX_RUNS=many",
		    "environment: TOLLBOX_MAX_RUNS must be a whole number" },
		{ "TOLLBOX_PAY_TO=", "TOLLBOX_PAY_TO must not be empty" },
		{ "TOLLBOX_SITE_NAME=a\nb", "must not hold control" },
		{ "TOLLBOX_DESCRIPTION=\xc3", "must be UTF-8" },
		{ "TOLLBOX_CONTACT=me", "must be a mail address or" },
		{ "TOLLBOX_CONTACT=me@", "must be a mail address or" },
		{ "TOLLBOX_CONTACT=me@x y", "must be a mail address or" },
		{ "TOLLBOX_CONTACT=ftp://x", "must be a mail address or" },
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
