// Integers of 128 bits, which GCC and Clang have and C++ does not.
#pragma once

namespace zkapex {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

}  // namespace zkapex
