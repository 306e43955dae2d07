// The client's side of the service: one round after the other, each of which goes as far as it can. A round that is
// stopped anywhere, by kill -9 too, is taken up by the next one.
#pragma once

#include "agent/schedule.h"
#include "agent/update_steps.h"
#include "agent/window_steps.h"

namespace zkapex {

// Something has reached a state: the window of that name, or else what `subject` says.
struct StateChange {
  std::string subject;  // "window", "update", "key", "registration", "log"
  std::string window;
  std::string state;

  [[nodiscard]] std::string text() const;
};

struct AgentOptions {
  WorkSettings work = {};
  Chance chance = system_chance;
  std::function<void(const StateChange&)> tell = {};
  std::function<void()> between_changes = {};  // for tests: called between any two changes on disk
};

struct Round {
  bool split = false;                 // the log contradicts itself: nothing was done, nor will be
  bool waiting = false;               // for a verdict
  std::vector<std::string> troubles;  // a sentence each; the next round tries again
  UnixTime next = 0;                  // when that should be
};

class Agent {
 public:
  // Holds the folder until it goes. `web` outlives it.
  [[nodiscard]] static Result<Agent> open(const AgentFolder& folder, WebClient& web, AgentOptions options);

  [[nodiscard]] Round once(UnixTime now);
  // Something was ordered since the last round began.
  [[nodiscard]] bool has_new_order() const;

  [[nodiscard]] const AgentConfig& config() const { return identity_.config; }

 private:
  Agent(AgentFolder folder, FolderLock lock, AgentIdentity identity, WebClient& web, AgentOptions options);

  // An error is a trouble of the round.
  [[nodiscard]] Status work(UnixTime now, Round& round);
  // The place of the registration in the log, once it is accepted.
  [[nodiscard]] Result<std::optional<uint64_t>> advance_registration(const LogSight& sight);
  [[nodiscard]] Status look_for_windows(const LogSight& sight, uint64_t registered, UnixTime now, Round& round);
  [[nodiscard]] Status take(const Request& request, const LogSight& sight);
  [[nodiscard]] Status advance_windows(const LogSight& sight, Courier& courier, UnixTime now, Round& round);
  // Until it waits, is refused, or has come to an end.
  [[nodiscard]] Result<UpdateStep::Kind> advance_update(UpdateSteps& steps, const LogSight& sight, UnixTime now,
                                                        Round& round);
  void plan(Round& round, UnixTime now);
  void tell(const StateChange& change) const {
    if (options_.tell) options_.tell(change);
  }
  void changed() const {
    if (options_.between_changes) options_.between_changes();
  }

  AgentFolder folder_;
  FolderLock lock_;
  AgentIdentity identity_;
  AgentOptions options_;
  std::unique_ptr<ListeningClient> web_;  // where it is, the next two find it
  ProviderLink link_;
  WebTiles log_;
  Journal journal_;
  std::string windows_etag_;  // of an answer of which nothing was left to do
  UnixTime start_ = 0;        // of a window that waits for its time; 0: none does
  uint64_t failures_ = 0, waits_ = 0;
  std::string orders_;  // that the last round found
};

[[nodiscard]] DeliveryFiles registration_delivery(const AgentFolder& folder);

}  // namespace zkapex
