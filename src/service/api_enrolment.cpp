// Clients: enrolment by a code, and new keys.
#include "exchange/paths.h"
#include "service/api.h"

namespace zkapex {

namespace {

constexpr uint64_t kMaxEnrolmentBytes = 65'536;

ApiResult<PublicKey> key_before(const ApiContext& context, const ClientNotice& notice) {
  ZKAPEX_TRY(const auto record, ours(context.stores.with([&](Store& store) { return store.key(notice.replaces); })));
  if (!record || record->client != notice.client)
    return ApiFailure{ProblemKind::kClient, "the key that is to be replaced is not one of this client's"};
  return ours(PublicKey::from_spki(record->key.key));
}

ApiResult<ClientNotice> checked_notice(const ApiContext& context, const Envelope& envelope) {
  ZKAPEX_TRY(const ClientNotice claimed, theirs(ProblemKind::kMalformed, ClientNotice::decode(envelope.payload)));
  if (claimed.deployment != context.provider.notice().deployment)
    return ApiFailure{ProblemKind::kMalformed, "the statement is about another deployment"};
  if (claimed.rotation == 0) return theirs(ProblemKind::kSignature, open_client_statement(envelope, nullptr));
  ZKAPEX_TRY(const PublicKey before, key_before(context, claimed));
  return theirs(ProblemKind::kSignature, open_client_statement(envelope, &before));
}

ApiResult<HttpResponse> post_client(const ApiContext& context, const HttpRequest& request) {
  ZKAPEX_TRY(EnrolmentRequest enrolment, theirs(ProblemKind::kMalformed, EnrolmentRequest::decode(request.body)));
  ZKAPEX_TRY(const ClientNotice notice, checked_notice(context, enrolment.client));
  Envelope signed_by_both = std::move(enrolment.client);
  ZKAPEX_CHECK(ours(add_signature(signed_by_both, context.provider.statement_key())));
  const std::string text = signed_by_both.encode();
  // With one signature more it must still be an entry: one that is not would stop the log, or fail every audit.
  ZKAPEX_CHECK(theirs(ProblemKind::kTooLarge, Envelope::decode(text)));
  const Bytes entry(text.begin(), text.end());
  const ClientKey key{notice.key.id(), std::string(name(notice.key.algorithm())), notice.key.spki()};
  const UnixTime now = context.clock();
  ZKAPEX_TRY(const TakenKey taken, ours(context.stores.write([&](Store& store) {
               return notice.rotation == 0
                          ? store.enrol(code_digest(enrolment.code), notice.client, key, entry, now)
                          : store.rotate_key(notice.client, notice.replaces, notice.rotation, key, entry, now);
             })));
  if (taken.refusal != Refusal::kNone) return failure_of(taken.refusal);
  HttpResponse response;
  response.status = taken.known ? 200 : 201;
  // What is in the log, or will be: nothing else that says who has which key leaves with the provider's signature.
  ZKAPEX_TRY(Envelope logged, ours(Envelope::decode(text_of(taken.entry))));
  response.body = EnrolmentAnswer{std::move(logged)}.encode();
  return response;
}

}  // namespace

void add_api_enrolment(Router& router, const ApiContext& context) {
  router.post(std::string(paths::kClients), kMaxEnrolmentBytes,
              [context](const HttpRequest& request) { return answer(context, post_client(context, request)); });
}

}  // namespace zkapex
