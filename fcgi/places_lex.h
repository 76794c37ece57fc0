/* Directives of nginx's files, one after the other. */
#ifndef PLACES_LEX_H
#define PLACES_LEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

#define PLACES_LEX_WORDS 16 /* more of a directive are left out */

struct places_lex {
	const char *p, *end;
	unsigned line;
	struct buf text;	       /* of the words of the last directive */
	size_t word[PLACES_LEX_WORDS]; /* where each begins */
	size_t n;
	unsigned at;  /* line of its first word */
	char closing; /* ';' or '{' behind it; '}' alone; '\0' at the end */
};

void places_lex_init(struct places_lex *l, const char *text, size_t len);
void places_lex_free(struct places_lex *l);

/* Read the next one. False at the end of the text, or without memory. */
bool places_lex_next(struct places_lex *l);

/* Word number i of it, "" if there is none. Borrowed until the next. */
const char *places_lex_word(const struct places_lex *l, size_t i);

#endif
