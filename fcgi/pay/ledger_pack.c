#include "pay/ledger_pack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Below this a run's answer saves less than a page of the file, and the time
 * is better spent on the next run. */
#define PACK_FROM 4096

/* Answers are sent once and stored under a lock of all others: quick counts
 * for more than small. */
#define LEVEL Z_BEST_SPEED

/* zlib counts in unsigned int at a time; no answer comes near. */
#define PACK_MOST ((size_t)INT_MAX)

enum status
ledger_pack(char **out, size_t *out_len, const char *body, size_t len)
{
	uLongf room = 0;
	char *packed = NULL;
	int rc;

	*out = NULL;
	*out_len = 0;
	if (len < PACK_FROM || len > PACK_MOST)
		return ST_OK;
	room = (uLongf)len - 1;
	packed = malloc(room);
	if (packed == NULL)
		return ST_NOMEM;
	rc = compress2(
	    (Bytef *)packed, &room, (const Bytef *)body, (uLong)len, LEVEL);
	if (rc != Z_OK) {
		free(packed);
		/* No room: it would not become smaller. */
		return rc == Z_BUF_ERROR ? ST_OK : ST_NOMEM;
	}
	*out = packed;
	*out_len = room;
	return ST_OK;
}

enum status
ledger_pack_undo(char **out, size_t len, const char *packed, size_t packed_len)
{
	uLongf got = (uLongf)len;
	char *body = NULL;
	int rc;

	*out = NULL;
	if (len > PACK_MOST || packed_len > PACK_MOST)
		return ST_FORMAT;
	body = malloc(len + 1);
	if (body == NULL)
		return ST_NOMEM;
	rc = uncompress(
	    (Bytef *)body, &got, (const Bytef *)packed, (uLong)packed_len);
	if (rc != Z_OK || got != len) {
		free(body);
		return rc == Z_MEM_ERROR ? ST_NOMEM : ST_FORMAT;
	}
	body[len] = '\0';
	*out = body;
	return ST_OK;
}
