// Connections to the store for threads that come and go: each is used by one at a time, and kept for the next.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "service/store.h"

namespace zkapex {

class StorePool {
 public:
  explicit StorePool(std::function<Result<Store>()> open) : open_(std::move(open)) {}

  // What `work` of a Store gives. A connection that had an error is not used again: it may be a lost one.
  template <class Work>
  [[nodiscard]] auto with(const Work& work) -> decltype(work(std::declval<Store&>())) {
    ZKAPEX_TRY(Store store, take());
    auto out = work(store);
    if (out.ok()) give_back(std::move(store));
    return out;
  }

 private:
  [[nodiscard]] Result<Store> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Store store = std::move(free_.back());
        free_.pop_back();
        return store;
      }
    }
    return open_();
  }
  void give_back(Store store) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(store));
  }

  std::function<Result<Store>()> open_;
  std::mutex mutex_;
  std::vector<Store> free_;
};

}  // namespace zkapex
