// A fixed pool of threads for loops over independent pieces. The caller works too, so size() threads are busy in all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace zkapex {

class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads = 0);  // 0: one per hardware thread; fewer where the system refuses more
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(workers_.size()) + 1; }

  // body(k) for every k in [0, count), in no order; returns when all are done. Bodies do not throw.
  // From inside a body it runs in the calling thread alone: loops may nest, threads do not multiply.
  // Loops of several callers take turns.
  void for_each(size_t count, const std::function<void(size_t)>& body);

  // body(begin, end) on disjoint ranges that cover [0, count): about four per thread, none shorter than `grain`
  // except the last.
  void for_ranges(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body);

 private:
  void work();
  void drain();

  std::vector<std::thread> workers_;
  std::mutex turn_;   // held for a whole loop
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, done_;
  const std::function<void(size_t)>* body_ = nullptr;  // the loop at hand
  size_t count_ = 0;
  std::atomic<size_t> next_{0};
  unsigned active_ = 0;
  uint64_t loop_ = 0;  // counts loops, so that a worker joins each once
  bool stop_ = false;
};

}  // namespace zkapex
