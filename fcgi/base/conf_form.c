#include "base/conf_form.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/un.h>

#include "base/cidr.h"
#include "base/conf.h"
#include "base/utf8.h"
#include "base/wire.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool
only(const char *s, const char *allowed)
{
	return s[0] != '\0' && s[strspn(s, allowed)] == '\0';
}

static bool
one_of(const char *s, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(s, *list) == 0)
			return true;
	return false;
}

static bool
printable(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

const char *
conf_form_account(const char *value)
{
	if (only(value, LOWER UPPER DIGITS "_-.") && strlen(value) <= 32 &&
	    value[0] != '-')
		return NULL;
	return "must be the name of a user or group";
}

const char *
conf_form_label(const char *value)
{
	if (only(value, LOWER DIGITS "-") && strlen(value) < CONF_NAME &&
	    value[0] != '-')
		return NULL;
	return "must be 1 to 31 of a-z, 0-9 and -";
}

const char *
conf_form_name(const char *value)
{
	if (only(value, LOWER DIGITS "_-") && strlen(value) < CONF_NAME)
		return NULL;
	return "must be 1 to 31 of a-z, 0-9, _ and -";
}

const char *
conf_form_path(const char *value)
{
	if (value[0] == '/' && strlen(value) < 4096)
		return NULL;
	return "must be an absolute path";
}

/* No other name of "/" either: that would lay the whole host open. */
const char *
conf_form_rootfs(const char *value)
{
	if (conf_form_path(value) == NULL && strstr(value, "//") == NULL &&
	    strstr(value, "/.") == NULL && value[strlen(value) - 1] != '/')
		return NULL;
	return "must be an absolute path of a folder other than /, without // "
	       "or /.";
}

const char *
conf_form_socket(const char *value)
{
	struct sockaddr_un sun;

	if (value[0] == '/' && strlen(value) < sizeof(sun.sun_path))
		return NULL;
	return "must be an absolute path of at most 107 bytes";
}

const char *
conf_form_store(const char *value)
{
	if (strncmp(value, "sqlite:/", 8) == 0)
		return NULL;
	return "must be sqlite: and an absolute path";
}

/* libfcgi compares peers as IPv4 addresses only, so TCP is IPv4 only. */
static bool
ipv4(const char *s, size_t len)
{
	char text[INET_ADDRSTRLEN];
	struct in_addr a;

	if (len >= sizeof(text))
		return false;
	memcpy(text, s, len);
	text[len] = '\0';
	return inet_pton(AF_INET, text, &a) == 1;
}

/* A port, decimal, from 1 to 65535. */
static bool
port_ok(const char *s)
{
	unsigned port = 0;

	if (!only(s, DIGITS) || strlen(s) > 5)
		return false;
	for (; *s != '\0'; s++)
		port = port * 10 + (unsigned)(*s - '0');
	return port >= 1 && port <= 65535;
}

const char *
conf_form_address_port(const char *value)
{
	const char *colon = strrchr(value, ':');

	if (colon != NULL && ipv4(value, (size_t)(colon - value)) &&
	    port_ok(colon + 1))
		return NULL;
	return "must be an IPv4 address, a colon and a port";
}

const char *
conf_form_addresses(const char *value)
{
	for (;;) {
		size_t len = strcspn(value, ",");

		if (!ipv4(value, len))
			return "must be IPv4 addresses with commas between";
		if (value[len] == '\0')
			return NULL;
		value += len + 1;
	}
}

const char *
conf_form_log(const char *value)
{
	static const char *const forms[] = { "text", "json", NULL };

	return one_of(value, forms) ? NULL : "must be text or json";
}

const char *
conf_form_log_level(const char *value)
{
	static const char *const levels[] = { "err", "warn", "info", "debug",
		NULL };

	return one_of(value, levels) ? NULL
				     : "must be err, warn, info or debug";
}

const char *
conf_form_memory_limit(const char *value)
{
	static const char *const kinds[] = { "auto", "cgroup2", "cgroup1",
		"meter", NULL };

	return one_of(value, kinds) ? NULL
				    : "must be auto, cgroup2, cgroup1 or meter";
}

/* x402.md 1.2: at most 32 printable ASCII characters as serviceName. */
const char *
conf_form_service_name(const char *value)
{
	if (printable(value) && strlen(value) <= 32)
		return NULL;
	return "must be at most 32 printable ASCII characters";
}

/* What OpenAPI takes as info.contact's email or url. */
const char *
conf_form_contact(const char *value)
{
	static const char word[] = LOWER UPPER DIGITS ".-_+";
	size_t n = strspn(value, word);

	if (conf_form_url(value) == NULL)
		return NULL;
	if (n > 0 && value[n] == '@' && value[n + 1] != '\0' &&
	    value[0] != '.' && value[n - 1] != '.' &&
	    strspn(value + n + 1, word) == strlen(value + n + 1))
		return NULL;
	return "must be a mail address or an http(s) URL";
}

const char *
conf_form_cidr(const char *value)
{
	struct cidr c;

	if (cidr_parse(&c, value) == ST_OK)
		return NULL;
	return "must be an IP address, or a block like 10.0.0.0/8";
}

const char *
conf_form_description(const char *value)
{
	if (utf8_length(value, strlen(value)) <= CONF_DESCRIPTION)
		return NULL;
	return "must be at most 500 characters";
}

const char *
conf_form_asset_text(const char *value)
{
	if (utf8_length(value, strlen(value)) <= 64)
		return NULL;
	return "must be at most 64 characters";
}

bool
conf_form_evm_address(const char *value)
{
	if (strncmp(value, "0x", 2) != 0 || strlen(value) != 42 ||
	    !only(value + 2, DIGITS "abcdefABCDEF"))
		return false;
	/* Money sent to the zero address is gone. */
	return value[2 + strspn(value + 2, "0")] != '\0';
}

const char *
conf_form_address(const char *value)
{
	if (strncmp(value, "0x", 2) == 0)
		return conf_form_evm_address(value)
			   ? NULL
			   : "must be an address: 0x and 40 hex digits, not "
			     "zero";
	if (only(value, LOWER UPPER DIGITS) && strlen(value) <= 64)
		return NULL;
	return "must be an address";
}

/* Chains have forms of their own (0.0.123, 0x…::usdc::USDC), and none is ours
 * to judge; what follows for EVM is known from the network. */
const char *
conf_form_holder(const char *value)
{
	if (printable(value) && strpbrk(value, " \"\\<>") == NULL &&
	    strlen(value) <= 120)
		return NULL;
	return "must be an account or token: at most 120 visible characters";
}

const char *
conf_form_network(const char *value)
{
	static const char wrong[] = "must be a CAIP-2 name like eip155:84532";
	size_t space = strcspn(value, ":");
	const char *ref = value + space;

	if (*ref != ':' || space < 3 || space > 8 ||
	    strspn(value, LOWER DIGITS "-") != space)
		return wrong;
	ref++;
	if (!only(ref, LOWER UPPER DIGITS "_-") || strlen(ref) > 32)
		return wrong;
	/* A chain id is signed as a number: one spelling only. */
	if (strncmp(value, "eip155:", 7) == 0 &&
	    (!only(ref, DIGITS) || ref[0] == '0'))
		return "must be eip155: and a chain id without leading zeros";
	return NULL;
}

const char *
conf_form_url(const char *value)
{
	static const char wrong[] =
	    "must be http:// or https://, a host, perhaps a port and a path";
	const char *host;
	size_t len;

	if (strncmp(value, "https://", 8) == 0)
		host = value + 8;
	else if (strncmp(value, "http://", 7) == 0)
		host = value + 7;
	else
		return wrong;
	if (strlen(value) > 512 || !printable(value))
		return wrong;
	if (strpbrk(value, " \"<>\\^`{|}") != NULL)
		return wrong;
	if (strpbrk(value, "?#@") != NULL)
		return "must be a URL without query, fragment and user name";
	if (host[0] == '[') {
		len = strspn(host + 1, DIGITS "abcdefABCDEF:.") + 1;
		if (len < 3 || host[len] != ']')
			return wrong;
		len++;
	} else {
		len = strspn(host, LOWER UPPER DIGITS "-._");
		if (len == 0)
			return wrong;
	}
	host += len;
	if (*host == ':') {
		char port[6] = "";

		host++;
		len = strcspn(host, "/");
		if (len >= sizeof(port))
			return wrong;
		memcpy(port, host, len);
		if (!port_ok(port))
			return wrong;
		host += len;
	}
	return *host == '\0' || *host == '/' ? NULL : wrong;
}

/* The proxy of a plain CONNECT: what is said to it must not look like a TLS
 * handshake with the facilitator (pay/fetch.c). */
const char *
conf_form_proxy(const char *value)
{
	if (strncmp(value, "http://", 7) == 0 && conf_form_url(value) == NULL &&
	    strchr(value + 7, '/') == NULL)
		return NULL;
	return "must be http://, a host, a colon and a port";
}

/* As conf_form_url(), but a query may follow: some providers' keys are there.
 */
const char *
conf_form_rpc_url(const char *value)
{
	const char *query = strchr(value, '?');
	char before[513];
	size_t len = query != NULL ? (size_t)(query - value) : strlen(value);

	if (len >= sizeof(before) || strlen(value) > 1024)
		return "is over-long";
	memcpy(before, value, len);
	before[len] = '\0';
	if (query != NULL &&
	    (!printable(query) || strpbrk(query, " \"<>\\^`{|}#@") != NULL))
		return "must be a URL without fragment and user name";
	return conf_form_url(before);
}

/* The routes of api.md section 1 that sell something or price it. */
const char *
conf_form_route(const char *value)
{
	static const char *const routes[] = { "/execute", "/quote",
		"/api/code-run", "/api/code/run", "/v1/code", "/mcp", NULL };

	return one_of(value, routes) ? NULL
				     : "must be of /execute /quote "
				       "/api/code-run /api/code/run /v1/code "
				       "/mcp";
}

const char *
conf_form_name_price(const char *value)
{
	static const char wrong[] = "must be TIER=PRICE like small=$0.001";
	const char *equals = strchr(value, '=');
	char name[CONF_NAME];
	uint64_t micros;
	size_t len;

	if (equals == NULL)
		return wrong;
	len = (size_t)(equals - value);
	if (len >= sizeof(name))
		return wrong;
	memcpy(name, value, len);
	name[len] = '\0';
	if (conf_form_name(name) != NULL)
		return wrong;
	if (conf_price(&micros, equals + 1) != ST_OK)
		return "must have a price like $0.001, at most six decimals";
	return NULL;
}

const char *
conf_form_entry(const char *value)
{
	if (strchr(value, '/') == NULL && strlen(value) < WIRE_NAME &&
	    value[0] != '-' && wire_path_ok(value, strlen(value)))
		return NULL;
	return "must be a file name of at most 31 bytes";
}

const char *
conf_form_evm_key(const char *value)
{
	if (strncmp(value, "0x", 2) == 0 && strlen(value) == 66 &&
	    strspn(value + 2, DIGITS "abcdefABCDEF") == 64)
		return NULL;
	return "must be a secp256k1 key: 0x and 64 hex digits";
}

const char *
conf_form_file(const char *value)
{
	if (value[0] == '/' || wire_path_ok(value, strlen(value)))
		return NULL;
	return "must be the path of a file, absolute or without . and ..";
}

const char *
conf_form_gate(const char *value)
{
	static const char *const kinds[] = { "fds", "fifo", NULL };

	return one_of(value, kinds) ? NULL : "must be fds or fifo";
}

const char *
conf_form_helper(const char *value)
{
	static const char *const kinds[] = { "evaluate", "figures", NULL };

	return one_of(value, kinds) ? NULL : "must be evaluate or figures";
}

/* Length of a variable's name at the start, 0 if there is none. */
static size_t
variable(const char *s)
{
	if (strchr(DIGITS, s[0]) != NULL)
		return 0;
	return strspn(s, LOWER UPPER DIGITS "_");
}

const char *
conf_form_assignment(const char *value)
{
	size_t len = variable(value);

	return len > 0 && value[len] == '=' ? NULL : "must be NAME=value";
}

const char *
conf_form_hook_env(const char *value)
{
	if (strlen(value) >= WIRE_HOOK_ENV)
		return "must be at most 127 bytes";
	return conf_form_assignment(value);
}

const char *
conf_form_variable_pattern(const char *value)
{
	size_t len = variable(value);

	if (len > 0 &&
	    (value[len] == '\0' || (value[len] == '*' && value[len + 1] == 0)))
		return NULL;
	return "must be a variable's name, or its beginning and a *";
}

const char *
conf_form_header(const char *value)
{
	size_t len = strspn(value, LOWER UPPER DIGITS "!#$%&'*+-.^_`|~");

	if (len > 0 && value[len] == ':' && value[len + 1] == ' ' &&
	    value[len + 2] != '\0' && printable(value))
		return NULL;
	return "must be one header line, Name: value";
}
