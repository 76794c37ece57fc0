/*
 * A small chain's node for tests: a JSON-RPC server over a chain of blocks two
 * seconds apart, in which one authorization may have been used. It answers
 * truly; what a test wants otherwise it says in `twist`.
 */
#ifndef CHAIN_NODE_H
#define CHAIN_NODE_H

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define NODE_HEAD 100000
#define NODE_TIME(number) (1700000000 + 2 * (uint64_t)(number))
#define NODE_TOKEN "036cbd53842c5426634e7929541ec2318f3dcf7e"
#define NODE_FROM "f39fd6e51aad88f6f4ce6ab8827279cfffb92266"
#define NODE_TO "70997970c51812dc3a010c7d01b50e0d17dc79c8"
#define NODE_OTHER "3c44cdddb6a900fa2b585dd299e03d12fa4293bc"
#define NODE_NONCE                                                             \
	"0001020304050607080910111213141516171819202122232425262728293031"
#define NODE_NONCE2                                                            \
	"ff01020304050607080910111213141516171819202122232425262728293031"
#define NODE_USED                                                              \
	"98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"
#define NODE_CANCELED                                                          \
	"1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"
#define NODE_TRANSFER                                                          \
	"ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
#define NODE_PAD "000000000000000000000000"
#define NODE_TXN                                                               \
	"abababababababababababababababababababababababababababababababab"

/* One log of the transaction that used the authorization. */
struct node_log {
	const char *token, *topic0, *topic1, *topic2;
	unsigned value;
};

struct node {
	int fd;
	unsigned port;
	pthread_t thread;
	/* Set before the look, read by the server's thread. */
	uint64_t used_in; /* block, 0: never */
	uint64_t log_cap; /* blocks of one eth_getLogs, 0: any */
	uint64_t pruned;  /* no states at or below it */
	struct node_log logs[6];
	size_t n_logs;
	size_t used_at; /* which of them is about the authorization */
	/* Gives the whole answer instead, or NULL for the truth: a result; an
	 * error's message behind "!"; a body behind "="; one that comes with
	 * HTTP 429 behind "#". */
	const char *(*twist)(
	    struct node *n, const char *method, const char *body);
	unsigned calls;
};

static const struct node_log NODE_LOG_USED = { NODE_TOKEN, NODE_USED,
	NODE_PAD NODE_FROM, NODE_NONCE, 0 };
static const struct node_log NODE_LOG_CANCELED = { NODE_TOKEN, NODE_CANCELED,
	NODE_PAD NODE_FROM, NODE_NONCE, 0 };
static const struct node_log NODE_LOG_PAID = { NODE_TOKEN, NODE_TRANSFER,
	NODE_PAD NODE_FROM, NODE_PAD NODE_TO, 10000 };

/* The number behind the n-th "0x" after `after`, 0 for a word like "latest". */
static inline uint64_t
node_number(const char *body, const char *after)
{
	const char *at = strstr(body, after);

	at = at != NULL ? at + strlen(after) : "";
	at += strspn(at, "\":[ ");
	return strncmp(at, "0x", 2) == 0 ? strtoull(at, NULL, 16) : NODE_HEAD;
}

static inline void
node_put_log(char *out, size_t cap, const struct node *n, size_t i)
{
	const struct node_log *l = &n->logs[i];
	size_t len;

	snprintf(out, cap,
	    "{\"address\":\"0x%s\",\"topics\":[\"0x%s\",\"0x%s\",\"0x%s\"],"
	    "\"blockNumber\":\"0x%" PRIx64 "\",\"blockHash\":\"0x%064" PRIx64
	    "\",\"transactionHash\":\"0x" NODE_TXN "\",\"logIndex\":\"0x%zx\","
	    "\"removed\":false,\"data\":\"0x",
	    l->token, l->topic0, l->topic1, l->topic2, n->used_in, n->used_in,
	    i + 3);
	len = strlen(out);
	if (l->value != 0)
		snprintf(out + len, cap - len, "%064x\"}", l->value);
	else
		snprintf(out + len, cap - len, "\"}");
}

static inline void
node_answer(char *out, size_t cap, struct node *n, const char *body)
{
	uint64_t at, from, to;
	size_t len;

	if (strstr(body, "eth_chainId") != NULL) {
		snprintf(out, cap, "\"0x14a34\"");
	} else if (strstr(body, "eth_getBlockByNumber") != NULL) {
		at = node_number(body, "params\":[");
		snprintf(out, cap,
		    "{\"number\":\"0x%" PRIx64 "\",\"timestamp\":\"0x%" PRIx64
		    "\",\"hash\":\"0x%064" PRIx64 "\"}",
		    at, NODE_TIME(at), at);
	} else if (strstr(body, "eth_call") != NULL) {
		at = node_number(body, "},");
		if (at <= n->pruned)
			snprintf(out, cap, "!missing trie node");
		else
			snprintf(out, cap, "\"0x%064d\"",
			    n->used_in != 0 && at >= n->used_in);
	} else if (strstr(body, "eth_getLogs") != NULL) {
		from = node_number(body, "fromBlock");
		to = node_number(body, "toBlock");
		if (n->log_cap != 0 && to - from >= n->log_cap) {
			snprintf(out, cap, "!range too large");
			return;
		}
		snprintf(out, cap, "[");
		if (n->used_in != 0 && from <= n->used_in && n->used_in <= to)
			node_put_log(out + 1, cap - 1, n, n->used_at);
		len = strlen(out);
		snprintf(out + len, cap - len, "]");
	} else {
		snprintf(out, cap,
		    "{\"status\":\"0x1\",\"transactionHash\":\"0x" NODE_TXN
		    "\",\"blockNumber\":\"0x%" PRIx64
		    "\",\"blockHash\":\"0x%064" PRIx64 "\",\"logs\":[",
		    n->used_in, n->used_in);
		for (size_t i = 0; i < n->n_logs; i++) {
			len = strlen(out);
			snprintf(out + len, cap - len, i > 0 ? "," : "");
			len = strlen(out);
			node_put_log(out + len, cap - len, n, i);
		}
		len = strlen(out);
		snprintf(out + len, cap - len, "]}");
	}
}

static inline void
node_serve_one(struct node *n, int fd)
{
	static const char *const methods[] = { "eth_chainId",
		"eth_getBlockByNumber", "eth_call", "eth_getLogs",
		"eth_getTransactionReceipt" };
	char in[8192], result[16384], body[17000], head[128];
	const char *text = NULL, *q, *status = "200 OK";
	size_t len = 0;
	unsigned long id;

	do {
		ssize_t got = recv(fd, in + len, sizeof(in) - 1 - len, 0);

		if (got <= 0)
			return;
		len += (size_t)got;
		in[len] = '\0';
		q = strstr(in, "\r\n\r\n");
	} while (q == NULL || strchr(q, '}') == NULL || in[len - 1] != '}');
	n->calls++;
	id = strtoul(strstr(q, "\"id\":") + 5, NULL, 10);
	for (size_t i = 0; n->twist != NULL && i < 5; i++)
		if (strstr(q, methods[i]) != NULL)
			text = n->twist(n, methods[i], q);
	if (text == NULL) {
		node_answer(result, sizeof(result), n, q);
		text = result;
	}
	if (text[0] == '!')
		snprintf(body, sizeof(body),
		    "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"error\":{\"code\":-"
		    "32000,"
		    "\"message\":\"%s\"}}",
		    id, text + 1);
	else if (text[0] == '=' || text[0] == '#')
		snprintf(body, sizeof(body), "%s", text + 1);
	else
		snprintf(body, sizeof(body),
		    "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":%s}", id, text);
	if (text[0] == '#')
		status = "429 Too Many Requests";
	snprintf(head, sizeof(head),
	    "HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: "
	    "%zu\r\n\r\n",
	    status, strlen(body));
	(void)send(fd, head, strlen(head), MSG_NOSIGNAL);
	(void)send(fd, body, strlen(body), MSG_NOSIGNAL);
}

static inline void *
node_serve(void *arg)
{
	struct node *n = arg;

	for (;;) {
		int fd = accept(n->fd, NULL, NULL);

		if (fd < 0)
			return NULL;
		node_serve_one(n, fd);
		close(fd);
	}
}

static inline void
node_start(struct node *n)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	n->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(n->fd >= 0);
	assert_int_equal(bind(n->fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(n->fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(n->fd, 16), 0);
	n->port = ntohs(a.sin_port);
	assert_int_equal(pthread_create(&n->thread, NULL, node_serve, n), 0);
}

static inline void
node_stop(struct node *n)
{
	shutdown(n->fd, SHUT_RDWR);
	pthread_join(n->thread, NULL);
	close(n->fd);
}

#endif
