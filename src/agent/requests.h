// Which of the provider's requests an agent believes: those that are in the log that it has seen, under a checkpoint
// that its policy accepts, and were put there after its own registration, so that nobody chose what to remove when the
// model was still open.
#pragma once

#include "agent/delivery.h"
#include "unlearning/mask.h"

namespace zkapex {

struct Request {
  LoggedEnvelope logged;
  WindowNotice notice;
};

// The signature and the statement; what the log says of it is checked by `prove_request`.
[[nodiscard]] Result<Request> open_request(const LoggedEnvelope& logged, const AgentIdentity& agent);

// Whether the window was published after entry `registered` of the log: others are none of this client's business.
[[nodiscard]] bool concerns(const Request& request, uint64_t registered);

// That it is in the log, as a receipt with the entry in it.
[[nodiscard]] Result<Receipt> prove_request(const Request& request, const LogSight& sight, const AgentIdentity& agent,
                                            TileSource& log);

// More bytes than the file of any request of this deployment has: refused before any of them is asked for.
[[nodiscard]] uint64_t longest_request_file(const Deployment& deployment);

// The file is the one that the statement names, and says the same.
[[nodiscard]] Status check_request_file(ByteView psi, const WindowNotice& notice, const Deployment& deployment);

// The limits that this client was given.
[[nodiscard]] Status check_limits(const Mask& mask, const AgentConfig& config);

}  // namespace zkapex
