/* The SQLite ledger's tables, as steps from one version to the next: text
 * only. */
#ifndef LEDGER_SCHEMA_H
#define LEDGER_SCHEMA_H

/* "Toll" in the file's header: tells our file from any other database. */
#define LEDGER_SCHEMA_APPLICATION 0x546f6c6c
#define LEDGER_SCHEMA_VERSION 4 /* user_version of the file */

/* What takes a store of version from (0: an empty file) to the next one, for
 * use in a transaction. from is below LEDGER_SCHEMA_VERSION. */
const char *ledger_schema_step(int from);

#endif
