// Registrations, updates and submissions: a signed statement first, and the file that it announces second.
#include <map>
#include <mutex>

#include "exchange/paths.h"
#include "parties/inbox.h"
#include "service/api.h"

namespace zkapex {

namespace {

constexpr uint64_t kMaxStatementBytes = kMaxEntryBytes;

// The longest proofs of windows, which take a mask to be read.
class ProofLimits {
 public:
  [[nodiscard]] ApiResult<size_t> of(const ApiContext& context, const WindowInfo& window) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = limits_.find(window.id); known != limits_.end()) return known->second;
    }
    ZKAPEX_TRY(const Bytes psi, ours(context.provider.blobs().read(window.psi)));
    ZKAPEX_TRY(const Mask mask, ours(Mask::parse(psi)));
    ZKAPEX_TRY(const size_t limit, ours(longest_proof_file(context.provider.deployment(), mask)));
    const std::lock_guard lock(mutex_);
    limits_[window.id] = limit;
    return limit;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, size_t> limits_;
};

// The current key of an enrolled client, by what the first signature calls it.
ApiResult<std::pair<std::string, PublicKey>> signer_of(const ApiContext& context, const Envelope& envelope) {
  if (envelope.signatures.empty()) return ApiFailure{ProblemKind::kSignature, "the statement is not signed"};
  const std::string& id = envelope.signatures.front().keyid;
  ZKAPEX_TRY(const auto record, ours(context.stores.with([&](Store& store) { return store.key(id); })));
  if (!record) return ApiFailure{ProblemKind::kClient, "no client with this key is enrolled"};
  if (record->retired) return ApiFailure{ProblemKind::kSignature, "this key was replaced by a newer one"};
  ZKAPEX_TRY(PublicKey key, ours(PublicKey::from_spki(record->key.key)));
  return std::pair(record->client, std::move(key));
}

ApiFailure too_large(uint64_t announced, uint64_t limit) {
  return {
      ProblemKind::kTooLarge,
      fmt::format("the file is announced with {} bytes; what this deployment needs has at most {}", announced, limit)};
}

// A tree that this log had: what a client saw elsewhere is not this provider's log.
ApiResult<Done> check_seen(const ApiContext& context, const SeenTree& seen) {
  const ApiFailure stale{ProblemKind::kStale, "the checkpoint that the client saw is not one of this log"};
  ZKAPEX_TRY(const SeenTree published, ours(context.provider.published_tree()));
  if (seen.size > published.size) return stale;
  if (seen.size == 0) return seen.root == empty_tree_hash() ? ApiResult<Done>(Done{}) : ApiResult<Done>(stale);
  TileFolder files(context.provider.log());
  ZKAPEX_TRY(const TreeHash root, ours(tree_root(files, seen.size)));
  return root == seen.root ? ApiResult<Done>(Done{}) : ApiResult<Done>(stale);
}

Announcement announcement_of(DeliveryKind kind, const std::string& window = {}) {
  Announcement out;
  out.kind = kind;
  out.window = window;
  return out;
}

ApiResult<Announcement> check_statement(const ApiContext& context, const RegistrationNotice& notice, ProofLimits&) {
  if (notice.certificate)
    return ApiFailure{ProblemKind::kMalformed, "no registration proves its curvature: the statement must not say so"};
  ZKAPEX_TRY(const size_t limit, ours(longest_registration_file(context.provider.deployment())));
  if (notice.file.bytes > limit) return too_large(notice.file.bytes, limit);
  ZKAPEX_CHECK(check_seen(context, notice.seen));
  return announcement_of(DeliveryKind::kRegistration);
}

ApiResult<Announcement> check_statement(const ApiContext& context, const UpdateNotice& notice, ProofLimits&) {
  ZKAPEX_TRY(const auto windows, ours(context.stores.with([](Store& store) { return store.windows(); })));
  ZKAPEX_TRY(const size_t limit, ours(longest_update_file(context.provider.deployment(), windows.size())));
  if (notice.file.bytes > limit) return too_large(notice.file.bytes, limit);
  return announcement_of(DeliveryKind::kUpdate);
}

ApiResult<Announcement> check_statement(const ApiContext& context, const SubmissionNotice& notice,
                                        ProofLimits& limits) {
  ZKAPEX_TRY(const auto window, ours(context.stores.with([&](Store& store) { return store.window(notice.window); })));
  if (!window || !window->index) return ApiFailure{ProblemKind::kNotFound, "there is no such window"};
  if (window->mask != notice.mask)
    return ApiFailure{ProblemKind::kMalformed, "the statement names another request than the window's"};
  ZKAPEX_TRY(const size_t limit, limits.of(context, *window));
  if (notice.file.bytes > limit) return too_large(notice.file.bytes, limit);
  return announcement_of(DeliveryKind::kSubmission, notice.window);
}

// Where an update or a submission starts must be where the client's model stands.
ApiResult<Done> check_start(const ApiContext& context, const std::string& client, const Digest& starts_from) {
  ZKAPEX_TRY(const auto info, ours(context.stores.with([&](Store& store) { return store.client(client); })));
  if (info && info->model && info->model->commitment != starts_from)
    return ApiFailure{ProblemKind::kModel, "this starts from another model than the client's current one"};
  return Done{};
}
template <class Notice>
ApiResult<Done> check_start_of(const ApiContext& context, const Notice& notice) {
  if constexpr (requires { notice.starts_from; }) {
    return check_start(context, notice.client, notice.starts_from);
  } else {
    return Done{};
  }
}

// A verdict ends what its client is asked for: the state after it comes along with what follows.
ApiResult<HttpResponse> ticket(const ApiContext& context, unsigned status, const DeliveryInfo& delivery) {
  const Announcement& announced = delivery.announced;
  UploadTicket out{announced.id, paths::upload(announced.id)};
  if (context.provider.notice().carried && !delivery.verdict) {
    ZKAPEX_TRY(const auto missing,
               ours(context.stores.with([&](Store& store) { return store.missing_state(announced); })));
    for (const BlobName& file : missing) out.state.push_back({file.sha256, file.bytes});
  }
  HttpResponse response;
  response.status = status;
  response.body = out.encode();
  return response;
}

template <class Notice>
ApiResult<HttpResponse> announce(const ApiContext& context, const HttpRequest& request, ProofLimits& limits) {
  ZKAPEX_TRY(const Envelope envelope, theirs(ProblemKind::kMalformed, Envelope::decode(request.body)));
  ZKAPEX_TRY(const auto signer, signer_of(context, envelope));
  ZKAPEX_CHECK(theirs(ProblemKind::kSignature, verify_envelope(envelope, signer.second)));
  ZKAPEX_TRY(const Notice notice, theirs(ProblemKind::kMalformed, Notice::decode(envelope.payload)));
  if (notice.client != signer.first)
    return ApiFailure{ProblemKind::kSignature, "the statement is signed by another client than it names"};
  if (notice.deployment != context.provider.notice().deployment)
    return ApiFailure{ProblemKind::kMalformed, "the statement is about another deployment"};
  // Told before, and taken: whatever has changed since, the answer has not.
  const Digest id = envelope.payload_digest();
  ZKAPEX_TRY(const auto known, ours(context.stores.with([&](Store& store) { return store.delivery(id); })));
  if (known) return ticket(context, 200, *known);
  ZKAPEX_TRY(Announcement announcement, check_statement(context, notice, limits));
  ZKAPEX_CHECK(check_start_of(context, notice));
  announcement.id = id;
  announcement.client = notice.client;
  announcement.signer = envelope.signatures.front().keyid;
  announcement.file = {notice.file.sha256, notice.file.bytes};
  const std::string entry = envelope.encode();
  announcement.entry.assign(entry.begin(), entry.end());
  ZKAPEX_TRY(const TakenDelivery taken,
             ours(context.stores.write([&](Store& store) { return store.announce(announcement, context.clock()); })));
  if (taken.refusal != Refusal::kNone) return failure_of(taken.refusal);
  return ticket(context, taken.known ? 200 : 201, taken.delivery);
}

}  // namespace

void add_api_delivery(Router& router, const ApiContext& context) {
  const auto limits = std::make_shared<ProofLimits>();
  const auto announcing = [&](std::string_view path, auto* handler) {
    router.post(std::string(path), kMaxStatementBytes, [context, limits, handler](const HttpRequest& request) {
      return answer(context, handler(context, request, *limits));
    });
  };
  announcing(paths::kRegistrations, &announce<RegistrationNotice>);
  announcing(paths::kUpdates, &announce<UpdateNotice>);
  announcing(paths::kSubmissions, &announce<SubmissionNotice>);
}

}  // namespace zkapex
