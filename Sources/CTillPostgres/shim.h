#pragma once
#include <libpq-fe.h>

// Swift imports characters as integers of the wrong width and leaves out cast macros; these are the fields that the
// driver reads of an error or a notice.

static const int till_postgres_diag_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int till_postgres_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int till_postgres_diag_detail = PG_DIAG_MESSAGE_DETAIL;
static const int till_postgres_diag_constraint = PG_DIAG_CONSTRAINT_NAME;
