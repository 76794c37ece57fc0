#include "front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/io.h"
#include "base/own.h"

#define BACKLOG 511

static enum status
failed(struct fault *f, const char *path, const char *what)
{
	return fault_set(f, ST_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* The folder /run/tollbox is gone after each boot. */
static enum status
make_folder(const struct sockaddr_un *sun, struct fault *f)
{
	char folder[sizeof(sun->sun_path)];
	char *slash;

	memcpy(folder, sun->sun_path, sizeof(folder));
	slash = strrchr(folder, '/');
	if (slash == NULL || slash == folder)
		return ST_OK;
	*slash = '\0';
	if (mkdir(folder, 0755) != 0 && errno != EEXIST)
		return failed(f, folder, "mkdir");
	return ST_OK;
}

/* Make way at the path: away with a socket that refuses to connect. */
static enum status
clear_stale(const struct sockaddr_un *sun, struct fault *f)
{
	OWN_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat sb;

	if (fd < 0)
		return failed(f, sun->sun_path, "socket");
	if (lstat(sun->sun_path, &sb) != 0)
		return errno == ENOENT ? ST_OK
				       : failed(f, sun->sun_path, "lstat");
	if (!S_ISSOCK(sb.st_mode))
		return fault_set(f, ST_CONFLICT, "%s is there and is no socket",
		    sun->sun_path);
	/* Without waiting: a full backlog (EAGAIN) is alive too. */
	if (io_nonblock(fd) != ST_OK)
		return failed(f, sun->sun_path, "fcntl");
	if (connect(fd, (const struct sockaddr *)sun, sizeof(*sun)) == 0 ||
	    errno != ECONNREFUSED)
		return fault_set(f, ST_CONFLICT,
		    "%s: another server listens there", sun->sun_path);
	if (unlink(sun->sun_path) != 0)
		return failed(f, sun->sun_path, "unlink");
	return ST_OK;
}

static enum status
open_unix(struct front *s, const char *path, gid_t gid, struct fault *f)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	struct stat sb;
	mode_t mask;
	int rc;
	enum status st;

	if (strlen(path) >= sizeof(sun.sun_path))
		return fault_set(f, ST_TOO_BIG, "%s is over-long", path);
	memcpy(sun.sun_path, path, strlen(path) + 1);
	st = make_folder(&sun, f);
	if (st == ST_OK)
		st = clear_stale(&sun, f);
	if (st != ST_OK)
		return st;
	s->unix_fd =
	    io_move_high(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (s->unix_fd < 0)
		return failed(f, path, "socket");
	/* Nobody may connect before it has its group. */
	mask = umask(0177);
	rc = bind(s->unix_fd, (const struct sockaddr *)&sun, sizeof(sun));
	umask(mask);
	if (rc != 0)
		return failed(f, path, "bind");
	s->path = strdup(path);
	if (s->path == NULL)
		return ST_NOMEM;
	if (lstat(path, &sb) != 0)
		return failed(f, path, "lstat");
	s->dev = sb.st_dev;
	s->ino = sb.st_ino;
	if (lchown(path, (uid_t)-1, gid) != 0 || chmod(path, 0660) != 0)
		return failed(f, path, "chown");
	if (listen(s->unix_fd, BACKLOG) != 0)
		return failed(f, path, "listen");
	return ST_OK;
}

static enum status
open_tcp(struct front *s, const char *address, struct fault *f)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	char host[INET_ADDRSTRLEN];
	const char *colon = strrchr(address, ':');
	const int on = 1;

	/* conf has checked its form. */
	if (colon == NULL || (size_t)(colon - address) >= sizeof(host))
		return ST_BUG;
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = '\0';
	if (inet_pton(AF_INET, host, &sin.sin_addr) != 1)
		return ST_BUG;
	sin.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	s->tcp_fd =
	    io_move_high(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	if (s->tcp_fd < 0)
		return failed(f, address, "socket");
	if (setsockopt(s->tcp_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) !=
		0 ||
	    bind(s->tcp_fd, (const struct sockaddr *)&sin, sizeof(sin)) != 0)
		return failed(f, address, "bind");
	if (listen(s->tcp_fd, BACKLOG) != 0)
		return failed(f, address, "listen");
	return ST_OK;
}

enum status
front_open(struct front *out, const struct conf *c, gid_t gid, struct fault *f)
{
	enum status st;

	*out = (struct front){ .unix_fd = -1, .tcp_fd = -1 };
	st = open_unix(out, c->listen, gid, f);
	if (st == ST_OK && c->listen_tcp != NULL)
		st = open_tcp(out, c->listen_tcp, f);
	if (st != ST_OK)
		front_close(out);
	return st;
}

void
front_close(struct front *s)
{
	struct stat sb;

	if (s->path != NULL && lstat(s->path, &sb) == 0 &&
	    sb.st_dev == s->dev && sb.st_ino == s->ino)
		unlink(s->path);
	free(s->path);
	s->path = NULL;
	if (s->unix_fd >= 0)
		close(s->unix_fd);
	s->unix_fd = -1;
	if (s->tcp_fd >= 0)
		close(s->tcp_fd);
	s->tcp_fd = -1;
}
