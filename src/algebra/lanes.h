// How functions on vectors are declared: inlined, and with internal linkage, so that none that is compiled for wider
// instructions can stand in for a portable one. For *_avx2.cpp and *_avx512.cpp files.
#pragma once

#define ZKAPEX_LANES [[gnu::always_inline]] static inline
// The same for what is large. Checked builds call it instead, or they would take minutes to compile.
#ifdef ZKAPEX_CHECK_BOUNDS
#define ZKAPEX_LARGE_LANES [[gnu::noinline, maybe_unused]] static
#else
#define ZKAPEX_LARGE_LANES ZKAPEX_LANES
#endif
