#pragma once
#include <sqlite3.h>

// Swift imports neither variadic functions nor macros that cast; these stand for the few the driver needs.

static const int till_sqlite_ioerr_read = SQLITE_IOERR_READ;
static const int till_sqlite_ioerr_short_read = SQLITE_IOERR_SHORT_READ;
static const int till_sqlite_ioerr_write = SQLITE_IOERR_WRITE;
static const int till_sqlite_ioerr_fsync = SQLITE_IOERR_FSYNC;
static const int till_sqlite_ioerr_truncate = SQLITE_IOERR_TRUNCATE;
static const int till_sqlite_ioerr_delete = SQLITE_IOERR_DELETE;
static const int till_sqlite_ioerr_nomem = SQLITE_IOERR_NOMEM;
static const int till_sqlite_ioerr_shmsize = SQLITE_IOERR_SHMSIZE;
static const int till_sqlite_readonly_directory = SQLITE_READONLY_DIRECTORY;

/// Call before the library is used: then no allocation takes its lock to count itself.
static inline int till_sqlite_without_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/// Call before the library is used, in a process that uses it on one thread: then it takes no locks.
static inline int till_sqlite_for_one_thread(void) { return sqlite3_config(SQLITE_CONFIG_SINGLETHREAD); }

/// Sets one on/off option of a connection (`SQLITE_DBCONFIG_…`).
static inline int till_sqlite_configure(sqlite3 *connection, int option, int on) {
    return sqlite3_db_config(connection, option, on, (int *)0);
}
