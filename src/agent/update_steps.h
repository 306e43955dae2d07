// The steps of one update, from one state of agent/update_order.h to the next.
#pragma once

#include "agent/update_order.h"
#include "parties/work.h"

namespace zkapex {

struct UpdateStep {
  enum class Kind {
    kMoved,    // to `state`
    kWaits,    // for its verdict
    kRefused,  // a window has to be answered first
    kNone,     // no update was ordered
  } kind = Kind::kNone;
  UpdateState state = UpdateState::kOrdered;
  std::string trouble = {};  // of which the user should know
};

class UpdateSteps {
 public:
  UpdateSteps(const AgentFolder& folder, const AgentIdentity& agent, Courier& courier, const WorkSettings& settings,
              std::function<void()> between_changes)
      : folder_(folder),
        agent_(agent),
        courier_(courier),
        settings_(settings),
        between_changes_(std::move(between_changes)),
        update_{folder.update()} {}

  // Whether the provider may know of it. Then windows wait for its verdict, since they start from what becomes of it.
  [[nodiscard]] Result<bool> is_sent() const;
  // One state further, if it can be. While it is not sent, for when no window is open. An error: it stays where it is,
  // and may be tried again.
  [[nodiscard]] Result<UpdateStep> advance(const LogSight& sight, UnixTime now);
  // A window comes first: what was computed goes, or aside if it was sent and refused; the order stays. For an update
  // that is not sent.
  [[nodiscard]] Status set_back();

 private:
  [[nodiscard]] Result<UpdateStep> compute();
  [[nodiscard]] Result<UpdateStep> sign();
  [[nodiscard]] Result<UpdateStep> hand_in();
  [[nodiscard]] Result<UpdateStep> hear(const LogSight& sight, UnixTime now);
  [[nodiscard]] Result<UpdateStep> accept();
  [[nodiscard]] Result<UpdateStep> end(UpdateState state);

  [[nodiscard]] Result<UpdateStep> refused(const Problem& problem);
  [[nodiscard]] Status fail(const std::string& why);
  [[nodiscard]] Status put_away_pending();
  [[nodiscard]] Status drop_pending();
  [[nodiscard]] Status drop_missed_windows();
  [[nodiscard]] Status remove(const Path& file);
  void changed() const {
    if (between_changes_) between_changes_();
  }

  const AgentFolder& folder_;
  const AgentIdentity& agent_;
  Courier& courier_;
  const WorkSettings& settings_;
  std::function<void()> between_changes_;
  UpdateFolder update_;
};

}  // namespace zkapex
