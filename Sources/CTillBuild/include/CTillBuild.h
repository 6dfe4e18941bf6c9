#pragma once

/// The commit that this program was built from, 40 hexadecimal digits; empty in a development build.
const char *till_build_commit(void);

/// The version of the package that this program is part of; empty in a development build.
const char *till_build_version(void);
