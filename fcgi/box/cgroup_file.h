/*
 * The small files of a cgroup's folder, by a descriptor of the folder, which
 * stays the caller's. Private to box.
 */
#ifndef CGROUP_FILE_H
#define CGROUP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write text, or a number, whole; false with errno. */
bool cgroup_file_write(int dir, const char *name, const char *text);
bool cgroup_file_put(int dir, const char *name, uint64_t value);

/* The whole of a file; "" if it is not there or holds more than cap - 1. */
void cgroup_file_read(char *out, size_t cap, int dir, const char *name);
/* A file's only number, or the first in it; 0 if there is none. */
uint64_t cgroup_file_number(int dir, const char *name);
/* The number behind a key of the text of a "key value" file; 0 if there is
 * none. */
uint64_t cgroup_file_value(const char *text, const char *key);

#endif
