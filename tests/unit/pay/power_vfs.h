/*
 * A disk that loses its power, as a VFS of SQLite's around the real one. What
 * was synced stays. Of what was written or cut since, whatever the disk
 * likes: nothing, all, or any part, torn at the sector; a file whose name was
 * never synced may be gone, a deleted one still there.
 *
 * After so many operations the process writes what is left to a folder and
 * ends. Only the model of it is here; what must hold is the test's.
 */
#ifndef POWER_VFS_H
#define POWER_VFS_H

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POWER_EXIT 77
#define POWER_FAILED 78 /* of the model itself */
#define POWER_SECTOR 512
#define POWER_FILES 8

struct power_write {
	struct power_write *next;
	int64_t at;
	size_t len;
	bool cut; /* to the length `at`; no data */
	uint8_t data[];
};

struct power_disk_file {
	char path[PATH_MAX];
	uint8_t *kept; /* what is on the disk for sure */
	size_t kept_len;
	size_t kept_cap;
	bool named;   /* its name is */
	bool deleted; /* perhaps */
	bool gone;    /* deleted for sure */
	struct power_write *first, **last;
};

struct power_file {
	sqlite3_file base;
	struct power_disk_file *disk; /* NULL: of no interest */
	sqlite3_file real[];	      /* of the VFS below */
};

static struct {
	pthread_mutex_t lock;
	sqlite3_vfs *below;
	struct power_disk_file files[POWER_FILES];
	size_t n_files;
	const char *folder; /* for what is left */
	long left;	    /* operations */
	uint32_t random;
} power = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint32_t
power_random(void)
{
	power.random ^= power.random << 13;
	power.random ^= power.random >> 17;
	power.random ^= power.random << 5;
	return power.random;
}

static void *
power_alloc(void *old, size_t n)
{
	void *p = realloc(old, n);

	if (p == NULL)
		_exit(POWER_FAILED);
	return p;
}

/* ---- what stays ---- */

static void
power_set_len(struct power_disk_file *f, size_t len)
{
	if (len > f->kept_cap) {
		f->kept_cap = 2 * len;
		f->kept = power_alloc(f->kept, f->kept_cap);
	}
	if (len > f->kept_len)
		memset(f->kept + f->kept_len, 0, len - f->kept_len);
	f->kept_len = len;
}

static void
power_put(struct power_disk_file *f, size_t at, const uint8_t *data, size_t len)
{
	if (at + len > f->kept_len)
		power_set_len(f, at + len);
	memcpy(f->kept + at, data, len);
}

/* All of one write, or each of its sectors or not. */
static void
power_apply(struct power_disk_file *f, const struct power_write *w, bool torn)
{
	size_t done = 0;

	if (w->cut) {
		power_set_len(f, (size_t)w->at);
		return;
	}
	while (done < w->len) {
		size_t at = (size_t)w->at + done;
		size_t n = POWER_SECTOR - at % POWER_SECTOR;

		if (n > w->len - done)
			n = w->len - done;
		if (!torn || power_random() % 2 == 0)
			power_put(f, at, w->data + done, n);
		done += n;
	}
}

static void
power_forget(struct power_disk_file *f)
{
	while (f->first != NULL) {
		struct power_write *w = f->first;

		f->first = w->next;
		free(w);
	}
	f->last = &f->first;
}

static void
power_synced(struct power_disk_file *f)
{
	for (const struct power_write *w = f->first; w != NULL; w = w->next)
		power_apply(f, w, false);
	power_forget(f);
	f->named = true;
}

static void
power_leave(struct power_disk_file *f, uint32_t mood)
{
	const char *name = strrchr(f->path, '/');
	char path[PATH_MAX];
	int fd;

	for (const struct power_write *w = f->first; w != NULL; w = w->next)
		if (mood == 1 || (mood > 1 && power_random() % 2 == 0))
			power_apply(f, w, mood == 3);
	if (f->gone || ((!f->named || f->deleted) && power_random() % 2 == 0))
		return;
	snprintf(path, sizeof(path), "%s%s", power.folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || write(fd, f->kept, f->kept_len) != (ssize_t)f->kept_len ||
	    close(fd) != 0)
		_exit(POWER_FAILED);
}

/* Before each operation, under the lock. */
static void
power_count(void)
{
	uint32_t mood;

	if (--power.left > 0)
		return;
	/* Nothing of it, all, some writes, some sectors. */
	mood = power_random() % 4;
	for (size_t i = 0; i < power.n_files; i++)
		power_leave(&power.files[i], mood);
	_exit(POWER_EXIT);
}

static struct power_disk_file *
power_find(const char *path)
{
	for (size_t i = 0; i < power.n_files; i++)
		if (strcmp(power.files[i].path, path) == 0)
			return &power.files[i];
	return NULL;
}

/* A file that is there already is on the disk as it is. */
static struct power_disk_file *
power_add(const char *path)
{
	struct power_disk_file *f = power_find(path);
	off_t len = 0;
	int fd;

	/* Closing a file once more would drop SQLite's locks on it. */
	if (f != NULL)
		return f;
	fd = open(path, O_RDONLY);
	if (fd >= 0)
		len = lseek(fd, 0, SEEK_END);
	if (power.n_files == POWER_FILES || len < 0)
		_exit(POWER_FAILED);
	f = &power.files[power.n_files++];
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->last = &f->first;
	f->named = len > 0;
	power_set_len(f, (size_t)len);
	if (len > 0 && pread(fd, f->kept, (size_t)len, 0) != len)
		_exit(POWER_FAILED);
	if (fd >= 0)
		close(fd);
	return f;
}

static void
power_note(struct power_disk_file *f, const void *data, size_t len, int64_t at)
{
	struct power_write *w = power_alloc(NULL, sizeof(*w) + len);

	*w = (struct power_write){ .at = at, .len = len, .cut = data == NULL };
	if (len > 0)
		memcpy(w->data, data, len);
	*f->last = w;
	f->last = &w->next;
}

/* ---- the files' methods ---- */

#define POWER_REAL(file) (((struct power_file *)(file))->real)
#define POWER_CALL(file, method, ...)                                          \
	(POWER_REAL(file)->pMethods->method(POWER_REAL(file), ##__VA_ARGS__))

static int
power_close(sqlite3_file *file)
{
	return POWER_CALL(file, xClose);
}

static int
power_read(sqlite3_file *file, void *out, int len, sqlite3_int64 at)
{
	return POWER_CALL(file, xRead, out, len, at);
}

static int
power_write(sqlite3_file *file, const void *data, int len, sqlite3_int64 at)
{
	struct power_disk_file *f = ((struct power_file *)file)->disk;
	int rc;

	pthread_mutex_lock(&power.lock);
	power_count();
	rc = POWER_CALL(file, xWrite, data, len, at);
	if (rc == SQLITE_OK)
		power_note(f, data, (size_t)len, at);
	pthread_mutex_unlock(&power.lock);
	return rc;
}

static int
power_truncate(sqlite3_file *file, sqlite3_int64 len)
{
	struct power_disk_file *f = ((struct power_file *)file)->disk;
	int rc;

	pthread_mutex_lock(&power.lock);
	power_count();
	rc = POWER_CALL(file, xTruncate, len);
	if (rc == SQLITE_OK)
		power_note(f, NULL, 0, len);
	pthread_mutex_unlock(&power.lock);
	return rc;
}

/* The model keeps it; a real sync of the real file would only cost time. */
static int
power_sync(sqlite3_file *file, int flags)
{
	(void)flags;
	pthread_mutex_lock(&power.lock);
	power_count();
	power_synced(((struct power_file *)file)->disk);
	pthread_mutex_unlock(&power.lock);
	return SQLITE_OK;
}

static int
power_size(sqlite3_file *file, sqlite3_int64 *out)
{
	return POWER_CALL(file, xFileSize, out);
}

static int
power_lock(sqlite3_file *file, int kind)
{
	return POWER_CALL(file, xLock, kind);
}

static int
power_unlock(sqlite3_file *file, int kind)
{
	return POWER_CALL(file, xUnlock, kind);
}

static int
power_reserved(sqlite3_file *file, int *out)
{
	return POWER_CALL(file, xCheckReservedLock, out);
}

static int
power_control(sqlite3_file *file, int what, void *arg)
{
	return POWER_CALL(file, xFileControl, what, arg);
}

static int
power_sector(sqlite3_file *file)
{
	return POWER_CALL(file, xSectorSize);
}

static int
power_traits(sqlite3_file *file)
{
	return POWER_CALL(file, xDeviceCharacteristics);
}

static int
power_shm_map(
    sqlite3_file *file, int region, int size, int extend, void volatile **out)
{
	return POWER_CALL(file, xShmMap, region, size, extend, out);
}

static int
power_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	return POWER_CALL(file, xShmLock, at, n, flags);
}

static void
power_shm_barrier(sqlite3_file *file)
{
	POWER_CALL(file, xShmBarrier);
}

static int
power_shm_unmap(sqlite3_file *file, int delete)
{
	return POWER_CALL(file, xShmUnmap, delete);
}

/* Version 2: no mapped reads, which would need no write of ours to change. */
static const sqlite3_io_methods power_methods = {
	.iVersion = 2,
	.xClose = power_close,
	.xRead = power_read,
	.xWrite = power_write,
	.xTruncate = power_truncate,
	.xSync = power_sync,
	.xFileSize = power_size,
	.xLock = power_lock,
	.xUnlock = power_unlock,
	.xCheckReservedLock = power_reserved,
	.xFileControl = power_control,
	.xSectorSize = power_sector,
	.xDeviceCharacteristics = power_traits,
	.xShmMap = power_shm_map,
	.xShmLock = power_shm_lock,
	.xShmBarrier = power_shm_barrier,
	.xShmUnmap = power_shm_unmap,
};

/* ---- the VFS ---- */

static int
power_open(sqlite3_vfs *vfs, sqlite3_filename path, sqlite3_file *file,
    int flags, int *out_flags)
{
	struct power_file *f = (struct power_file *)file;
	int rc;

	(void)vfs;
	/* The ledger has its temporary files in memory. */
	if (path == NULL)
		return SQLITE_CANTOPEN;
	pthread_mutex_lock(&power.lock);
	f->disk = power_add(path);
	f->disk->deleted = false;
	f->disk->gone = false;
	rc = power.below->xOpen(power.below, path, f->real, flags, out_flags);
	f->base.pMethods = f->real->pMethods != NULL ? &power_methods : NULL;
	pthread_mutex_unlock(&power.lock);
	return rc;
}

static int
power_delete(sqlite3_vfs *vfs, const char *path, int sync_folder)
{
	struct power_disk_file *f;
	int rc;

	(void)vfs;
	pthread_mutex_lock(&power.lock);
	power_count();
	rc = power.below->xDelete(power.below, path, 0);
	f = power_find(path);
	if (rc == SQLITE_OK && f != NULL && sync_folder != 0) {
		power_forget(f);
		f->kept_len = 0;
		f->named = false;
		f->gone = true;
	} else if (rc == SQLITE_OK && f != NULL) {
		f->deleted = true;
	}
	pthread_mutex_unlock(&power.lock);
	return rc;
}

/* From now on: after `operations` of them, what is left goes to `folder` and
 * the process ends with POWER_EXIT. Once a process. */
static void
power_lose(const char *folder, long operations, uint32_t random)
{
	static sqlite3_vfs vfs;

	power.folder = folder;
	power.left = operations;
	power.random = random;
	power.below = sqlite3_vfs_find(NULL);
	vfs = *power.below;
	vfs.zName = "power";
	vfs.szOsFile = (int)sizeof(struct power_file) + power.below->szOsFile;
	vfs.xOpen = power_open;
	vfs.xDelete = power_delete;
	if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK)
		_exit(POWER_FAILED);
}

#endif
