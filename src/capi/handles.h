// What is behind the handles of zkapex.h. Each has its kind, so that one handle is not taken for another, and how many
// hold it, so that one that is freed while a call uses it goes when that call returns.
#pragma once

#include <zkapex.h>

#include <atomic>
#include <memory>
#include <utility>

#include "curvature/build.h"
#include "parties/work.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex::capi {

enum class Kind : uint64_t {
  kNone = 0,  // freed
  kSession = 0x7a6b617065780001,
  kDeployment,
  kRequest,
  kCurvature,
};
[[nodiscard]] std::string_view name(Kind kind);

struct Handle {
  explicit Handle(Kind k) : kind(k) {}
  virtual ~Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void hold() const { holders.fetch_add(1); }
  void release() const {
    if (holders.fetch_sub(1) == 1) delete this;
  }

  std::atomic<Kind> kind;
  mutable std::atomic<uint32_t> holders{1};  // whoever made it, until zkapex_free, and the calls that use it
};

// While a call uses a handle.
class Use {
 public:
  explicit Use(const Handle* handle) : handle_(handle) { handle_->hold(); }
  ~Use() {
    if (handle_ != nullptr) handle_->release();
  }
  Use(Use&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Use& operator=(Use&&) = delete;

 private:
  const Handle* handle_;
};

// An error unless it is one of that kind.
[[nodiscard]] Status check_handle(const void* handle, Kind kind);
[[nodiscard]] Result<Use> use(const void* handle, Kind kind);

}  // namespace zkapex::capi

// NOLINTBEGIN(readability-identifier-naming): the names are those of zkapex.h
struct zkapex_session : zkapex::capi::Handle {
  explicit zkapex_session(unsigned threads) : Handle(zkapex::capi::Kind::kSession), pool(threads) {}

  zkapex::ThreadPool pool;
  zkapex::WorkSettings settings;
  std::atomic<bool> busy{false};
  bool cancelled = false;  // by the progress function, in this call
  std::string error, report = "{}";
};

struct zkapex_deployment : zkapex::capi::Handle {
  explicit zkapex_deployment(zkapex::Deployment d)
      : Handle(zkapex::capi::Kind::kDeployment), deployment(std::move(d)) {}

  zkapex::Deployment deployment;
};

struct zkapex_request : zkapex::capi::Handle {
  zkapex_request(zkapex::Mask m, uint64_t weights)
      : Handle(zkapex::capi::Kind::kRequest), mask(std::move(m)), covered(weights) {}

  zkapex::Mask mask;
  uint64_t covered;
};

struct zkapex_curvature : zkapex::capi::Handle {
  zkapex_curvature(zkapex::Deployment d, zkapex::StoreWriter w, zkapex::Path o)
      : Handle(zkapex::capi::Kind::kCurvature),
        deployment(std::move(d)),
        writer(std::move(w)),
        output(std::move(o)),
        resumed(writer.blocks()) {}

  zkapex::Deployment deployment;  // of its own: the handle that it came from may be freed before
  zkapex::StoreWriter writer;
  zkapex::Path output;
  uint64_t resumed;
  zkapex::FactorSettings settings;
  zkapex::StoreStatistics statistics;
  bool finished = false;
};
// NOLINTEND(readability-identifier-naming)
