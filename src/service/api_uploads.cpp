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
  if (taken.refusal != Refusal::kNone) return failure_of(taken.refusal);
  if (!taken.delivery.receipt) return ApiFailure{ProblemKind::kInternal, "a received upload has no receipt"};
  return receipt_answer(*taken.delivery.receipt);
}

class Upload : public Reception {
 public:
  Upload(ApiContext context, Announcement announced, std::unique_ptr<BlobWriter> writer)
      : context_(std::move(context)), announced_(std::move(announced)), writer_(std::move(writer)) {}

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
    return record_upload(context_, announced_);
  }

  ApiContext context_;
  Announcement announced_;
  std::unique_ptr<BlobWriter> writer_;
  Status written_ = Done{};
};

// The same file again: its receipt is there, and nothing is written.
class Repetition : public Reception {
 public:
  explicit Repetition(Bytes receipt) : receipt_(std::move(receipt)) {}
  bool write(ByteView) override { return true; }
  HttpResponse finish() override { return receipt_answer(receipt_); }

 private:
  Bytes receipt_;
};

ApiResult<std::unique_ptr<Reception>> begin_upload(const ApiContext& context, const HttpRequest& request) {
  const auto id = digest_from_hex(request.parameters[0]);
  if (!id.ok()) return failure_of(Refusal::kNoDelivery);
  ZKAPEX_TRY(const auto delivery, ours(context.stores.with([&](Store& store) { return store.delivery(*id); })));
  if (!delivery) return failure_of(Refusal::kNoDelivery);
  const Announcement& announced = delivery->announced;
  if (request.content_length != announced.file.bytes)
    return ApiFailure{ProblemKind::kLength, fmt::format("{} bytes were announced", announced.file.bytes)};
  if (delivery->receipt) return std::unique_ptr<Reception>(std::make_unique<Repetition>(*delivery->receipt));
  ZKAPEX_TRY(std::unique_ptr<BlobWriter> writer, ours(context.provider.blobs().write(announced.file)));
  return std::unique_ptr<Reception>(std::make_unique<Upload>(context, announced, std::move(writer)));
}

}  // namespace

void add_api_uploads(Router& router, const ApiContext& context) {
  router.put(std::string(paths::kUploads) + "/{}",
             [context](const HttpRequest& request) -> Result<std::unique_ptr<Reception>, HttpResponse> {
               auto begun = begin_upload(context, request);
               if (begun.ok()) return std::move(*begun);
               return answer(context, begun.error());
             });
}

}  // namespace zkapex
