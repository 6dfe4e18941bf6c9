#pragma once

/// The commit that this program was built from, 40 hexadecimal digits; empty in a development build.
const char *till_build_commit(void);

/// The version of the package that this program is part of; empty in a development build.
const char *till_build_version(void);

/// Unmaps the pages of the program's and the libraries' code, which no longer count as resident then. A page that runs
/// again is mapped again, from the kernel's cache of files. Does nothing on other systems than Linux.
void till_unmap_code(void);
