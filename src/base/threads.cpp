#include "base/threads.h"

#include <algorithm>
#include <system_error>

#include "base/processors.h"

namespace zkapex {

namespace {
thread_local bool inside_loop = false;
}

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0) threads = usable_processors();
  workers_.reserve(threads - 1);
  try {
    for (unsigned k = 1; k < threads; ++k) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: those that started do the work.
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::drain() {
  inside_loop = true;
  for (size_t k = next_.fetch_add(1); k < count_; k = next_.fetch_add(1)) (*body_)(k);
  inside_loop = false;
}

void ThreadPool::work() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stop_ || (body_ != nullptr && loop_ != seen); });
    if (stop_) return;
    seen = loop_;
    ++active_;
    lock.unlock();
    drain();
    lock.lock();
    if (--active_ == 0) done_.notify_all();
  }
}

void ThreadPool::for_each(size_t count, const std::function<void(size_t)>& body) {
  if (inside_loop || workers_.empty() || count <= 1) {
    for (size_t k = 0; k < count; ++k) body(k);
    return;
  }
  const std::lock_guard turn(turn_);
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    next_ = 0;
    ++loop_;
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return active_ == 0; });
  body_ = nullptr;
}

void ThreadPool::for_ranges(size_t count, size_t grain, const std::function<void(size_t, size_t)>& body) {
  if (count == 0) return;
  const size_t pieces = size_t{4} * this->size();
  const size_t size = std::max({grain, (count + pieces - 1) / pieces, size_t{1}});
  for_each((count + size - 1) / size, [&](size_t k) { body(k * size, std::min(count, (k + 1) * size)); });
}

}  // namespace zkapex
