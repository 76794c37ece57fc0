/*
 * One line per event on stderr (journald adds time and unit when it listens;
 * otherwise log.c adds the time). Control bytes and line ends inside a message
 * are escaped, so a caller's text cannot forge a line. errno is kept.
 */
#ifndef LOG_H
#define LOG_H

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

/* Write one line, thread-safe (a single write(2)). Never logs payloads,
 * signatures, source or output: that is the caller's promise. */
void log_write(enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define log_err(...) log_write(LOG_LEVEL_ERR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
