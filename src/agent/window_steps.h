// The steps of one window, from one state of agent/journal.h to the next.
#pragma once

#include "agent/delivery.h"
#include "agent/journal.h"
#include "agent/requests.h"
#include "parties/work.h"

namespace zkapex {

struct WindowStep {
  enum class Kind {
    kMoved,    // to another state
    kWaits,    // for a verdict, or for `until`
    kMissed,   // its deadline passed before it was computed, by this machine's clock
    kSettled,  // nothing is left to do
  } kind = Kind::kWaits;
  UnixTime until = 0;        // 0: nobody knows
  std::string trouble = {};  // of which the user should know
};

class WindowSteps {
 public:
  // Proofs of one window at most, the first included.
  static constexpr size_t kMostAttempts = 3;

  WindowSteps(const AgentFolder& folder, const AgentIdentity& agent, Courier& courier, const WorkSettings& settings,
              std::function<void()> between_changes)
      : folder_(folder),
        agent_(agent),
        courier_(courier),
        settings_(settings),
        between_changes_(std::move(between_changes)),
        journal_(folder.windows()) {}

  // One state further, if it can be. An error: it stays where it is, and may be tried again.
  [[nodiscard]] Result<WindowStep> advance(WindowFolder& window, const LogSight& sight, UnixTime now);

 private:
  [[nodiscard]] Result<WindowStep> compute(WindowFolder& window, UnixTime now);
  [[nodiscard]] Result<WindowStep> submit(WindowFolder& window, UnixTime now);
  [[nodiscard]] Result<WindowStep> upload(WindowFolder& window, UnixTime now);
  [[nodiscard]] Result<WindowStep> hear(WindowFolder& window, const LogSight& sight, UnixTime now);
  [[nodiscard]] Result<WindowStep> prove_again(WindowFolder& window, UnixTime now);

  // The state after the window becomes the client's, or goes.
  [[nodiscard]] Result<WindowStep> accept(WindowFolder& window, const std::string& name);
  [[nodiscard]] Result<WindowStep> reject(WindowFolder& window, const std::string& name);
  [[nodiscard]] Result<WindowStep> refused(WindowFolder& window, const Problem& problem, UnixTime now);
  [[nodiscard]] Status put_aside(const WindowFolder& window, const std::string& name);
  [[nodiscard]] Status drop_attempts(const std::string& name);
  [[nodiscard]] Result<WindowStep> move(WindowFolder& window, WindowState state);
  void changed() const {
    if (between_changes_) between_changes_();
  }

  const AgentFolder& folder_;
  const AgentIdentity& agent_;
  Courier& courier_;
  const WorkSettings& settings_;
  std::function<void()> between_changes_;
  Journal journal_;
};

[[nodiscard]] DeliveryFiles delivery_of(const WindowFolder& window);
[[nodiscard]] Result<WindowNotice> read_request(const WindowFolder& window);
// How many of its attempts were rejected, and put aside for another one.
[[nodiscard]] size_t count_earlier(const WindowFolder& window);

// A proof that was rejected for this may be made again, with other randomness, and accepted.
[[nodiscard]] bool worth_proving_again(Reason reason);

}  // namespace zkapex
