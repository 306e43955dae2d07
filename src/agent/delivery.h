// Something that is handed in to be judged: a registration, an update, or the proof of a window. Announced by a signed
// statement, then uploaded, which the provider signs for; in the end there is a verdict in the log. Each of these may
// be done again at any time with the same outcome.
#pragma once

#include "agent/config.h"
#include "agent/log_view.h"
#include "agent/provider_link.h"
#include "exchange/answers.h"

namespace zkapex {

struct DeliveryFiles {
  Path file;       // what is handed in
  Path statement;  // the envelope that announces it
  Path received;   // the provider's signed receipt of the upload
  Path verdict;    // the logged envelope: there once all of it was checked
  Path receipt;    // its tlog-proof
};

// Why a delivery ends without a verdict; none where it goes on.
using Refused = std::optional<Problem>;

class Courier {
 public:
  // `client`: the client's folder, whose public state goes along where the deployment asks for that.
  Courier(ProviderLink& link, TileSource& log, const AgentIdentity& agent, Path client)
      : link_(&link), log_(&log), agent_(&agent), client_(std::move(client)) {}

  // Registers the signed statement with the provider. One that was signed before the key was replaced is signed again,
  // unless the provider holds what it announces: that is in the log as it was signed.
  [[nodiscard]] Result<Refused> announce(const DeliveryFiles& files);
  // Uploads the file and keeps the provider's receipt, which is checked. A statement that the provider has not is
  // announced again.
  [[nodiscard]] Result<Refused> upload(const DeliveryFiles& files);

  struct Outcome {
    Refused refused = std::nullopt;
    std::optional<VerdictNotice> verdict = std::nullopt;  // neither: it is not there yet
  };
  // Keeps the verdict once it is in the log as the agent has seen it: signed by the provider, about this delivery, and
  // under a checkpoint that the policy accepts.
  [[nodiscard]] Result<Outcome> ask_for_verdict(const DeliveryFiles& files, const LogSight& sight);

 private:
  struct Announced {
    Refused refused = std::nullopt;
    std::optional<UploadTicket> ticket = std::nullopt;  // none where the provider holds the file already
  };
  [[nodiscard]] Result<Announced> ask_for_ticket(const DeliveryFiles& files);
  // What the provider asks for of the state that this client carries. `known` is an error where it asks for something
  // else; that matters where it insists.
  [[nodiscard]] Result<Refused> send_state(const UploadTicket& ticket, Status& known);
  // Whether the provider has the file.
  [[nodiscard]] Result<bool> holds(const Sha256::Digest& id);

  ProviderLink* link_;
  TileSource* log_;
  const AgentIdentity* agent_;
  Path client_;
};

// From a verdict that was kept.
[[nodiscard]] Result<VerdictNotice> read_verdict(const DeliveryFiles& files);
[[nodiscard]] Result<UploadNotice> read_upload_receipt(const DeliveryFiles& files);

// The entry is in the log that was seen, and the policy accepts that: the proof of it. An error where it is not, or not
// yet.
[[nodiscard]] Result<Receipt> prove_logged(const LoggedEnvelope& logged, const LogSight& sight, const Policy& policy,
                                           TileSource& log);

}  // namespace zkapex
