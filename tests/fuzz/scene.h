/*
 * Where the parts of sandbox-init play in a target: a folder that stands for
 * /box in one that stands for the host, the control socket under its number,
 * and a clock. Also holds what those parts have from init.c, which is not
 * linked: it kills every process that it may.
 */
#ifndef SCENE_H
#define SCENE_H

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCENE_SECRET "not for the sandbox"

struct scene {
	int top;      /* the folder: box, and outside with a file "secret" */
	int box;      /* folder; scene_clear() empties it */
	int figures;  /* likewise, for the figures */
	int peer;     /* the boxer's end of the control socket; non-blocking */
	char *path;   /* of top, absolute */
	uint64_t now; /* microseconds; each look at the clock adds step */
	uint64_t step;
};

/* The one of this process, made at the first call (below TMPDIR, or /tmp) and
 * removed at its exit. */
struct scene *scene_open(void);

/* Put it back as scene_open() made it, but for the clock. */
void scene_clear(struct scene *s);

/* The entries of a folder, "." and ".." left out: for closedir(), one name
 * after the other (NULL: no more), their number. */
DIR *scene_list(int folder);
const char *scene_next(DIR *d);
size_t scene_entries(int folder);

/* A memfd of these bytes, with these seals. */
int scene_memfd(const void *data, size_t len, int seals);

#endif
