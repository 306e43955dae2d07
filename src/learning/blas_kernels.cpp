#include "learning/blas_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

namespace zkapex {

namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

#if defined(__x86_64__)
constexpr bool kX86 = true;
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
constexpr bool kX86 = false;
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

}  // namespace

std::string_view better_blas_kernels(std::string_view chosen, bool avx2, bool avx512) {
  constexpr std::string_view kWide[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids"};
  if (!avx2 || std::ranges::find(kWide, chosen) != std::end(kWide)) return {};
  return avx512 ? "SkylakeX" : "Haswell";
}

void choose_blas_kernels(char** argv) {
  if (!kX86 || std::getenv(kVariable) != nullptr) return;
  const auto name = reinterpret_cast<const char* (*)()>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  if (name == nullptr) return;
  const std::string better(better_blas_kernels(name(), has_avx2(), has_avx512()));
  if (better.empty()) return;
  ::setenv(kVariable, better.c_str(), /*overwrite=*/0);
  ::execv("/proc/self/exe", argv);  // if it cannot be, slower kernels do
}

}  // namespace zkapex
