#include "parties/judge.h"

#include <algorithm>
#include <set>

#include "base/large_blocks.h"
#include "base/names.h"
#include "parties/memory_plan.h"

namespace zkapex {

namespace {

class Court {
 public:
  // `room`: bytes that sums may take before they are settled.
  Court(const Records& records, const Mask& mask, const WorkSettings& settings, uint64_t room)
      : records_(records), mask_(mask), settings_(settings), room_(room) {}

  Status hear(const Submission& submission) {
    Judgement& judgement = judgements_.emplace_back();
    const Result<ProofFile, Rejection> proof = read(submission, judgement);
    if (!proof) {
      judgement.rejection = proof.error();
      return Done{};
    }
    // Records that cannot be read are the provider's trouble, not the client's.
    ZKAPEX_TRY(const std::optional<ClientRecord> client, records_.find(proof->client));
    bool in_time = true;
    if (client) {
      ZKAPEX_TRY(in_time, records_.admitted_before(*client, mask_));
    }
    if (Verdict verdict = examine(*proof, client, in_time, judgement); !verdict) judgement.rejection = verdict.error();
    if (held_bytes_ > room_) return settle();
    return Done{};
  }

  Result<std::vector<Judgement>> finish() {
    ZKAPEX_CHECK(settle());
    refuse_second_windows();
    return std::move(judgements_);
  }

 private:
  static Result<ProofFile, Rejection> read(const Submission& submission, Judgement& judgement) {
    ZKAPEX_TRY(const Bytes bytes, submission());
    judgement.proof_bytes = bytes.size();
    judgement.proof = sha256(bytes);
    Result<ProofFile> file = ProofFile::decode(bytes);
    if (!file) return Rejection{Reason::kFile, file.error().message};
    judgement.client = file->client;
    return *std::move(file);
  }

  // Everything but the sum itself, which is kept.
  Verdict examine(const ProofFile& proof, const std::optional<ClientRecord>& client, bool in_time,
                  Judgement& judgement) {
    if (!client) {
      return Rejection{Reason::kRegistration,
                       fmt::format("no registration of client {} was admitted", in_quotes(proof.client))};
    }
    judgement.registration = client->registered.digest;
    judgement.start = client->current.digest();
    const Deployment& deployment = records_.deployment();
    ZKAPEX_TRY(CheckedWindow checked, check_window_file(deployment, *client, mask_, proof, *settings_.pool));
    if (!in_time) return Rejection{Reason::kOrder, "the client's model was admitted after this request was published"};
    judgement.next = std::move(checked.next);
    keep(std::move(checked.sum), judgement.proof_bytes);
    return Done{};
  }

  void keep(PointSum sum, size_t encoded_bytes) {
    // A decoded point with its coefficient, twice where sums are added up, and made ready for a multiplication.
    constexpr size_t kOfAPoint = 2 * (sizeof(Point) + sizeof(Scalar)) + sizeof(AffinePoint) + sizeof(TableEntry) + 40;
    const size_t points = encoded_bytes / sizeof(EncodedPoint) + curvature_rows(records_.deployment().layout());
    const size_t weights = sum.generators() / FoldedWeights::kBlock + FoldedWeights::kBlock;
    held_bytes_ += points * kOfAPoint + weights * sizeof(Scalar);
    owners_.push_back(judgements_.size() - 1);
    sums_.push_back(std::move(sum));
  }

  Status settle() {
    size_t count = 0;
    for (const PointSum& sum : sums_) count = std::max(count, sum.generators());
    if (!generators_ || generators_->size() < count) generators_ = load_generators(count, settings_);
    ZKAPEX_TRY(const std::vector<size_t> bad, find_false_var(sums_, *generators_, *settings_.pool));
    for (const size_t k : bad) {
      reject(judgements_[owners_[k]], {Reason::kEquation, "the proof does not hold"});
    }
    sums_.clear();
    owners_.clear();
    held_bytes_ = 0;
    return Done{};
  }

  static void reject(Judgement& judgement, Rejection rejection) {
    judgement.next.reset();
    judgement.rejection = std::move(rejection);
  }

  // Two accepted successors of one model would leave the client with two histories.
  void refuse_second_windows() {
    std::set<std::string> accepted;
    for (Judgement& judgement : judgements_) {
      if (!judgement.rejection && !accepted.insert(judgement.client).second)
        reject(judgement, {Reason::kWindow, "another proof of this client for this window was accepted before it"});
    }
  }

  const Records& records_;
  const Mask& mask_;
  const WorkSettings& settings_;
  const uint64_t room_;
  std::optional<Generators> generators_;
  std::vector<Judgement> judgements_;
  std::vector<PointSum> sums_;
  std::vector<size_t> owners_;  // which judgement a sum belongs to
  size_t held_bytes_ = 0;
};

}  // namespace

Result<std::vector<Judgement>> judge(const Records& records, const Mask& mask, std::span<const Submission> submissions,
                                     const WorkSettings& settings) {
  uint64_t room = WorkSettings::kUsualMemory;
  if (settings.memory) {
    ZKAPEX_TRY(const uint64_t alone, verifying_memory(records.deployment(), mask, settings));
    room = *settings.memory - std::min(*settings.memory, alone);
  }
  const LargeBlocksKept tables;  // those of one proof are as large as those of the next
  Court court(records, mask, settings, room);
  WorkProgress progress(settings, "verifying", "clients", submissions.size());
  for (const Submission& submission : submissions) {
    ZKAPEX_CHECK(court.hear(submission));
    ZKAPEX_CHECK(progress.advance());
  }
  return court.finish();
}

Status record(const Records& records, const Mask& mask, std::span<const Judgement> judgements) {
  for (const Judgement& judgement : judgements) {
    if (!judgement.next) continue;
    ZKAPEX_CHECK(records.advance(judgement.client, mask, *judgement.next));
  }
  return Done{};
}

}  // namespace zkapex
