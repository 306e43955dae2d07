// A broken source of randomness, for tests of what must hold nevertheless.
#pragma once

#include <gtest/gtest.h>
#include <sodium.h>

#include <cstring>

namespace zkapex::testing {

// While it lives, all randomness is the same.
class RepeatedRandomness {
 public:
  RepeatedRandomness() {
    EXPECT_GE(sodium_init(), 0);
    EXPECT_EQ(randombytes_set_implementation(&kSource), 0);
  }
  ~RepeatedRandomness() { EXPECT_EQ(randombytes_set_implementation(&randombytes_sysrandom_implementation), 0); }
  RepeatedRandomness(const RepeatedRandomness&) = delete;
  RepeatedRandomness& operator=(const RepeatedRandomness&) = delete;

 private:
  static inline randombytes_implementation kSource{.implementation_name = [] { return "repeated"; },
                                                   .random = [] { return uint32_t{7}; },
                                                   .stir = nullptr,
                                                   .uniform = nullptr,
                                                   .buf = [](void* out, size_t size) { std::memset(out, 7, size); },
                                                   .close = nullptr};
};

}  // namespace zkapex::testing
