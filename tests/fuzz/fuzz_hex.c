/*
 * hex_unbase64() and hex_decode() over any bytes: what is taken is exactly what
 * the encoders write, padding and alphabet apart, so that no two texts of one
 * form mean the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/hex.h"

#define OUT_BYTES (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(int holds)
{
	if (!holds)
		abort();
}

static void
base64(const char *text, size_t size)
{
	struct buf plain, coded;
	size_t bare = size;

	buf_init(&plain, OUT_BYTES);
	buf_init(&coded, OUT_BYTES);
	buf_adds(&plain, "kept");
	if (hex_unbase64(&plain, text, size) != ST_OK) {
		must(strcmp(buf_cstr(&plain), "kept") == 0);
	} else {
		while (bare > 0 && text[bare - 1] == '=')
			bare--;
		if (memchr(text, '+', size) != NULL ||
		    memchr(text, '/', size) != NULL || bare < size)
			hex_base64(&coded, plain.data + 4, plain.len - 4);
		else
			hex_base64url(&coded, plain.data + 4, plain.len - 4);
		must(coded.len >= bare);
		/* A padded text may still be in the URL alphabet. */
		for (size_t i = 0; i < bare; i++)
			must(text[i] == (char)coded.data[i] ||
			     (text[i] == '-' && coded.data[i] == '+') ||
			     (text[i] == '_' && coded.data[i] == '/'));
		must(bare == size || coded.len == size);
	}
	buf_free(&plain);
	buf_free(&coded);
}

static void
hex(const char *text, size_t size)
{
	uint8_t *bytes = calloc(1, size / 2 + 1);
	char *back = malloc(size + 2);

	if (hex_decode(bytes, size / 2, text) == ST_OK) {
		hex_encode(back, bytes, size / 2);
		must(strlen(back) == size / 2 * 2);
		must(strcasecmp(back, text) == 0);
	}
	free(bytes);
	free(back);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size > OUT_BYTES / 2)
		return 0;
	base64((const char *)data, size);
	text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	hex(text, size);
	free(text);
	return 0;
}
