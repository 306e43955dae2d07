// A provider without a network, for tests of the agent: it answers as the service does, verifies what is handed in, and
// keeps all it knows on disk, so that a test may kill the process that talks to it.
#pragma once

#include "agent/agent.h"
#include "agent/setup.h"
#include "exchange/paths.h"
#include "parties/client_testing.h"

namespace zkapex::testing {

class FakeProvider : public WebClient {
 public:
  static constexpr std::string_view kAddress = "http://127.0.0.1:1/unlearning";
  static constexpr UnixTime kVerdictSeconds = 3600;

  // Of the world's deployment; `folder` is made. `carried`: clients keep their state; as it was made first.
  FakeProvider(const World& world, Path folder, bool carried = false);

  [[nodiscard]] Result<WebAnswer> send(const WebRequest& request) override;

  // What it does of its own accord.
  uint64_t append(const Envelope& envelope);  // the place in the log
  uint64_t publish(const std::string& window, const std::vector<uint64_t>& support, UnixTime opens, UnixTime deadline);
  // Verdicts on everything that waits for one.
  void decide();

  [[nodiscard]] std::vector<Bytes> entries() const;
  template <class T>
  [[nodiscard]] std::vector<T> notices() const {
    std::vector<T> out;
    for (const Bytes& entry : entries()) {
      const Envelope envelope = *Envelope::decode({reinterpret_cast<const char*>(entry.data()), entry.size()});
      const Statement statement = *decode_statement(envelope.payload);
      if (const T* notice = std::get_if<T>(&statement)) out.push_back(*notice);
    }
    return out;
  }
  [[nodiscard]] Note checkpoint() const;
  [[nodiscard]] Policy policy() const { return Policy::of_log(*NoteKey::parse(log_vkey_)); }

  // How it behaves.
  UnixTime now = 1'000'000;
  bool deciding = true;                                                               // when asked for a verdict
  std::optional<Reason> rejects = {};                                                 // proofs, without looking at them
  WorkSettings settings{};                                                            // of its verifications
  std::function<std::optional<Result<WebAnswer>>(const WebRequest&)> intercept = {};  // answers instead
  std::function<void(VerdictNotice&)> slant = {};                                     // changes what it signs
  size_t requests = 0;
  SigningKey key, log_key;

 private:
  struct Delivery;
  [[nodiscard]] WebAnswer get(const std::string& path, const WebRequest& request);
  [[nodiscard]] WebAnswer enrol(const WebRequest& request);
  void forget_announcements();
  [[nodiscard]] WebAnswer announce(const WebRequest& request);
  [[nodiscard]] bool awaits(const std::string& client) const;
  [[nodiscard]] WebAnswer receive(const std::string& id, const WebRequest& request);
  [[nodiscard]] WebAnswer receive_state(const std::string& path, const WebRequest& request);
  [[nodiscard]] std::vector<FileReference> missing_state(const Path& delivery) const;
  [[nodiscard]] WebAnswer tell_verdict(const std::string& id);
  [[nodiscard]] WebAnswer log_file(const std::string& path) const;
  [[nodiscard]] std::optional<LoggedEnvelope> verdict_on(const std::string& id) const;
  [[nodiscard]] std::vector<TreeHash> leaves() const;
  void judge_delivery(const Path& delivery);

  const World& world_;
  Path folder_;
  std::string log_vkey_;
};

}  // namespace zkapex::testing
