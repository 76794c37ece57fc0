#include "places_lex.h"

#include <string.h>

#define TEXT_BYTES (1u << 20)

void
places_lex_init(struct places_lex *l, const char *text, size_t len)
{
	memset(l, 0, sizeof(*l));
	l->p = text;
	l->end = text + len;
	l->line = 1;
	buf_init(&l->text, TEXT_BYTES);
}

void
places_lex_free(struct places_lex *l)
{
	buf_free(&l->text);
}

static char
take(struct places_lex *l)
{
	char c = *l->p++;

	if (c == '\n')
		l->line++;
	return c;
}

static bool
blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void
skip(struct places_lex *l)
{
	while (l->p < l->end && (blank(*l->p) || *l->p == '#')) {
		if (*l->p != '#') {
			(void)take(l);
			continue;
		}
		while (l->p < l->end && *l->p != '\n')
			l->p++;
	}
}

static void
escaped(struct places_lex *l)
{
	char c = take(l);

	if (c == 't')
		c = '\t';
	else if (c == 'r')
		c = '\r';
	else if (c == 'n')
		c = '\n';
	else if (c != '"' && c != '\'' && c != '\\')
		buf_addc(&l->text, '\\');
	buf_addc(&l->text, c);
}

static void
quoted(struct places_lex *l)
{
	char quote = take(l);

	while (l->p < l->end && *l->p != quote) {
		char c = take(l);

		if (c == '\\' && l->p < l->end)
			escaped(l);
		else
			buf_addc(&l->text, c);
	}
	if (l->p < l->end)
		(void)take(l);
}

static void
bare(struct places_lex *l)
{
	bool name = false; /* in ${NAME}, whose brace opens no block */

	while (l->p < l->end && !blank(*l->p) && *l->p != ';') {
		char c = *l->p;

		if (c == '{' && l->text.len > 0 &&
		    l->text.data[l->text.len - 1] == '$')
			name = true;
		else if (c == '{')
			break;
		if (c == '}' && name)
			name = false;
		(void)take(l);
		if (c == '\\' && l->p < l->end)
			escaped(l);
		else
			buf_addc(&l->text, c);
	}
}

bool
places_lex_next(struct places_lex *l)
{
	buf_clear(&l->text);
	l->n = 0;
	l->closing = '\0';
	skip(l);
	l->at = l->line;
	for (; l->p < l->end; skip(l)) {
		if (*l->p == ';' || *l->p == '{' || *l->p == '}') {
			l->closing = take(l);
			break;
		}
		if (l->n < PLACES_LEX_WORDS)
			l->word[l->n++] = l->text.len;
		if (*l->p == '"' || *l->p == '\'')
			quoted(l);
		else
			bare(l);
		buf_addc(&l->text, '\0');
	}
	return l->closing != '\0' && buf_status(&l->text) == ST_OK;
}

const char *
places_lex_word(const struct places_lex *l, size_t i)
{
	return i < l->n ? buf_cstr(&l->text) + l->word[i] : "";
}
