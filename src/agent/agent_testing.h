// An agent's folder that is newly set up for each test, and a provider for it.
#pragma once

#include <sys/wait.h>

#include <csignal>

#include "agent/provider_testing.h"
#include "agent/status.h"
#include "base/result_testing.h"
#include "parties/pending.h"

namespace zkapex::testing {

class AgentTest : public ::testing::Test {
 protected:
  using Lines = std::vector<std::string>;
  static constexpr UnixTime kNow = 1'000'000, kDay = 86'400;

  static void SetUpTestSuite() {
    world_ = new World();
    FakeProvider provider(*world_, at("fresh/provider"));
    const auto done = set_up(AgentFolder{at("fresh/agent")}, setup(), provider, world_->settings);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  static void TearDownTestSuite() {
    delete world_;
    world_ = nullptr;
  }
  void SetUp() override { reset(); }
  void TearDown() override {
    provider_.reset();
    std::filesystem::remove_all(at("test"));
  }

  static Path at(const std::string& name) { return world_->folder / name; }
  static AgentFolder folder() { return {at("test/agent")}; }
  static AgentSetup setup() {
    AgentConfig config;
    config.provider = FakeProvider::kAddress;
    config.at_once = true;
    return {.config = config,
            .code = "code",
            .policy = {},
            .model = at("model.safetensors"),
            .store = at("store.zka"),
            .base = world_->base_file()};
  }
  // As after set_up, with nothing sent yet.
  void reset() { reset_from("fresh"); }
  void reset_from(const std::string& name) {
    provider_.reset();
    std::filesystem::remove_all(at("test"));
    std::filesystem::copy(at(name), at("test"), std::filesystem::copy_options::recursive);
    provider_.emplace(*world_, at("test/provider"));
    told_.clear();
  }
  void save_as(const std::string& name) {
    std::filesystem::remove_all(at(name));
    std::filesystem::copy(at("test"), at(name), std::filesystem::copy_options::recursive);
  }

  AgentOptions options(std::function<void()> between = {}) {
    return {.work = world_->settings,
            .chance = [] { return 0.0; },
            .tell = [this](const StateChange& change) { told_.push_back(change.text()); },
            .between_changes = std::move(between)};
  }
  // One round of a process of its own.
  Round round(UnixTime now = kNow) {
    provider_->now = now;
    auto agent = Agent::open(folder(), *provider_, options());
    EXPECT_TRUE(agent.ok()) << agent.error().message;
    return agent.ok() ? agent->once(now) : Round{};
  }
  void rounds(int count, UnixTime now = kNow) {
    for (int k = 0; k < count; ++k) {
      const Round done = round(now);
      EXPECT_EQ(done.troubles, Lines{}) << k;
    }
  }
  void be_registered() {
    rounds(2);
    ASSERT_EQ(told_, (Lines{"registration: received", "registration: accepted"}));
    told_.clear();
  }
  uint64_t publish(const std::string& window, const std::vector<uint64_t>& support = {0, 7, 8, 24}) {
    return provider_->publish(window, support, kNow - 10, kNow + 10 * kDay);
  }
  static Lines trouble(const Round& round) { return round.troubles; }
  static bool says(const Lines& lines, std::string_view part) {
    return lines.size() == 1 && lines.front().find(part) != std::string::npos;
  }

  static Lines history() {
    Lines out;
    const auto secret = read_secret_header(ClientFolder{folder().client()}.secret());
    EXPECT_TRUE(secret.ok()) << secret.error().message;
    for (const AppliedWindow& applied : secret->windows) out.push_back(applied.window);
    return out;
  }
  static size_t pending() { return pending_attempts(ClientFolder{folder().client()})->size(); }
  static std::string state_of(const std::string& window) {
    const auto found = Journal(folder().windows()).find(window);
    EXPECT_TRUE(found.ok()) << found.error().message;
    return *found ? std::string(name((*found)->state)) : "none";
  }
  static WindowFolder window(const std::string& window) { return **Journal(folder().windows()).find(window); }
  size_t verdicts(const std::string& window, bool passed) {
    size_t out = 0;
    for (const VerdictNotice& verdict : provider_->notices<VerdictNotice>())
      out += static_cast<size_t>(verdict.window == window && verdict.passed() == passed);
    return out;
  }
  static size_t temporaries() {
    size_t out = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder().folder))
      out += static_cast<size_t>(is_temporary_name(entry.path().filename().string()));
    return out;
  }
  // Does the work in a child that is killed at its change number `fatal`; false when it has fewer.
  template <class Work>
  static bool is_killed(int fatal, const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      ThreadPool pool(1);
      WorkSettings settings = world_->settings;
      settings.pool = &pool;
      int change = 0;
      work(settings, [&] {
        if (change++ == fatal) ::raise(SIGKILL);
      });
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }

  static inline World* world_ = nullptr;
  std::optional<FakeProvider> provider_;
  Lines told_;
};

}  // namespace zkapex::testing
