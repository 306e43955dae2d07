// Writes of many threads, committed together: while one transaction goes to disk, the writes that come meanwhile wait,
// and become the next. Each is answered once the transaction that has it is durable.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "service/store.h"

namespace zkapex {

// A connection whose transactions can be gathered into one.
class GatheredDatabase : public Database {
 public:
  explicit GatheredDatabase(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  // From here on transactions begin and end in name only, until `settle` or `give_up`.
  [[nodiscard]] Status gather();
  // All of them on disk, or none where one was rolled back.
  [[nodiscard]] Status settle();
  void give_up();

  [[nodiscard]] const SqlDialect& dialect() const override { return database_->dialect(); }
  [[nodiscard]] Result<std::vector<SqlRow>> run(std::string_view statement, const SqlRow& values) override;
  [[nodiscard]] Result<std::vector<std::vector<SqlRow>>> run_each(std::string_view statement,
                                                                  std::span<const SqlRow> values) override;
  [[nodiscard]] Status begin() override;
  [[nodiscard]] Status commit() override;
  void roll_back() override;

 private:
  std::unique_ptr<Database> database_;
  bool gathering_ = false, broken_ = false;
};

class WriteQueue {
 public:
  using Open = std::function<Result<std::unique_ptr<Database>>()>;

  explicit WriteQueue(Open open) : open_(std::move(open)) {}
  WriteQueue(const WriteQueue&) = delete;
  WriteQueue& operator=(const WriteQueue&) = delete;

  // What `work` of a Store gives, durable. It may be called twice: where one write of a transaction fails, all are
  // undone, and each is done again by itself.
  template <class Work>
  [[nodiscard]] auto run(const Work& work) -> decltype(work(std::declval<Store&>())) {
    std::optional<decltype(work(std::declval<Store&>()))> out;
    const std::function<bool(Store&)> write = [&](Store& store) {
      out.emplace(work(store));
      return out->ok();
    };
    ZKAPEX_CHECK(wait_for(write));
    return std::move(*out);
  }

  // How many wait for the one that writes now.
  [[nodiscard]] size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Waiting {
    const std::function<bool(Store&)>* write;  // false where it failed
    Status outcome;                            // what it does not know itself: an error until it was called and is over
    bool over = false;
  };
  // A thread that has the connection, and all that waited when it took it, until this is destroyed.
  class Turn {
   public:
    explicit Turn(WriteQueue& queue);  // with the lock
    ~Turn();                           // without it
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[nodiscard]] std::span<Waiting* const> batch() const { return batch_; }

   private:
    WriteQueue& queue_;
    std::vector<Waiting*> batch_;
  };

  [[nodiscard]] Status wait_for(const std::function<bool(Store&)>& write);
  [[nodiscard]] Status connect();
  void write_all(std::span<Waiting* const> batch);
  [[nodiscard]] Status write_together(std::span<Waiting* const> batch);
  void write_alone(Waiting& one);

  Open open_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool writing_ = false;  // it is somebody's turn
  std::vector<Waiting*> waiting_;
  std::optional<Store> store_;  // none before the first write, and after one that failed
  GatheredDatabase* gathered_ = nullptr;
};

}  // namespace zkapex
