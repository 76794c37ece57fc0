/* [chain:NAME]: how a network is read. */
#include "base/conf.h"

#include "conf_fixture.h"

static void
sections(void **state)
{
	struct conf *c = good(SITE "[chain:main]\nrpc_url = https://n/v1/key\n"
				   "[chain:base]\nnetwork = eip155:8453\n"
				   "rpc_url = https://n/?k=v&x=y\n"
				   "ca_file = /ca.pem\nconfirmations = 12\n"
				   "log_blocks = 10\n",
	    NULL);

	(void)state;
	assert_int_equal(c->n_chains, 2);
	assert_string_equal(c->chains[0].rpc_url, "https://n/v1/key");
	assert_int_equal(c->chains[0].confirmations, 3);
	assert_int_equal(c->chains[0].log_blocks, 1000);
	assert_string_equal(
	    conf_chain_network(c, &c->chains[0]), "eip155:84532");
	assert_string_equal(
	    conf_chain_network(c, &c->chains[1]), "eip155:8453");
	assert_string_equal(c->chains[1].rpc_url, "https://n/?k=v&x=y");
	assert_int_equal(c->chains[1].confirmations, 12);
	assert_int_equal(c->chains[1].log_blocks, 10);
	conf_free(c);
}

static void
refused(void **state)
{
	static const char *const urls[] = { "ftp://n", "n", "https://u@n/",
		"https://n/#f", "https://n/?a#b", "https://n/?a b", "https://",
		"https://n/?a@b" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		snprintf(
		    text, sizeof(text), "[chain:a]\nrpc_url = %s\n", urls[i]);
		bad(text, NULL, "rpc_url");
	}
	bad("[chain:a]\nnetwork = eip155:1\n", NULL,
	    "[chain:a] rpc_url is not set");
	bad("[chain:a]\nnetwork = solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp\n"
	    "rpc_url = https://n\n",
	    NULL, "only EVM networks");
	bad("[chain:a]\nrpc_url = https://n\nconfirmations = 0\n", NULL,
	    "confirmations");
	bad(SITE "[chain:a]\nrpc_url = https://n\n"
		 "[chain:b]\nnetwork = eip155:84532\nrpc_url = https://m\n",
	    NULL, "[chain:a] is eip155:84532 too");
}

static void
from_the_environment(void **state)
{
	static char url[] = "TOLLBOX_RPC_URL=https://n/v1/s3cret";
	char *const env[] = { url, NULL };
	struct conf *c = good(SITE, env);
	struct buf b;

	(void)state;
	assert_int_equal(c->n_chains, 1);
	assert_string_equal(c->chains[0].name, "default");
	assert_string_equal(c->chains[0].rpc_url, "https://n/v1/s3cret");
	/* It is shown to nobody but the gate. */
	buf_init(&b, 1u << 20);
	conf_print(&b, c);
	assert_null(strstr(buf_cstr(&b), "s3cret"));
	assert_non_null(strstr(buf_cstr(&b),
	    "chain:default.rpc_url = (not shown)  # environment, "
	    "TOLLBOX_RPC_URL\n"));
	buf_clear(&b);
	conf_write(&b, c, CONF_BOXER);
	assert_null(strstr(buf_cstr(&b), "chain"));
	buf_clear(&b);
	conf_write(&b, c, CONF_GATE);
	assert_non_null(strstr(buf_cstr(&b), "rpc_url = https://n/v1/s3cret"));
	buf_free(&b);
	conf_free(c);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		T(sections),
		T(refused),
		T(from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
