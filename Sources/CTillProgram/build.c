#include "CTillProgram.h"

const char *till_build_commit(void) { return TILL_BUILD_COMMIT; }

const char *till_build_version(void) { return TILL_BUILD_VERSION; }
