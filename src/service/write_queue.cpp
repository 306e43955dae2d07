#include "service/write_queue.h"

namespace zkapex {

Status GatheredDatabase::gather() {
  ZKAPEX_CHECK(database_->begin());
  gathering_ = true;
  broken_ = false;
  return Done{};
}

Status GatheredDatabase::settle() {
  if (broken_) {
    give_up();
    return error("a write that was gathered with others failed");
  }
  gathering_ = false;
  return database_->commit();
}

void GatheredDatabase::give_up() {
  gathering_ = false;
  database_->roll_back();
}

Result<std::vector<SqlRow>> GatheredDatabase::run(std::string_view statement, const SqlRow& values) {
  return database_->run(statement, values);
}

Result<std::vector<std::vector<SqlRow>>> GatheredDatabase::run_each(std::string_view statement,
                                                                    std::span<const SqlRow> values) {
  return database_->run_each(statement, values);
}

Status GatheredDatabase::begin() { return gathering_ ? Status(Done{}) : database_->begin(); }

Status GatheredDatabase::commit() { return gathering_ ? Status(Done{}) : database_->commit(); }

void GatheredDatabase::roll_back() {
  if (gathering_) {
    broken_ = true;
  } else {
    database_->roll_back();
  }
}

WriteQueue::Turn::Turn(WriteQueue& queue) : queue_(queue), batch_(std::exchange(queue.waiting_, {})) {
  queue_.writing_ = true;
}

WriteQueue::Turn::~Turn() {
  const std::lock_guard lock(queue_.mutex_);
  for (Waiting* one : batch_) one->over = true;
  queue_.writing_ = false;
  queue_.changed_.notify_all();
}

Status WriteQueue::wait_for(const std::function<bool(Store&)>& write) {
  Waiting mine{&write, error("a write was not finished")};
  {
    std::unique_lock lock(mutex_);
    waiting_.push_back(&mine);
    changed_.wait(lock, [&] { return mine.over || !writing_; });
    if (mine.over) return mine.outcome;
    const Turn turn(*this);
    lock.unlock();
    write_all(turn.batch());
  }
  return mine.outcome;
}

Status WriteQueue::connect() {
  if (store_) return Done{};
  ZKAPEX_TRY(std::unique_ptr<Database> database, open_());
  auto gathered = std::make_unique<GatheredDatabase>(std::move(database));
  gathered_ = gathered.get();
  ZKAPEX_TRY(Store store, Store::over(std::move(gathered)));
  store_.emplace(std::move(store));
  return Done{};
}

void WriteQueue::write_all(std::span<Waiting* const> batch) {
  try {
    if (batch.size() > 1 && write_together(batch).ok()) return;
    for (Waiting* one : batch) write_alone(*one);
  } catch (...) {
    store_.reset();  // with what was gathered and is not on disk
    throw;
  }
}

// Nothing of it is there after an error.
Status WriteQueue::write_together(std::span<Waiting* const> batch) {
  ZKAPEX_CHECK(connect());
  ZKAPEX_CHECK(gathered_->gather());
  for (const Waiting* one : batch) {
    if ((*one->write)(*store_)) continue;
    gathered_->give_up();
    return error("a write failed");
  }
  ZKAPEX_CHECK(gathered_->settle());
  for (Waiting* one : batch) one->outcome = Done{};
  return Done{};
}

// A connection that had an error is not used again: it may be a lost one.
void WriteQueue::write_alone(Waiting& one) {
  const Status connected = connect();
  if (connected.ok() && !(*one.write)(*store_)) store_.reset();
  one.outcome = connected;
}

}  // namespace zkapex
