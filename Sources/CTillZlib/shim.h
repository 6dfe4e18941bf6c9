#pragma once
#include <zlib.h>

// Swift does not import these macros.

/// Raw deflate: no header and no checksum around the data.
static inline int till_deflate_init(z_streamp stream, int level, int window_bits, int memory_level) {
    return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

static inline int till_inflate_init(z_streamp stream, int window_bits) { return inflateInit2(stream, -window_bits); }
