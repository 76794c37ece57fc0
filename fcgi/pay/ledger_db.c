#include "pay/ledger_db.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "pay/ledger_schema.h"

/* Another process (`tollbox payments`) holds the file for moments only. */
#define BUSY_MS 5000

struct ledger_db {
	sqlite3 *conn;
	sqlite3_stmt *stmt[LEDGER_SQL_MAX];
	sqlite3_stmt *cur;   /* the one begun and not yet ended */
	int bound;	     /* values bound to it so far */
	enum status bind_st; /* first failure among them */
};

/* Pragmas of every connection. FULL: a commit returns once its write-ahead
 * log is on the disk. The log is cut after a checkpoint, or one day of large
 * answers would keep their disk for ever. */
static const char setup[] = "PRAGMA synchronous = FULL;"
			    "PRAGMA foreign_keys = ON;"
			    "PRAGMA trusted_schema = OFF;"
			    "PRAGMA temp_store = MEMORY;"
			    "PRAGMA journal_size_limit = 67108864;";

static enum status
code_status(int rc)
{
	switch (rc) {
	case SQLITE_OK:
	case SQLITE_DONE:
	case SQLITE_ROW:
		return ST_OK;
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
		return ST_CONFLICT;
	case SQLITE_NOMEM:
	case SQLITE_IOERR_NOMEM:
		return ST_NOMEM;
	case SQLITE_MISUSE:
	case SQLITE_RANGE:
	case SQLITE_TOOBIG:
		return ST_BUG;
	default:
		return (rc & 0xff) == SQLITE_CONSTRAINT ? ST_BUG : ST_IO;
	}
}

/* Log rc once, where its cause is known, and translate it. */
static enum status
failed(const struct ledger_db *db, const char *what, int rc)
{
	enum status st = code_status(rc);

	if (st != ST_OK && st != ST_CONFLICT)
		log_err("ledger: %.40s: %s (%d, errno %d)", what,
		    db->conn != NULL ? sqlite3_errmsg(db->conn)
				     : sqlite3_errstr(rc),
		    rc, db->conn != NULL ? sqlite3_system_errno(db->conn) : 0);
	return st;
}

static enum status
exec(const struct ledger_db *db, const char *what, const char *sql)
{
	return failed(db, what, sqlite3_exec(db->conn, sql, NULL, NULL, NULL));
}

/* The number (or, with word, the text) that a pragma answers. */
static enum status
pragma(const struct ledger_db *db, const char *sql, int64_t *number,
    const char *word)
{
	sqlite3_stmt *s = NULL;
	enum status st = ST_BUG;
	int rc = sqlite3_prepare_v2(db->conn, sql, -1, &s, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(s);
	st = failed(db, sql, rc);
	if (st == ST_OK && rc != SQLITE_ROW)
		st = ST_IO;
	if (st == ST_OK && number != NULL)
		*number = sqlite3_column_int64(s, 0);
	if (st == ST_OK && word != NULL) {
		const char *got = (const char *)sqlite3_column_text(s, 0);

		if (got == NULL || strcmp(got, word) != 0) {
			log_err("ledger: %s gives %s", sql,
			    got != NULL ? got : "nothing");
			st = ST_IO;
		}
	}
	sqlite3_finalize(s);
	return st;
}

/* The file holds who paid for what, and settle bodies that may still be sent:
 * none of others' business. SQLite copies the mode to its side files. */
static enum status
make_private(const char *path)
{
	OWN_FD int fd = open(
	    path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat sb;

	if (fd >= 0)
		return ST_OK;
	/* By path, not by descriptor: closing any descriptor of the file
	 * drops the locks that SQLite holds on it in this process. */
	if (errno != EEXIST || stat(path, &sb) < 0) {
		log_err("ledger: %s: %s", path, strerror(errno));
		return ST_IO;
	}
	if (!S_ISREG(sb.st_mode)) {
		log_err("ledger: %s is no regular file", path);
		return ST_IO;
	}
	if ((sb.st_mode & 077) == 0)
		return ST_OK;
	log_warn("ledger: %s was open to others, closing it", path);
	if (chmod(path, 0600) < 0) {
		log_err("ledger: %s: %s", path, strerror(errno));
		return ST_IO;
	}
	return ST_OK;
}

/* Is the file ours, or empty? Its version, 0 if it is empty. */
static enum status
read_version(const struct ledger_db *db, int64_t *version)
{
	int64_t app = 0, tables = 0;
	enum status st = ST_BUG;

	st = pragma(db, "PRAGMA application_id", &app, NULL);
	if (st == ST_OK)
		st = pragma(db, "PRAGMA user_version", version, NULL);
	if (st == ST_OK)
		st = pragma(
		    db, "SELECT count(*) FROM sqlite_schema", &tables, NULL);
	if (st != ST_OK)
		return st;
	if (app == 0 && *version == 0 && tables == 0)
		return ST_OK;
	if (app != LEDGER_SCHEMA_APPLICATION || *version < 1) {
		log_err("ledger: the store is no ledger");
		return ST_IO;
	}
	if (*version > LEDGER_SCHEMA_VERSION) {
		log_err("ledger: the store is of version %lld, this program "
			"knows %d",
		    (long long)*version, LEDGER_SCHEMA_VERSION);
		return ST_IO;
	}
	return ST_OK;
}

/* Make the tables in an empty file, bring those of an older one up to date;
 * refuse what is not ours or newer. */
static enum status
migrate(const struct ledger_db *db, enum ledger_db_mode mode)
{
	int64_t version = 0, was = 0;
	enum status st = read_version(db, &version);

	if (st != ST_OK || version == LEDGER_SCHEMA_VERSION)
		return st;
	if (mode != LEDGER_DB_WRITE) {
		log_err("ledger: the store is %s",
		    version == 0 ? "empty"
				 : "an older program's; the service brings it "
				   "up to date when it starts");
		return ST_IO;
	}
	was = version;
	st = exec(db, "schema", "BEGIN IMMEDIATE");
	for (; st == ST_OK && version < LEDGER_SCHEMA_VERSION; version++)
		st = exec(db, "schema", ledger_schema_step((int)version));
	if (st == ST_OK)
		st = exec(db, "schema", "COMMIT");
	if (st == ST_OK && was > 0)
		log_info("ledger: the store was of version %lld, now %d",
		    (long long)was, LEDGER_SCHEMA_VERSION);
	return st;
}

static enum status
prepare_all(struct ledger_db *db)
{
	enum status st = ST_OK;
	int q;

	for (q = 0; q < LEDGER_SQL_MAX && st == ST_OK; q++)
		st = failed(db, ledger_sql_text((enum ledger_sql)q),
		    sqlite3_prepare_v3(db->conn,
			ledger_sql_text((enum ledger_sql)q), -1,
			SQLITE_PREPARE_PERSISTENT, &db->stmt[q], NULL));
	return st;
}

static enum status
open_conn(struct ledger_db *db, const char *path, enum ledger_db_mode mode)
{
	/* No mutexes of SQLite's own: ours are around each connection. */
	int flags =
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	enum status st = ST_BUG;

	if (mode != LEDGER_DB_WRITE && access(path, F_OK) != 0 &&
	    errno == ENOENT) {
		log_err("ledger: %s is not there; the service makes it when it "
			"first starts",
		    path);
		return ST_IO;
	}
	st = failed(db, path, sqlite3_open_v2(path, &db->conn, flags, NULL));
	if (st == ST_OK)
		st = failed(db, path, sqlite3_busy_timeout(db->conn, BUSY_MS));
	/* SQLite falls back to reading alone by itself; no ledger then. */
	if (st == ST_OK && sqlite3_db_readonly(db->conn, "main") != 0) {
		log_err("ledger: %s cannot be written", path);
		st = ST_IO;
	}
	if (st == ST_OK)
		st = pragma(db, "PRAGMA journal_mode = WAL", NULL, "wal");
	if (st == ST_OK)
		st = exec(db, "setup", setup);
	if (st == ST_OK)
		st = migrate(db, mode);
	if (st == ST_OK && mode == LEDGER_DB_READ)
		st = exec(db, "setup", "PRAGMA query_only = ON");
	if (st == ST_OK)
		st = prepare_all(db);
	return st;
}

enum status
ledger_db_open(
    struct ledger_db **out, const char *path, enum ledger_db_mode mode)
{
	struct ledger_db *db = NULL;
	enum status st = ST_BUG;

	*out = NULL;
	if (mode == LEDGER_DB_WRITE) {
		st = make_private(path);
		if (st != ST_OK)
			return st;
	}
	db = calloc(1, sizeof(*db));
	if (db == NULL)
		return ST_NOMEM;
	st = open_conn(db, path, mode);
	if (st == ST_OK)
		*out = OWN_STEAL(db);
	ledger_db_close(db);
	return st;
}

void
ledger_db_close(struct ledger_db *db)
{
	int q, rc;

	if (db == NULL)
		return;
	for (q = 0; q < LEDGER_SQL_MAX; q++)
		sqlite3_finalize(db->stmt[q]);
	rc = sqlite3_close(db->conn);
	if (rc != SQLITE_OK)
		log_err("ledger: close: %s", sqlite3_errstr(rc));
	free(db);
}

void
ledger_db_start(struct ledger_db *db, enum ledger_sql q)
{
	/* One at a time, or a value would go to the wrong statement. */
	db->bind_st = db->cur == NULL ? ST_OK : ST_BUG;
	db->cur = db->stmt[q];
	db->bound = 0;
}

static void
note_bind(struct ledger_db *db, int rc)
{
	enum status st = failed(db, "bind", rc);

	if (db->bind_st == ST_OK)
		db->bind_st = st;
}

void
ledger_db_text(struct ledger_db *db, const char *s)
{
	db->bound++;
	note_bind(db, s == NULL ? sqlite3_bind_null(db->cur, db->bound)
				: sqlite3_bind_text64(db->cur, db->bound, s,
				      strlen(s), SQLITE_STATIC, SQLITE_UTF8));
}

void
ledger_db_number(struct ledger_db *db, int64_t n)
{
	db->bound++;
	note_bind(db, sqlite3_bind_int64(db->cur, db->bound, n));
}

void
ledger_db_bytes(struct ledger_db *db, const void *p, size_t len)
{
	db->bound++;
	/* An empty blob, where a null pointer would mean SQL NULL. */
	note_bind(db, sqlite3_bind_blob64(db->cur, db->bound, len > 0 ? p : "",
			  len, SQLITE_STATIC));
}

/* Step once. A statement whose values are not complete never runs. */
static int
step(struct ledger_db *db, enum status *st)
{
	int rc;

	if (db->bind_st == ST_OK &&
	    db->bound != sqlite3_bind_parameter_count(db->cur))
		db->bind_st = ST_BUG;
	if (db->bind_st != ST_OK) {
		*st = db->bind_st;
		return SQLITE_DONE;
	}
	rc = sqlite3_step(db->cur);
	*st = failed(db, sqlite3_sql(db->cur), rc);
	return rc;
}

enum status
ledger_db_run(struct ledger_db *db, int64_t *changed)
{
	enum status st = ST_BUG;

	(void)step(db, &st);
	if (changed != NULL)
		*changed = st == ST_OK ? sqlite3_changes64(db->conn) : 0;
	ledger_db_end(db);
	return st;
}

enum status
ledger_db_row(struct ledger_db *db)
{
	enum status st = ST_BUG;
	int rc = step(db, &st);

	return st == ST_OK && rc != SQLITE_ROW ? ST_NOT_FOUND : st;
}

int64_t
ledger_db_get_number(struct ledger_db *db, int column)
{
	return sqlite3_column_int64(db->cur, column);
}

enum status
ledger_db_get(struct ledger_db *db, int column, char **out, size_t *len)
{
	const void *p = NULL;
	char *copy = NULL;
	size_t n;

	*out = NULL;
	if (len != NULL)
		*len = 0;
	if (sqlite3_column_type(db->cur, column) == SQLITE_NULL)
		return ST_OK;
	p = sqlite3_column_blob(db->cur, column);
	n = (size_t)sqlite3_column_bytes(db->cur, column);
	/* A null pointer is an empty value, or no memory. */
	if (p == NULL && n > 0)
		return ST_NOMEM;
	copy = malloc(n + 1);
	if (copy == NULL)
		return ST_NOMEM;
	if (n > 0)
		memcpy(copy, p, n);
	copy[n] = '\0';
	*out = copy;
	if (len != NULL)
		*len = n;
	return ST_OK;
}

void
ledger_db_end(struct ledger_db *db)
{
	/* Their codes repeat what step told. */
	(void)sqlite3_reset(db->cur);
	(void)sqlite3_clear_bindings(db->cur);
	db->cur = NULL;
}

bool
ledger_db_open_transaction(struct ledger_db *db)
{
	return sqlite3_get_autocommit(db->conn) == 0;
}
