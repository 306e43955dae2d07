// Connections to the store for threads that come and go: each is used by one at a time, and kept for the next.
#pragma once

#include "service/write_queue.h"

namespace zkapex {

class StorePool {
 public:
  explicit StorePool(std::string address)
      : address_(std::move(address)),
        one_writer_(has_one_writer(address_)),
        writes_([this] { return open_database(address_); }) {}

  // What `work` of a Store gives. A connection that had an error is not used again: it may be a lost one.
  template <class Work>
  [[nodiscard]] auto with(const Work& work) -> decltype(work(std::declval<Store&>())) {
    ZKAPEX_TRY(Store store, take());
    auto out = work(store);
    if (out.ok()) give_back(std::move(store));
    return out;
  }

  // The same for what many write at once: where the engine lets one write at a time, they are committed together.
  // `work` may be called twice.
  template <class Work>
  [[nodiscard]] auto write(const Work& work) -> decltype(work(std::declval<Store&>())) {
    return one_writer_ ? writes_.run(work) : with(work);
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
    return Store::open(address_);
  }
  void give_back(Store store) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(store));
  }

  std::string address_;
  bool one_writer_;
  std::mutex mutex_;
  std::vector<Store> free_;
  WriteQueue writes_;
};

}  // namespace zkapex
