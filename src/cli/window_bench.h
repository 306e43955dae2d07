// A window at the size of a real model, from made-up weights and curvature: the steps of a client and of the provider,
// each measured. What `bench window` and `bench batch` share.
#pragma once

#include <filesystem>
#include <memory>

#include "base/json.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "parties/client.h"

namespace zkapex::cli {

struct WindowBenchFlags {
  std::string shape = "vit-b16";
  unsigned layers = 0;  // 0: all of the shape
  uint64_t block = 256, row = 0;
  double ratio = 0.04;
  uint32_t bits = 8;
  uint64_t seed = 1;
  bool guided = false, no_anchor = false;
  std::string work;
  CommonFlags common;

  void offer(Command command);
};

// A folder for the curvature store and for what provers put aside: one that the caller named, or one that goes again.
class WorkFolder {
 public:
  static Result<WorkFolder> make(const std::string& named);
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)), keep_(std::exchange(other.keep_, true)) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder();
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  WorkFolder(Path path, bool keep) : path_(std::move(path)), keep_(keep) {}

  Path path_;
  bool keep_;
};

class WindowBench {
 public:
  // Makes up what is not there yet.
  static Result<std::unique_ptr<WindowBench>> make(const WindowBenchFlags& flags);

  [[nodiscard]] Status register_client();
  [[nodiscard]] Status window();
  [[nodiscard]] const nlohmann::ordered_json& figures() const { return out_; }

  // After the window: what the provider verifies.
  struct Handed {
    const Deployment& deployment;
    const ClientRecord& record;
    const Mask& mask;
    const ProofFile& proof;
    const Generators& generators;
    ThreadPool& pool;
  };
  [[nodiscard]] Handed handed() { return {*deployment_, client_.record, *mask_, proved_->file, *generators_, pool_}; }

 private:
  WindowBench(const WindowBenchFlags& flags, WorkFolder folder);
  Status make_up();
  void describe();

  WindowBenchFlags flags_;
  WorkFolder folder_;
  ThreadPool pool_;
  WorkSettings settings_;
  std::optional<Deployment> plain_, deployment_;
  std::optional<BaseRows> base_;
  std::optional<StoreReader> store_;
  std::optional<Mask> mask_;
  std::optional<NewRegistration> registered_;
  std::optional<Generators> generators_;
  std::optional<ProvedWindow> proved_;
  Client client_{};
  Stopwatch watch_;
  nlohmann::ordered_json out_;
};

}  // namespace zkapex::cli
