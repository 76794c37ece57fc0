#include "box/cgroup_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

bool
cgroup_file_write(int dir, const char *name, const char *text)
{
	OWN_FD int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	return fd >= 0 && write(fd, text, len) == (ssize_t)len;
}

bool
cgroup_file_put(int dir, const char *name, uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return cgroup_file_write(dir, name, text);
}

void
cgroup_file_read(char *out, size_t cap, int dir, const char *name)
{
	OWN_FD int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	while (fd >= 0 && len + 1 < cap) {
		n = read(fd, out + len, cap - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	out[n < 0 || len + 1 >= cap ? 0 : len] = '\0';
}

uint64_t
cgroup_file_number(int dir, const char *name)
{
	char text[32];

	cgroup_file_read(text, sizeof(text), dir, name);
	return strtoull(text, NULL, 10);
}

uint64_t
cgroup_file_value(const char *text, const char *key)
{
	size_t len = strlen(key);
	const char *p = text;

	while (p != NULL && *p != '\0') {
		if (strncmp(p, key, len) == 0 && p[len] == ' ')
			return strtoull(p + len, NULL, 10);
		p = strchr(p, '\n');
		if (p != NULL)
			p++;
	}
	return 0;
}
