/*
 * One JSON-RPC 2.0 message as MCP's streamable HTTP brings it (api.md section
 * 9), and the frame around an answer.
 */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/status.h"

struct cJSON;

enum mcp_message_error {
	MCP_MESSAGE_OK = 0,
	MCP_MESSAGE_PARSE = -32700,   /* no JSON */
	MCP_MESSAGE_INVALID = -32600, /* no request */
	MCP_MESSAGE_METHOD = -32601,  /* there is no such method */
	MCP_MESSAGE_PARAMS = -32602
};

struct mcp_message {
	struct cJSON *tree;
	bool silent;   /* a notification or a response: nothing answers it */
	struct buf id; /* its JSON text; "null" where there is none */
	const char *method;	    /* of tree */
	const struct cJSON *params; /* of tree: an object, or NULL */
};

/* Read it; mcp_message_free() is due whatever comes back. What is refused is
 * told in f's text. id is right as far as it could be read. Batches are
 * refused: they were taken out of MCP. */
enum mcp_message_error mcp_message_read(
    struct mcp_message *out, const char *text, size_t len, struct fault *f)
    __attribute__((warn_unused_result));
void mcp_message_free(struct mcp_message *m);

/* {"jsonrpc":"2.0","id":…,"result": -- its value and mcp_message_close() are
 * to follow. */
void mcp_message_open(struct buf *out, const struct mcp_message *m);
void mcp_message_close(struct buf *out);

/* A whole error answer. */
void mcp_message_put_error(struct buf *out, const struct mcp_message *m,
    enum mcp_message_error code, const char *text);

#endif
