#include "web/esm.h"

#include <ctype.h>
#include <string.h>

#define DEPTH 256 /* brackets deeper than this are taken as plain blocks */

enum token {
	T_START,   /* nothing yet, or a statement's end */
	T_PUNCT,   /* an operator: an operand must follow */
	T_WORD,	   /* identifier or keyword that ends an operand */
	T_KEYWORD, /* keyword after which an operand follows */
	T_VALUE,   /* literal */
	T_CLOSE_PAREN,
	T_CLOSE_BRACE,
	T_ARROW,
	T_DOT
};

/* What an open bracket encloses. */
enum frame {
	F_BLOCK,      /* braces of a statement, or any ( or [ */
	F_FUNCTION,   /* a function's body: its await is not top level */
	F_HEAD_PAREN, /* parentheses of if, for, while…: a block follows */
	F_CALL_PAREN, /* any other parentheses: a function body may follow */
	F_TEMPLATE    /* ${ inside a template */
};

struct scan {
	const char *p;
	const char *end;
	enum token prev;
	enum frame frames[DEPTH];
	size_t depth;
	size_t functions;   /* open F_FUNCTION frames */
	enum frame closed;  /* kind of the parentheses closed last */
	bool head_word;	    /* prev is if, for, while, switch, catch, with */
	bool newline;	    /* a line ended since prev */
	bool arrow;	    /* inside an arrow function's expression body */
	size_t arrow_depth; /* at this depth */
};

static bool
word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '#' ||
	       (unsigned char)c >= 0x80;
}

static bool
word_is(const char *w, size_t n, const char *const *list)
{
	for (size_t i = 0; list[i] != NULL; i++)
		if (strlen(list[i]) == n && memcmp(list[i], w, n) == 0)
			return true;
	return false;
}

static void
skip_line(struct scan *s)
{
	while (s->p < s->end && *s->p != '\n')
		s->p++;
}

static void
skip_block_comment(struct scan *s)
{
	for (s->p += 2; s->p + 1 < s->end; s->p++) {
		if (*s->p == '\n')
			s->newline = true;
		if (s->p[0] == '*' && s->p[1] == '/') {
			s->p += 2;
			return;
		}
	}
	s->p = s->end;
}

static void
skip_string(struct scan *s)
{
	char quote = *s->p++;

	while (s->p < s->end && *s->p != quote && *s->p != '\n') {
		if (*s->p == '\\' && s->p + 1 < s->end)
			s->p++;
		s->p++;
	}
	if (s->p < s->end)
		s->p++;
	s->prev = T_VALUE;
}

static void
skip_regex(struct scan *s)
{
	bool in_class = false;

	for (s->p++; s->p < s->end && *s->p != '\n'; s->p++) {
		if (*s->p == '\\' && s->p + 1 < s->end)
			s->p++;
		else if (*s->p == '[')
			in_class = true;
		else if (*s->p == ']')
			in_class = false;
		else if (*s->p == '/' && !in_class)
			break;
	}
	if (s->p < s->end)
		s->p++;
	s->prev = T_VALUE;
}

static void
open_frame(struct scan *s, enum frame f)
{
	if (s->depth < DEPTH)
		s->frames[s->depth] = f;
	s->depth++;
	if (f == F_FUNCTION && s->depth <= DEPTH)
		s->functions++;
}

static enum frame
close_frame(struct scan *s)
{
	enum frame f = F_BLOCK;

	if (s->depth == 0)
		return f;
	s->depth--;
	if (s->depth < DEPTH)
		f = s->frames[s->depth];
	if (f == F_FUNCTION)
		s->functions--;
	if (s->arrow && s->depth < s->arrow_depth)
		s->arrow = false;
	return f;
}

/* Template text up to its end or the next ${, which opens a frame. */
static void
skip_template(struct scan *s)
{
	while (s->p < s->end) {
		if (*s->p == '\\' && s->p + 1 < s->end) {
			s->p += 2;
			continue;
		}
		if (*s->p == '`') {
			s->p++;
			s->prev = T_VALUE;
			return;
		}
		if (s->p[0] == '$' && s->p + 1 < s->end && s->p[1] == '{') {
			s->p += 2;
			open_frame(s, F_TEMPLATE);
			s->prev = T_PUNCT;
			return;
		}
		s->p++;
	}
}

static char
next_char(const struct scan *s)
{
	const char *p = s->p;

	while (p < s->end && isspace((unsigned char)*p))
		p++;
	return p < s->end ? *p : '\0';
}

/* A word has been read; does it settle the matter? */
static bool
word(struct scan *s)
{
	static const char *const heads[] = { "if", "for", "while", "switch",
		"catch", "with", NULL };
	static const char *const operand_follows[] = { "return", "typeof",
		"case", "in", "of", "delete", "void", "throw", "new", "else",
		"do", "await", "yield", "instanceof", "default", "extends",
		"async", NULL };
	static const char *const imports[] = { "import", NULL };
	static const char *const exports[] = { "export", NULL };
	static const char *const awaits[] = { "await", NULL };
	const char *w = s->p;
	bool property = s->prev == T_DOT;
	bool after_operand = s->prev == T_WORD || s->prev == T_VALUE ||
			     s->prev == T_CLOSE_PAREN ||
			     s->prev == T_CLOSE_BRACE;
	bool keep_head;
	size_t n;
	char next;

	while (s->p < s->end && word_char(*s->p))
		s->p++;
	n = (size_t)(s->p - w);
	next = next_char(s);
	/* A new statement without a semicolon ends an arrow's body. */
	if (s->arrow && s->newline && after_operand &&
	    s->depth == s->arrow_depth)
		s->arrow = false;
	/* "for await (" keeps the head of its for. */
	keep_head = s->head_word && word_is(w, n, awaits);
	s->newline = false;
	s->head_word = false;
	if (property) {
		s->prev = T_WORD;
		return false;
	}
	if (s->depth == 0 && word_is(w, n, imports) && next != '(' &&
	    next != ':' && next != '=')
		return true;
	if (s->depth == 0 && word_is(w, n, exports) && next != '(' &&
	    next != '.' && next != '=' && next != ':')
		return true;
	if (word_is(w, n, awaits) && s->functions == 0 && !s->arrow &&
	    next != '=' && next != ':' && next != ';' && next != ',' &&
	    next != ')' && next != '.' && next != '\0')
		return true;
	s->head_word = keep_head || word_is(w, n, heads);
	s->prev =
	    s->head_word || word_is(w, n, operand_follows) ? T_KEYWORD : T_WORD;
	return false;
}

static void
open_brace(struct scan *s)
{
	bool body = s->prev == T_ARROW ||
		    (s->prev == T_CLOSE_PAREN && s->closed == F_CALL_PAREN);

	if (s->prev == T_ARROW)
		s->arrow = false;
	open_frame(s, body ? F_FUNCTION : F_BLOCK);
	s->prev = T_START;
}

static void
punctuation(struct scan *s)
{
	char c = *s->p++;
	enum frame f;

	if (c == '(') {
		open_frame(s, s->head_word ? F_HEAD_PAREN : F_CALL_PAREN);
		s->prev = T_PUNCT;
	} else if (c == '[') {
		open_frame(s, F_BLOCK);
		s->prev = T_PUNCT;
	} else if (c == '{') {
		open_brace(s);
	} else if (c == ')') {
		s->closed = close_frame(s);
		s->prev = T_CLOSE_PAREN;
	} else if (c == ']') {
		close_frame(s);
		s->prev = T_VALUE;
	} else if (c == '}') {
		f = close_frame(s);
		s->prev = T_CLOSE_BRACE;
		if (f == F_TEMPLATE)
			skip_template(s);
	} else if (c == '=' && s->p < s->end && *s->p == '>') {
		s->p++;
		s->prev = T_ARROW;
		s->arrow = next_char(s) != '{';
		s->arrow_depth = s->depth;
	} else if (c == '.') {
		/* The dots of a spread are an operator, not a property. */
		bool spread = s->p < s->end && *s->p == '.';

		while (s->p < s->end && *s->p == '.')
			s->p++;
		s->prev = spread ? T_PUNCT : T_DOT;
	} else {
		if ((c == ';' || c == ',') && s->arrow &&
		    s->depth == s->arrow_depth)
			s->arrow = false;
		s->prev = c == ';' ? T_START : T_PUNCT;
	}
	s->head_word = false;
	s->newline = false;
}

bool
esm_is_module(const char *src, size_t len)
{
	struct scan s = { .p = src, .end = src + len, .prev = T_START };

	if (len >= 2 && src[0] == '#' && src[1] == '!')
		skip_line(&s);
	while (s.p < s.end) {
		char c = *s.p;
		char c2 = s.p + 1 < s.end ? s.p[1] : '\0';

		if (c == '\n') {
			s.newline = true;
			s.p++;
		} else if (isspace((unsigned char)c)) {
			s.p++;
		} else if (c == '/' && c2 == '/') {
			skip_line(&s);
		} else if (c == '/' && c2 == '*') {
			skip_block_comment(&s);
		} else if (c == '/' && s.prev != T_WORD && s.prev != T_VALUE &&
			   s.prev != T_CLOSE_PAREN) {
			skip_regex(&s);
		} else if (c == '"' || c == '\'') {
			skip_string(&s);
		} else if (c == '`') {
			s.p++;
			skip_template(&s);
		} else if (isdigit((unsigned char)c)) {
			while (s.p < s.end && (word_char(*s.p) || *s.p == '.'))
				s.p++;
			s.prev = T_VALUE;
		} else if (word_char(c)) {
			if (word(&s))
				return true;
		} else {
			punctuation(&s);
		}
	}
	return false;
}
