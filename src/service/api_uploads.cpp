// Files that were announced: exactly that many bytes, with exactly that digest, on disk before they are receipted.
#include "exchange/paths.h"
#include "log/strict_json.h"
#include "service/api.h"

namespace zkapex {

namespace {

StatementKind kind_of_statement(DeliveryKind kind) {
  switch (kind) {
    case DeliveryKind::kRegistration:
      return StatementKind::kRegistration;
    case DeliveryKind::kUpdate:
      return StatementKind::kUpdate;
    case DeliveryKind::kSubmission:
      return StatementKind::kSubmission;
  }
  return StatementKind::kSubmission;
}

HttpResponse receipt_answer(const Bytes& receipt) {
  HttpResponse response;
  response.status = 202;
  response.body = text_of(receipt);
  return response;
}

ApiResult<HttpResponse> record_upload(const ApiContext& context, const Announcement& announced) {
  const UnixTime now = context.clock();
  const UploadNotice notice{
      .of = kind_of_statement(announced.kind),
      .id = announced.id,
      .file = {announced.file.sha256, announced.file.bytes},
      .client = announced.client,
      .deployment = context.provider.notice().deployment,
      .received = now,
      .verdict_due = now + static_cast<UnixTime>(context.provider.notice().verdict_seconds),
  };
  ZKAPEX_TRY(const Envelope envelope, ours(sign_envelope(notice.encode(), context.provider.statement_key())));
  const std::string receipt = envelope.encode();
  ZKAPEX_TRY(const TakenDelivery taken, ours(context.stores.write([&](Store& store) {
               return store.receive(announced.id, Bytes(receipt.begin(), receipt.end()), now);
             })));
  if (taken.refusal == Refusal::kNoDelivery) {  // forgotten while its file came
    ZKAPEX_CHECK(ours(context.stores.write(
        [&](Store& store) { return store.let_go(announced.file, announced.client, context.clock()); })));
  }
  if (taken.refusal != Refusal::kNone) return failure_of(taken.refusal);
  if (!taken.delivery.receipt) return ApiFailure{ProblemKind::kInternal, "a received upload has no receipt"};
  return receipt_answer(*taken.delivery.receipt);
}

// What is to be done once the file is on disk under its name.
using OnceHere = std::function<ApiResult<HttpResponse>()>;

class Upload : public Reception {
 public:
  Upload(ApiContext context, std::unique_ptr<BlobWriter> writer, OnceHere once_here)
      : context_(std::move(context)), writer_(std::move(writer)), once_here_(std::move(once_here)) {}

  bool write(ByteView piece) override {
    written_ = writer_->write(piece);
    return written_.ok();
  }
  HttpResponse finish() override { return answer(context_, finished()); }

 private:
  ApiResult<HttpResponse> finished() {
    ZKAPEX_CHECK(ours(written_));
    ZKAPEX_TRY(const bool kept, ours(writer_->finish()));
    if (!kept) return ApiFailure{ProblemKind::kDigest, "this is not the file that was announced"};
    return once_here_();
  }

  ApiContext context_;
  std::unique_ptr<BlobWriter> writer_;
  OnceHere once_here_;
  Status written_ = Done{};
};

// The same file again: its answer is there, and nothing is written.
class Repetition : public Reception {
 public:
  explicit Repetition(HttpResponse answer) : answer_(std::move(answer)) {}
  bool write(ByteView) override { return true; }
  HttpResponse finish() override { return answer_; }

 private:
  HttpResponse answer_;
};

ApiFailure other_length(uint64_t expected) {
  return {ProblemKind::kLength, fmt::format("{} bytes were announced", expected)};
}

ApiResult<std::unique_ptr<Reception>> begin_upload(const ApiContext& context, const HttpRequest& request) {
  const auto id = digest_from_hex(request.parameters[0]);
  if (!id.ok()) return failure_of(Refusal::kNoDelivery);
  ZKAPEX_TRY(const auto delivery, ours(context.stores.with([&](Store& store) { return store.delivery(*id); })));
  if (!delivery) return failure_of(Refusal::kNoDelivery);
  const Announcement& announced = delivery->announced;
  if (request.content_length != announced.file.bytes) return other_length(announced.file.bytes);
  if (delivery->receipt)
    return std::unique_ptr<Reception>(std::make_unique<Repetition>(receipt_answer(*delivery->receipt)));
  if (context.provider.notice().carried) {
    ZKAPEX_TRY(const auto missing,
               ours(context.stores.with([&](Store& store) { return store.missing_state(announced); })));
    if (!missing.empty()) return failure_of(Refusal::kNoState);
  }
  ZKAPEX_TRY(std::unique_ptr<BlobWriter> writer, ours(context.provider.blobs().write(announced.file)));
  return std::unique_ptr<Reception>(std::make_unique<Upload>(
      context, std::move(writer), [context, announced] { return record_upload(context, announced); }));
}

HttpResponse state_is_here() {
  HttpResponse response;
  response.body = "{}";
  return response;
}

ApiResult<HttpResponse> record_state(const ApiContext& context, const TakenState& taken) {
  ZKAPEX_TRY(const Refusal refusal, ours(context.stores.write([&](Store& store) {
               return store.receive_state(taken.client, taken.file, context.clock());
             })));
  if (refusal != Refusal::kNone) return failure_of(refusal);
  return state_is_here();
}

// What the client carries of its own state, as far as the provider has accepted it: by the digest in the records.
ApiResult<std::unique_ptr<Reception>> begin_state(const ApiContext& context, const HttpRequest& request) {
  const auto id = digest_from_hex(request.parameters[0]), file = digest_from_hex(request.parameters[1]);
  if (!id.ok() || !file.ok()) return failure_of(Refusal::kNoDelivery);
  ZKAPEX_TRY(const TakenState taken, ours(context.stores.write([&](Store& store) {
               return store.expect_state(*id, {*file, request.content_length.value_or(0)}, context.clock());
             })));
  if (taken.refusal != Refusal::kNone) return failure_of(taken.refusal);
  if (request.content_length != taken.file.bytes) return other_length(taken.file.bytes);
  if (taken.here) return std::unique_ptr<Reception>(std::make_unique<Repetition>(state_is_here()));
  ZKAPEX_TRY(std::unique_ptr<BlobWriter> writer, ours(context.provider.blobs().write(taken.file)));
  return std::unique_ptr<Reception>(
      std::make_unique<Upload>(context, std::move(writer), [context, taken] { return record_state(context, taken); }));
}

}  // namespace

void add_api_uploads(Router& router, const ApiContext& context) {
  const auto taking = [&](const std::string& pattern, auto* begin) {
    router.put(pattern,
               [context, begin](const HttpRequest& request) -> Result<std::unique_ptr<Reception>, HttpResponse> {
                 auto begun = begin(context, request);
                 if (begun.ok()) return std::move(*begun);
                 return answer(context, begun.error());
               });
  };
  taking(std::string(paths::kUploads) + "/{}", begin_upload);
  taking(std::string(paths::kUploads) + "/{}/state/{}", begin_state);
}

}  // namespace zkapex
