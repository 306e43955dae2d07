#include "parties/judge.h"

#include <algorithm>
#include <set>

#include "base/names.h"

namespace zkapex {

namespace {

class Court {
 public:
  Court(const Ledger& ledger, const Mask& mask, const WorkSettings& settings)
      : ledger_(ledger), mask_(mask), settings_(settings) {}

  Status hear(const Submission& submission) {
    Judgement& judgement = judgements_.emplace_back();
    const Result<ProofFile, Rejection> proof = read(submission, judgement);
    if (!proof) {
      judgement.rejection = proof.error();
      return Done{};
    }
    // A ledger that cannot be read is the provider's trouble, not the client's.
    ZKAPEX_TRY(const std::optional<ClientRecord> client, ledger_.find(proof->client));
    if (Verdict verdict = examine(*proof, client, judgement); !verdict) judgement.rejection = verdict.error();
    if (held_bytes_ > settings_.memory) return settle();
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
  Verdict examine(const ProofFile& proof, const std::optional<ClientRecord>& client, Judgement& judgement) {
    if (!client) {
      return Rejection{Reason::kRegistration,
                       fmt::format("no registration of client {} was admitted", in_quotes(proof.client))};
    }
    judgement.registration = client->registered.digest;
    judgement.start = client->current.digest();
    const Deployment& deployment = ledger_.deployment();
    ZKAPEX_TRY(CheckedWindow checked, check_window_file(deployment, *client, mask_, proof, *settings_.pool));
    judgement.next = std::move(checked.next);
    keep(std::move(checked.sum), judgement.proof_bytes);
    return Done{};
  }

  void keep(PointSum sum, size_t encoded_bytes) {
    constexpr size_t kScalarBytes = 32, kGrowth = 7;  // a decoded point with its coefficient against an encoded one
    held_bytes_ += sum.generators() * kScalarBytes + encoded_bytes * kGrowth;
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

  const Ledger& ledger_;
  const Mask& mask_;
  const WorkSettings& settings_;
  std::optional<Generators> generators_;
  std::vector<Judgement> judgements_;
  std::vector<PointSum> sums_;
  std::vector<size_t> owners_;  // which judgement a sum belongs to
  size_t held_bytes_ = 0;
};

}  // namespace

Result<std::vector<Judgement>> judge(const Ledger& ledger, const Mask& mask, std::span<const Submission> submissions,
                                     const WorkSettings& settings) {
  Court court(ledger, mask, settings);
  Progress progress(settings.progress, "verifying", "clients", submissions.size());
  for (const Submission& submission : submissions) {
    ZKAPEX_CHECK(court.hear(submission));
    progress.advance();
  }
  return court.finish();
}

Status record(const Ledger& ledger, const Mask& mask, std::span<const Judgement> judgements) {
  for (const Judgement& judgement : judgements) {
    if (!judgement.next) continue;
    ZKAPEX_CHECK(ledger.advance(judgement.client, mask, *judgement.next));
  }
  return Done{};
}

}  // namespace zkapex
