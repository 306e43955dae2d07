// A client's folder that each test finds newly registered, and what tests do with it.
#pragma once

#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>

#include "parties/client_testing.h"
#include "parties/settle.h"
#include "parties/unlearn.h"

namespace zkapex::testing {

using Names = std::vector<std::string>;

class ClientTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    world_ = new World();
    world_->begin("registered");
    write_mask("w1", {0, 7, 8, 24});
    write_mask("w2", {0, 3, 7, 8, 24});
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  static void write_mask(const std::string& window, const std::vector<uint64_t>& support) {
    Mask mask = world_->mask;
    mask.window = window;
    mask.support.assign(support.begin(), support.end());
    ASSERT_TRUE(write_file(at(window + ".zka"), mask.serialize(), {.overwrite = true}).ok());
  }

  void SetUp() override { std::filesystem::copy(at("registered"), client(), std::filesystem::copy_options::recursive); }
  void TearDown() override {
    std::filesystem::remove_all(client());
    std::filesystem::remove_all(at("out"));
  }

  static Path at(const std::string& name) { return world_->folder / name; }
  static Path client() { return at("client"); }
  static ClientFolder files() { return ClientFolder{client()}; }
  static UnlearnRequest window(const std::string& name, const std::string& out = "a") {
    std::filesystem::create_directories(at("out"));
    return {.client = client(),
            .mask = at(name + ".zka"),
            .model_out = at("out/" + out + ".safetensors"),
            .proof_out = at("out/" + out + ".zka"),
            .model = {},
            .store = {}};
  }
  static UnlearnReport compute(const std::string& name, const std::string& out = "a") {
    const auto report = unlearn(window(name, out), world_->settings);
    EXPECT_TRUE(report.ok()) << report.error().message;
    return *report;
  }
  static std::string refusal(const UnlearnRequest& request, bool force = false) {
    WorkSettings settings = world_->settings;
    settings.force = force;
    const auto report = unlearn(request, settings);
    return report.ok() ? "" : report.error().message;
  }
  static SettleRequest verdict(bool accepted, const std::string& name = "", const Path& proof = {}) {
    return {.client = client(), .accepted = accepted, .window = name, .proof = proof, .all = proof.empty()};
  }
  static std::string refusal(const SettleRequest& request) {
    const auto report = settle(request);
    return report.ok() ? "" : report.error().message;
  }
  // Why the client cannot be registered anew in its folder; empty if it was.
  static std::string refusal_to_register(bool force) {
    WorkSettings settings = world_->settings;
    settings.force = force;
    const auto report = register_client({.deployment = at("deployment.zka"),
                                         .model = at("model.safetensors"),
                                         .store = at("store.zka"),
                                         .base = world_->base_file(),
                                         .client = "registered",
                                         .out = client()},
                                        settings);
    return report.ok() ? "" : report.error().message;
  }
  static bool says(const std::string& message, std::string_view part) {
    return message.find(part) != std::string::npos;
  }
  static Bytes bytes(const Path& path) { return *read_file(path, 1 << 24); }
  static Names names(const History& history) {
    Names out;
    for (const AppliedWindow& applied : history) out.push_back(applied.window);
    return out;
  }
  static Names history() { return names(read_secret_header(files().secret())->windows); }
  static Names pending() {
    Names out;
    const auto attempts = pending_attempts(files());
    EXPECT_TRUE(attempts.ok()) << attempts.error().message;
    for (const Attempt& attempt : *attempts) out.push_back(attempt.window);
    return out;
  }
  static unsigned mode(const Path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  }
  // Every file below the client's folder, with its bytes.
  static std::map<std::string, Bytes> state() {
    std::map<std::string, Bytes> out;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(client())) {
      if (entry.is_regular_file()) out[entry.path().lexically_relative(client()).string()] = bytes(entry.path());
    }
    return out;
  }
  // Does the work in a child that is killed at its change number `fatal`; false when it has fewer.
  template <class Work>
  static bool is_killed(int fatal, const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      int change = 0;
      work([&] {
        if (change++ == fatal) ::raise(SIGKILL);
      });
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status);
  }

  static inline World* world_ = nullptr;
};

}  // namespace zkapex::testing
