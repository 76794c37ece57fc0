#include "base/conf.h"

#include "conf_fixture.h"

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
	bad("[site]\nasset_decimals = 2\n"
	    "prices = small=$0.01 medium=$0.02 large=$0.03\n",
	    NULL, "[dialect:x402engine] price is no whole number");
	conf_free(good("[site]\nasset_decimals = 2\n"
		       "prices = small=$0.01 medium=$0.02 large=$0.03 "
		       "x402engine=$0.01 pocket=$0.01\n",
	    NULL));
	bad("[site]\nasset_decimals = 2\nroutes = /execute\n"
	    "prices = small=$0.01 medium=$0.02 large=$0.035\n",
	    NULL, "\"large=$0.035\" is no whole number");
	/* Only what is sold must be whole. */
	conf_free(good("[site]\nasset_decimals = 2\ntiers = large\n"
		       "routes = /execute /api/code-run\n"
		       "[service]\nmemory_bytes=4G\n",
	    NULL));
	conf_free(good("[site]\nasset_decimals = 0\nprices = small=$1 "
		       "medium=$2 large=$3 agent402=$4 x402engine=$5 "
		       "pocket=$6\n",
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

/* Dialects with a flat price: those there are, and what the host holds. */
static void
test_dialects(void **state)
{
	struct conf *c = good("[dialect:pocket]\nprice = $0.25\n"
			      "[tier:small]\nmemory_bytes = 32M\n"
			      "[service]\nmemory_bytes = 352321535\n",
	    NULL);

	(void)state;
	assert_int_equal(c->n_dialects, 3);
	assert_string_equal(c->dialects[0].name, "agent402");
	assert_int_equal(c->dialects[0].price_micros, 20000);
	assert_int_equal(c->dialects[0].limits.timeout_ms, 30000);
	assert_int_equal(c->dialects[2].price_micros, 250000);
	/* 256M + 64M + 16M, less a byte: the tier was made smaller, a dialect
	 * is not. */
	for (size_t i = 0; i < c->n_dialects; i++)
		assert_false(conf_dialect_fits(c, &c->dialects[i]));
	c->memory_bytes++;
	for (size_t i = 0; i < c->n_dialects; i++)
		assert_true(conf_dialect_fits(c, &c->dialects[i]));
	conf_free(c);
	bad("[dialect:mcp]\nprice = $1\n", NULL,
	    "no such dialect with a price of its own: agent402, x402engine, "
	    "pocket");
	bad("[dialect:pocket]\ntimeout_ms = 1\n", NULL, "unknown key");
	bad("[dialect:pocket]\nprice = 0\n", NULL, "price");
	bad("[tier:pocket]\nprice = $1\n", NULL, "the name of a dialect");
	bad("[site]\ntiers = pocket\n", NULL, "there is no \"pocket\"");
}

static void
test_dropped(void **state)
{
	/* medium needs 512M + 256M + 16M, large 3088M. */
	struct conf *c = good("[service]\nmemory_bytes = 784M\n"
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
	c = good("[service]\nmemory_bytes = 822083583\n"
		 "[site]\nprices = large=$9\n",
	    NULL);
	assert_int_equal(c->n_tiers, 1);
	assert_null(c->site.prices);
	conf_free(c);
	bad("[service]\nmemory_bytes = 784M\n[site]\ntiers = large\n", NULL,
	    "none of them fits");
	bad("[service]\nmemory_bytes = 335M\n", NULL, "hold no tier");
}

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

/* All folders are shipped; what is not installed is not offered, unless the
 * file asks for it. */
static void
test_runtimes_dropped(void **state)
{
	static const char gone[] = "entry = main.x\nmin_tasks = 9\n"
				   "command = /nonexistent/x {entry}\n";
	struct conf *c;
	struct buf b;

	(void)state;
	write_runtime("aa", gone);
	write_runtime("bb", RUNTIME "hello = print(\"a b\")\n");
	write_runtime("cc", gone);
	write_runtime("dd", "entry = main.x\nrootfs = /srv/dd\n"
			    "command = /nonexistent/x {entry}\n");
	c = good("", NULL);
	assert_int_equal(c->n_runtimes, 2);
	assert_string_equal(c->runtimes[0].name, "bb");
	assert_string_equal(c->runtimes[0].hello, "print(\"a b\")");
	assert_int_equal(c->runtimes[0].min_tasks, 1);
	assert_string_equal(c->runtimes[1].name, "dd");
	assert_string_equal(c->runtimes[1].rootfs, "/srv/dd");
	assert_null(conf_runtime(c, "aa"));
	assert_string_equal(c->runtimes_dropped[0], "aa");
	assert_string_equal(c->runtimes_dropped[1], "cc");
	assert_null(c->runtimes_dropped[2]);
	buf_init(&b, 1u << 20);
	conf_print(&b, c);
	assert_non_null(strstr(buf_cstr(&b), "\n# runtime:aa is not offered"));
	/* The origin of a dropped one's values went with it. */
	assert_non_null(
	    strstr(buf_cstr(&b), "\nruntime:bb.min_tasks = 1  # default\n"));
	buf_free(&b);
	conf_free(c);

	bad("[site]\nruntimes = bb aa\n", NULL, "there is no \"aa\"");
	c = good("[runtime:aa]\nmin_tasks = 2\n", NULL);
	assert_int_equal(c->n_runtimes, 3);
	assert_non_null(conf_runtime(c, "aa"));
	assert_string_equal(c->runtimes_dropped[0], "cc");
	assert_null(c->runtimes_dropped[1]);
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
		{ "entry = a\ncommand = /bin/sh y\n", "must hold {entry}" },
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
		{ RUNTIME "rootfs = srv\n", "3: rootfs must be an absolute" },
		{ RUNTIME "rootfs = /\n", "other than /" },
		{ RUNTIME "rootfs = /srv/\n", "other than /" },
		{ RUNTIME "rootfs = /./\n", "other than /" },
		{ RUNTIME "rootfs = /srv/..\n", "other than /" },
		{ RUNTIME "rootfs = //srv\n", "other than /" },
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

#define FAC "[facilitator:default]\nurl = https://f\n"
#define URL "[site]\npublic_url = https://h\npay_to = " PAYEE "\n"
#define SEPOLIA "network = eip155:84532\nasset = " USDC "\n"

/* Sections of things to accept, alone and in the site's list. */
static void
test_accepts(void **state)
{
	struct fault f = { .st = ST_OK };
	struct conf *c;

	(void)state;
	write_runtime("py", RUNTIME);
	c = good(URL "accepts = b a\n" FAC "[asset:a]\n" SEPOLIA
		     "[asset:b]\nnetwork = solana:x\nasset = M\npay_to = P\n",
	    NULL);
	assert_int_equal(conf_complete(c, &f), ST_OK);
	assert_string_equal(c->site.accepts[0], "b");
	/* Known tokens need no name and version. */
	assert_string_equal(conf_asset(c, "a")->asset_name, "USDC");
	assert_string_equal(conf_asset(c, "a")->asset_version, "2");
	assert_null(conf_asset(c, "b")->asset_name);
	assert_null(conf_asset(c, "x"));
	conf_free(c);

	bad(FAC "[asset:a]\nasset = " USDC "\n", NULL,
	    "[asset:a] network is not set");
	bad(FAC "[asset:a]\nnetwork = eip155:84532\n", NULL,
	    "[asset:a] asset is not set");
	bad(FAC "[asset:a]\nnetwork = eip155:7\nasset = " USDC "\n", NULL,
	    "[asset:a] asset_name is not set");
	bad(FAC "[asset:a]\n" SEPOLIA "asset_name = USD Coin\n", NULL,
	    "[asset:a] asset_name must be \"USDC\"");
	bad(FAC "[asset:a]\n" SEPOLIA "pay_to = Me\n", NULL,
	    "[asset:a] pay_to must be 0x");
	bad(FAC "[asset:a]\n" SEPOLIA "facilitator = x\n", NULL,
	    "there is no [facilitator:x]");
	bad(URL "accepts = a\n" FAC, NULL, "there is no \"a\"");
	bad(SITE "accepts = a\n" FAC "[asset:a]\n" SEPOLIA, NULL,
	    "both accepts");
	bad(URL "accepts = a b\n" FAC "[asset:a]\n" SEPOLIA
		"[asset:b]\nnetwork = eip155:84532\n"
		"asset = 0x036cbd53842c5426634e7929541ec2318f3dcf7e\n",
	    NULL, "one token");
	/* Whole in each of them. */
	bad(URL "accepts = a b\n" FAC "[asset:a]\n" SEPOLIA
		"[asset:b]\nnetwork = xyz:y\nasset = M\nasset_decimals = 2\n",
	    NULL, "asset_decimals of [asset:b]");
	/* Whose money is it, and who settles? */
	c = good("[site]\npublic_url = https://h\naccepts = a\n" FAC
		 "[asset:a]\n" SEPOLIA,
	    NULL);
	assert_int_equal(conf_complete(c, &f), ST_FORMAT);
	assert_non_null(strstr(f.message, "[asset:a] pay_to is not set"));
	conf_free(c);
	bad(URL "accepts = a\n[facilitator:x]\nurl = "
		"https://f\n[asset:a]\n" SEPOLIA,
	    NULL, "[facilitator:default]");
	conf_free(good(URL "accepts = a\n[facilitator:x]\nurl = https://f\n"
			   "[asset:a]\n" SEPOLIA "facilitator = x\n",
	    NULL));
}

static void
test_facilitators(void **state)
{
	(void)state;
	bad(FAC "fallback = default\n", NULL, "no other");
	bad(FAC "fallback = x\n", NULL, "no other [facilitator:x]");
	conf_free(
	    good(FAC "fallback = x\n[facilitator:x]\nurl = https://g\n", NULL));
	bad(FAC "auth_header_file = /a\ncdp_key_file = /b\n", NULL, "both");
	bad(FAC "cdp_key = ewo=\n", NULL, "unknown key");
	bad(FAC "proxy = https://127.0.0.1:1\n", NULL, "proxy must be http://");
	bad(FAC "proxy = http://127.0.0.1:1/x\n", NULL, "proxy must be");
	bad(FAC "proxy = http://u:p@h:1\n", NULL, "proxy must be");
	bad(FAC "refresh_s = 0\n", NULL, "from 1 to 86400");
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_assets),
		T(test_whole_prices),
		T(test_dialects),
		T(test_references),
		T(test_tiers),
		T(test_too_many),
		T(test_dropped),
		T(test_runtimes),
		T(test_runtimes_dropped),
		T(test_runtime_errors),
		T(test_runtimes_dir),
		T(test_complete),
		T(test_accepts),
		T(test_facilitators),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
