// Measuring kernels: how long one operation takes, next to a baseline in the same run.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace zkapex::cli {

struct KernelFigure {
  std::string name;
  std::string operation;  // what the times are for
  double ns = 0;
  std::string baseline;  // what it is compared with
  double baseline_ns = 0;

  [[nodiscard]] double ratio() const { return baseline_ns / ns; }  // how many times faster than the baseline
};

// Keeps the compiler from dropping the computation of `value`.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

struct Effort {
  std::chrono::nanoseconds sample;  // a sample repeats the body until it takes at least this long
  size_t samples;                   // not 0

  // Fewer samples, for bodies that take long.
  [[nodiscard]] constexpr Effort with_samples_up_to(size_t most) const { return {sample, std::min(samples, most)}; }
};
inline constexpr Effort kThorough{std::chrono::milliseconds(20), 11};
inline constexpr Effort kQuick{std::chrono::milliseconds(2), 1};

// CPU time of the calling thread: what else the machine does counts less than on a clock on the wall.
[[nodiscard]] std::chrono::nanoseconds thread_time();

// Median over the samples of the time for one operation, in ns, all in the calling thread; a call of `body` does
// `operations` of them. Short bodies should loop themselves, so that the call does not count.
template <class Body>
[[nodiscard]] double median_ns(const Effort& effort, size_t operations, Body&& body) {
  const auto time_calls = [&](size_t calls) {
    const auto start = thread_time();
    for (size_t k = 0; k < calls; ++k) body();
    return thread_time() - start;
  };
  // The first runs warm up caches and tables, and find how many calls fill a sample.
  size_t calls = 1;
  while (time_calls(calls) < effort.sample) calls *= 2;

  std::vector<double> times(effort.samples);
  for (double& time : times) time = std::chrono::duration<double, std::nano>(time_calls(calls)).count();
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle / static_cast<double>(calls) / static_cast<double>(operations);
}

[[nodiscard]] std::string figures_as_text(const std::vector<KernelFigure>& figures);
// {"kernels": [{"name", "ns", "baseline", "baseline_ns", "ratio"}, …]}
[[nodiscard]] std::string figures_as_json(const std::vector<KernelFigure>& figures);

}  // namespace zkapex::cli
