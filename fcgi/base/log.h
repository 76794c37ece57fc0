/*
 * One line per event on stderr, as text or as a JSON object. Where journald
 * listens each line begins with its priority, "<N>", which journald takes off;
 * text has the time where it does not listen, JSON always. Control bytes and
 * line ends inside a message are escaped, so a caller's text cannot forge a
 * line. errno is kept.
 */
#ifndef LOG_H
#define LOG_H

#include <stddef.h>
#include <stdint.h>

enum log_level {
	LOG_LEVEL_ERR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_MAX
};

/* Name of this process in each line ("super", "gate", "boxer", "check") and
 * the most talkative level that is written. Call once, before threads. */
void log_open(const char *role, enum log_level most);

enum log_form {
	LOG_FORM_TEXT,
	LOG_FORM_JSON, /* {"time","level","role","message"} */
};

/* Text, until this says otherwise. As log_open(). */
void log_set_form(enum log_form form);

/* Write one line, thread-safe (a single write(2)). Never logs payloads,
 * signatures, source or output: that is the caller's promise. */
void log_write(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

enum log_kind {
	LOG_TEXT,
	LOG_NUMBER,
	LOG_GROUP, /* what follows belongs to it; at most one, to the end */
};

struct log_field {
	const char *name; /* ours: [a-z_] */
	enum log_kind kind;
	const char *text; /* borrowed; NULL: there is none ("-", null) */
	int64_t number;
};

/* Write one line of n fields, as log_write() otherwise: "event name=value", a
 * value in quotes where it could be taken for more than one; in JSON an object
 * with the member "event" and one for each field. A line that would be
 * over-long loses its last fields. */
void log_event(enum log_level level, const char *event,
    const struct log_field *fields, size_t n);

#define log_err(...) log_write(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
