#include "web/member_schema.h"

#include <string.h>

#include "base/json.h"

void
member_schema_json(struct buf *out, const char *text)
{
	if (strchr(text, '"') != NULL) {
		buf_adds(out, text);
		return;
	}
	for (const char *p = text; *p != '\0'; p++)
		buf_addc(out, *p == '\'' ? '"' : *p);
}

static void
put_number(struct buf *out, const char *key, uint64_t n)
{
	json_key(out, key);
	buf_addf(out, "%llu", (unsigned long long)n);
}

static void
put_text(struct buf *out, const char *key, const char *text)
{
	json_key(out, key);
	json_put_string(out, text);
}

static const char *
type_name(enum member_type type)
{
	static const char *const names[] = {
		[MEMBER_STRING] = "string",
		[MEMBER_BOOLEAN] = "boolean",
		[MEMBER_NUMBER] = "number",
		[MEMBER_STRINGS] = "array",
		[MEMBER_TEXTS] = "object",
		[MEMBER_FILES] = "object",
		[MEMBER_OBJECT] = "object",
	};

	return names[type];
}

/* The schema of a string of that form; more goes before its end. */
static void
put_string_schema(
    struct buf *out, const struct member_form *form, const char *more)
{
	member_schema_json(out, "{'type':'string'");
	if (form != NULL)
		put_text(out, "pattern", form->pattern);
	member_schema_json(out, more);
	buf_addc(out, '}');
}

/* The values of a map. */
static void
put_values(struct buf *out, const struct member *m)
{
	json_key(out, "additionalProperties");
	if (m->type == MEMBER_TEXTS) {
		put_string_schema(out, m->value_form, "");
		return;
	}
	member_schema_json(out, "{'anyOf':[{'type':'string'},"
				"{'type':'object','properties':{'base64':");
	put_string_schema(out, m->value_form, ",'contentEncoding':'base64'");
	member_schema_json(
	    out, "},'required':['base64'],'additionalProperties':false}]}");
}

static void
put_rules(struct buf *out, const struct member *m)
{
	switch (m->type) {
	case MEMBER_STRING:
		/* In bytes it is more than what a schema can say: no text of
		 * more code points is one of so many bytes. */
		if (m->max != 0)
			put_number(out, "maxLength", m->max);
		if (m->form != NULL)
			put_text(out, "pattern", m->form->pattern);
		break;
	case MEMBER_NUMBER:
		put_number(out, "minimum", m->min);
		put_number(out, "maximum", m->max);
		break;
	case MEMBER_STRINGS:
		json_key(out, "items");
		put_string_schema(out, m->form, "");
		if (m->max != 0)
			put_number(out, "maxItems", m->max);
		break;
	case MEMBER_TEXTS:
	case MEMBER_FILES:
		json_key(out, "propertyNames");
		put_string_schema(out, m->form, "");
		put_values(out, m);
		if (m->max != 0)
			put_number(out, "maxProperties", m->max);
		break;
	case MEMBER_BOOLEAN:
	case MEMBER_OBJECT:
		break;
	}
}

static void
put_member(struct buf *out, const struct member *m, const struct site *s,
    enum member_schema_detail detail)
{
	json_key(out, m->name);
	buf_addc(out, '{');
	put_text(out, "type", type_name(m->type));
	if (detail != MEMBER_SCHEMA_BRIEF) {
		put_text(out, "description", m->about);
		put_rules(out, m);
	}
	if (m->put_words != NULL) {
		json_key(out, "enum");
		buf_addc(out, '[');
		m->put_words(out, s);
		buf_addc(out, ']');
	}
	if (detail != MEMBER_SCHEMA_BRIEF && m->fallback != NULL) {
		json_key(out, "default");
		buf_adds(out, m->fallback);
	}
	if (detail != MEMBER_SCHEMA_BRIEF && m->put_more != NULL)
		m->put_more(out, s);
	buf_addc(out, '}');
}

static void
put_required(struct buf *out, const struct request_form *form)
{
	json_key(out, "required");
	buf_addc(out, '[');
	for (size_t i = 0; i < form->n_members; i++) {
		if (!form->members[i].required)
			continue;
		json_sep(out);
		json_put_string(out, form->members[i].name);
	}
	buf_addc(out, ']');
}

void
member_schema_put(struct buf *out, const struct request_form *form,
    const struct site *s, enum member_schema_detail detail)
{
	member_schema_json(out, "{'type':'object','properties':{");
	for (size_t i = 0; i < form->n_members; i++)
		put_member(out, &form->members[i], s, detail);
	buf_addc(out, '}');
	if (detail != MEMBER_SCHEMA_PARTIAL)
		put_required(out, form);
	if (form->strict)
		member_schema_json(out, ",'additionalProperties':false");
	if (detail != MEMBER_SCHEMA_BRIEF && form->put_more != NULL)
		form->put_more(out, s);
	buf_addc(out, '}');
}

void
member_schema_put_fields(
    struct buf *out, const struct request_form *form, const struct site *s)
{
	buf_addc(out, '{');
	for (size_t i = 0; i < form->n_members; i++) {
		const struct member *m = &form->members[i];

		json_key(out, m->name);
		buf_addc(out, '{');
		put_text(out, "type", type_name(m->type));
		json_key(out, "required");
		buf_adds(out, m->required ? "true" : "false");
		put_text(out, "description", m->about);
		if (m->put_words != NULL) {
			json_key(out, "enum");
			buf_addc(out, '[');
			m->put_words(out, s);
			buf_addc(out, ']');
		}
		buf_addc(out, '}');
	}
	buf_addc(out, '}');
}
