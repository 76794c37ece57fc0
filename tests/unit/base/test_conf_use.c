#include "base/conf.h"

#include "conf_fixture.h"

#include <inttypes.h>
#include <limits.h>

#include "base/conf_table.h"
#include "base/conf_value.h"

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
	write_runtime("py", "entry = main.py\ncommand = /usr/bin/env {entry}\n"
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
	assert_string_equal(boxer->runtimes[0].command[0], "/usr/bin/env");
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
	assert_non_null(strstr(text, "/usr/bin/env"));
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
	    "[facilitator:default]\nurl=https://a\nauth_header_file=%s\n",
	    path);
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

/* The key's file has lines; it goes to the gate, and to nobody else. */
static void
test_cdp_secret(void **state)
{
	static const char key[] = "{\n\t\"id\": \"k\"\n}\n";
	static const char coded[] = "ewoJImlkIjogImsiCn0K";
	char path[96], text[256];
	struct fault f = { .st = ST_OK };
	struct conf *c, *gate = NULL;
	struct buf b;

	(void)state;
	snprintf(path, sizeof(path), "%s/key", dir);
	snprintf(text, sizeof(text),
	    "[facilitator:default]\nurl=https://a\ncdp_key_file=%s\n", path);
	write_file(path, key, strlen(key));
	c = good(text, NULL);
	assert_int_equal(chmod(path, 0604), 0);
	assert_int_equal(conf_secrets(c, &f), ST_FORMAT);
	assert_non_null(strstr(f.message, "cdp_key_file"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(conf_secrets(c, &f), ST_OK);
	assert_string_equal(c->facilitators[0].cdp_key, coded);
	buf_init(&b, 1u << 20);
	conf_write(&b, c, CONF_BOXER);
	conf_write(&b, c, CONF_ALL);
	conf_print(&b, c);
	assert_int_equal(buf_status(&b), ST_OK);
	assert_null(strstr(buf_cstr(&b), coded));
	buf_clear(&b);
	conf_write(&b, c, CONF_GATE);
	assert_int_equal(conf_parse(&gate, buf_cstr(&b), &f), ST_OK);
	assert_string_equal(gate->facilitators[0].cdp_key, coded);
	assert_null(gate->facilitators[0].cdp_key_file);
	buf_free(&b);
	conf_free(gate);
	conf_free(c);
}

/* The key that offers may be signed with: for the gate alone, and closed to the
 * group too. */
static void
test_offer_key(void **state)
{
	static const char key[] = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cb"
				  "ed5efcae784d7bf4f2ff80\n";
	static const char *const wrong[] = { "", "\n", "ac0974\n",
		"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2"
		"ff8\n",
		"0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2"
		"ffgg\n" };
	static const mode_t open_to[] = { 0640, 0604 };
	char path[96], text[256];
	char *out;
	struct conf *c, *other;
	struct fault f = { .st = ST_OK };
	OWN_BUF struct buf b;

	(void)state;
	snprintf(path, sizeof(path), "%s/offers", dir);
	snprintf(
	    text, sizeof(text), "[service]\noffer_signing_key_file=%s\n", path);
	c = good(text, NULL);
	write_file(path, key, strlen(key));
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(chmod(path, open_to[i]), 0);
		assert_int_equal(conf_secrets(c, &f), ST_FORMAT);
		assert_non_null(strstr(f.message, "offer_signing_key_file"));
		assert_null(c->offer_signing_key);
	}
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(conf_secrets(c, &f), ST_OK);
	assert_int_equal(strncmp(c->offer_signing_key, key, 66), 0);

	other = round_trip(c, CONF_GATE, &out);
	assert_string_equal(other->offer_signing_key, c->offer_signing_key);
	conf_free(other);
	free(out);
	other = round_trip(c, CONF_BOXER, &out);
	assert_null(other->offer_signing_key);
	assert_null(strstr(out, "ac0974"));
	conf_free(other);
	free(out);
	buf_init(&b, 1 << 20);
	conf_print(&b, c);
	assert_null(strstr(buf_cstr(&b), "ac0974"));
	assert_non_null(strstr(buf_cstr(&b), path));

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		write_file(path, wrong[i], strlen(wrong[i]));
		assert_int_equal(conf_secrets(c, &f), ST_FORMAT);
		assert_null(strstr(f.message, "ac0974"));
	}
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

#define ASSETS                                                                 \
	"[facilitator:default]\nurl = https://f\n"                             \
	"[facilitator:other]\nurl = https://g\nfallback = default\n"           \
	"[asset:a]\nnetwork = eip155:84532\nasset = " USDC "\n"                \
	"[asset:b]\nnetwork = solana:x\nasset = Mint\npay_to = Me\n"           \
	"facilitator = other\nasset_decimals = 9\n"

/* A location that says what it accepts in one form does not inherit the other,
 * and its own payee never goes unheard. */
static void
test_site_accepts(void **state)
{
	static const struct {
		const char *site; /* of the file, after public_url */
		struct params own[3];
		const char *accepts, *network; /* NULL: none */
		const char *says;
	} table[] = {
		{ "accepts = a b\n", { { 0 } }, "a", NULL, NULL },
		{ "accepts = a b\n", { { "TOLLBOX_ACCEPTS", "b" } }, "b", NULL,
		    NULL },
		{ "network = eip155:84532\nasset = " USDC "\n",
		    { { "TOLLBOX_ACCEPTS", "b" } }, "b", NULL, NULL },
		{ "accepts = a b\n",
		    { { "TOLLBOX_NETWORK", "eip155:84532" },
			{ "TOLLBOX_ASSET", USDC } },
		    NULL, "eip155:84532", NULL },
		{ "accepts = a b\n",
		    { { "TOLLBOX_NETWORK", "eip155:84532" },
			{ "TOLLBOX_ACCEPTS", "a" } },
		    NULL, NULL, "both" },
		{ "accepts = a\n", { { "TOLLBOX_PAY_TO", PAYEE } }, "a", NULL,
		    NULL },
		{ "accepts = a b\n", { { "TOLLBOX_PAY_TO", PAYEE } }, NULL,
		    NULL, "[asset:b]" },
		{ "accepts = a\n", { { "TOLLBOX_ACCEPTS", "c" } }, NULL, NULL,
		    "no \"c\"" },
		{ "accepts = a\n", { { "TOLLBOX_ACCEPTS", "a a" } }, NULL, NULL,
		    "twice" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct params p[3];
		struct fault f = { .st = ST_OK };
		struct conf_site s;
		struct conf *c;
		char text[1024];

		snprintf(text, sizeof(text),
		    "[site]\npublic_url = https://h\n%s" ASSETS, table[i].site);
		c = good(text, NULL);
		memcpy(p, table[i].own, sizeof(p));
		if (conf_site_resolve(&s, c, get, p, &f) != ST_OK) {
			assert_non_null(table[i].says);
			assert_non_null(strstr(f.message, table[i].says));
		} else {
			assert_null(table[i].says);
			if (table[i].accepts == NULL)
				assert_null(s.accepts);
			else
				assert_string_equal(
				    s.accepts[0], table[i].accepts);
			if (table[i].network == NULL)
				assert_null(s.network);
			else
				assert_string_equal(
				    s.network, table[i].network);
			conf_site_free(&s);
		}
		conf_free(c);
	}
}

#define EXAMPLE "docs/tollbox.conf.example"

/* The shipped example, each "#key = value" made a setting: it must load, name
 * every key there is, and show the shipped values. Tests run in the folder of
 * the checkout. */
static void
test_example(void **state)
{
	static const char *const other[] = { "\naccepts = ", "\ncdp_key_file",
		"\nfallback = " };
	FILE *in = fopen(EXAMPLE, "r");
	struct buf all;
	struct conf *c = NULL;
	struct conf *plain = NULL;
	struct fault f = { .st = ST_OK };
	char line[512];
	char key[64];
	char path[128];

	(void)state;
	assert_non_null(in);
	buf_init(&all, CONF_FILE_BYTES);
	while (fgets(line, sizeof(line), in) != NULL)
		buf_adds(
		    &all, line[0] == '#' && line[1] >= 'a' && line[1] <= 'z'
			      ? line + 1
			      : line);
	fclose(in);
	for (size_t k = 0; k < conf_table_n; k++) {
		if (conf_table_keys[k].flags & CONF_TABLE_INTERNAL)
			continue;
		snprintf(key, sizeof(key), "\n%s = ", conf_table_keys[k].key);
		if (strstr(buf_cstr(&all), key) == NULL)
			fail_msg("no %s in " EXAMPLE, conf_table_keys[k].key);
		if (conf_table_keys[k].env != NULL &&
		    strstr(buf_cstr(&all), conf_table_keys[k].env) == NULL)
			fail_msg("no %s in " EXAMPLE, conf_table_keys[k].env);
	}
	/* These stand for another form of what the file has already, or for a
	 * section that is not there. */
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		strstr((char *)all.data, other[i])[1] = '#';
	/* Its folder of runtimes may not be there, but for what it names. */
	buf_adds(&all, "[runtime:node]\n" RUNTIME);
	buf_adds(&all, "[runtime:bash]\n" RUNTIME "[runtime:r]\n" RUNTIME);
	write_runtime("python3", RUNTIME);
	snprintf(path, sizeof(path), "%.60s/python3/hook.py", dir);
	write_file(path, "x", 1);
	snprintf(path, sizeof(path), "%.60s/python3/helper.py", dir);
	write_file(path, "x", 1);
	write_file(file, buf_cstr(&all), all.len);
	buf_free(&all);
	snprintf(key, sizeof(key), "TOLLBOX_RUNTIMES_DIR=%.40s", dir);
	if (conf_load(&c, file, (char *[]){ key, NULL }, &f) != ST_OK)
		fail_msg("%s", f.message);
	plain = good("", NULL);
	for (size_t k = 0; k < conf_table_n; k++) {
		const struct conf_table_key *row = &conf_table_keys[k];
		struct buf shown;
		struct buf shipped;

		if (row->section >= CONF_TABLE_FACILITATOR ||
		    row->initial == NULL ||
		    strcmp(row->key, "runtimes_dir") == 0)
			continue;
		buf_init(&shown, 1024);
		buf_init(&shipped, 1024);
		conf_value_put(
		    &shown, conf_table_struct(c, row->section, 0), row);
		conf_value_put(
		    &shipped, conf_table_struct(plain, row->section, 0), row);
		assert_string_equal(buf_cstr(&shown), buf_cstr(&shipped));
		buf_free(&shown);
		buf_free(&shipped);
	}
	assert_int_equal(c->n_tiers, plain->n_tiers);
	for (size_t i = 0; i < plain->n_tiers; i++) {
		assert_int_equal(
		    c->tiers[i].price_micros, plain->tiers[i].price_micros);
		assert_memory_equal(&c->tiers[i].limits,
		    &plain->tiers[i].limits, sizeof(struct limits));
	}
	conf_free(c);
	conf_free(plain);
}

/* The runtimes that are shipped. */
static void
test_shipped_runtimes(void **state)
{
	char env[PATH_MAX + 32] = "TOLLBOX_RUNTIMES_DIR=";
	struct conf *c = NULL;
	struct fault f = { .st = ST_OK };

	(void)state;
	assert_non_null(realpath("sandbox-scripts", env + strlen(env)));
	if (conf_load(&c, NULL, (char *[]){ env, NULL }, &f) != ST_OK)
		fail_msg("%s", f.message);
	assert_non_null(conf_runtime(c, "python3"));
	assert_string_equal(conf_runtime(c, "python3")->entry, "main.py");
	assert_non_null(conf_runtime(c, "node"));
	assert_string_equal(conf_runtime(c, "node")->entry, "main.js");
	assert_string_equal(conf_runtime(c, "node")->entry_module, "main.mjs");
	/* api.md section 4. */
	assert_int_equal(conf_runtime(c, "node")->min_memory_bytes, 67108864);
	assert_int_equal(
	    conf_runtime(c, "python3")->min_memory_bytes, 33554432);
	conf_free(c);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_round_trip),
		T(test_parse_errors),
		T(test_site),
		T(test_site_errors),
		T(test_site_accepts),
		T(test_site_param),
		T(test_secrets),
		T(test_cdp_secret),
		T(test_offer_key),
		T(test_print),
		T(test_example),
		T(test_shipped_runtimes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
