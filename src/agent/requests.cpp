#include "agent/requests.h"

#include "base/names.h"

namespace zkapex {

Result<Request> open_request(const LoggedEnvelope& logged, const AgentIdentity& agent) {
  ZKAPEX_TRY(WindowNotice notice, open_statement<WindowNotice>(logged.envelope, agent.provider.provider));
  if (notice.deployment != agent.provider.deployment)
    return error("the request {} is of another deployment", in_quotes(notice.window));
  return Request{logged, std::move(notice)};
}

bool concerns(const Request& request, uint64_t registered) {
  // Logged after it, and made when it could be seen: Com(C_p) came before Ψ.
  return request.logged.index && *request.logged.index > registered && request.notice.seen.size > registered;
}

Result<Receipt> prove_request(const Request& request, const LogSight& sight, const AgentIdentity& agent,
                              TileSource& log) {
  if (request.logged.index && request.notice.seen.size > *request.logged.index)
    return error("the request {} claims to have seen what came after it", in_quotes(request.notice.window));
  return prove_logged(request.logged, sight, agent.policy, log);
}

uint64_t longest_request_file(const Deployment& deployment) {
  // For a coordinate at most a byte of its block's level, a fifth of one in the guide, and two bits of the support.
  return (uint64_t{1} << 20) + 2 * deployment.layout().coordinates();
}

Status check_request_file(ByteView psi, const WindowNotice& notice, const Deployment& deployment) {
  if (reference_to(psi) != notice.file) return error("the file is not the one that is in the log");
  ZKAPEX_TRY(const Mask mask, Mask::parse(psi, deployment.layout().coordinates()));
  if (mask.digest() != notice.mask || mask.window != notice.window || mask.deployment != notice.deployment ||
      mask.predecessor != notice.predecessor || mask.nonce != notice.nonce || mask.op != notice.op)
    return error("the file says something else than its statement in the log");
  return Done{};
}

Status check_limits(const Mask& mask, const AgentConfig& config) {
  const uint64_t masked = mask.support.size();
  if (masked < config.min_masked)
    return error("the request removes {} weights, fewer than this client wants ({})", masked, config.min_masked);
  if (config.max_masked && masked > *config.max_masked)
    return error("the request removes {} weights, more than this client allows ({})", masked, *config.max_masked);
  return Done{};
}

}  // namespace zkapex
