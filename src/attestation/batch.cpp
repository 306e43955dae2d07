#include "attestation/batch.h"

#include <algorithm>
#include <map>

#include "attestation/inputs.h"

namespace zkapex {

namespace {

template <class File>
Result<File, Rejection> read_submitted(const Path& path, size_t& bytes) {
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  bytes = unknown ? 0 : size;
  Result<File> file = read_public_file<File>(path);
  if (!file) return Rejection{Reason::kFile, file.error().message};
  return *std::move(file);
}

// Which judgement a sum belongs to, and what it is about.
struct SumOwner {
  size_t judgement;
  std::string_view part;
};

class Bench {
 public:
  Bench(const Deployment& deployment, const Mask& mask, const JudgeOptions& options, const WorkSettings& settings)
      : deployment_(deployment), mask_(mask), options_(options), settings_(settings) {}

  Status hear(const Submission& submission) {
    Judgement& judgement = judgements_.emplace_back();
    if (Verdict verdict = examine(submission, judgement); !verdict) judgement.rejection = verdict.error();
    if (held_bytes_ > settings_.memory) return settle();
    return Done{};
  }

  Result<std::vector<Judgement>> finish() {
    ZKAPEX_CHECK(settle());
    refuse_repeated_clients();
    return std::move(judgements_);
  }

 private:
  // Everything but the sums themselves, which are kept.
  Verdict examine(const Submission& submission, Judgement& judgement) {
    ThreadPool& pool = *settings_.pool;
    ZKAPEX_TRY(const auto registration,
               read_submitted<RegistrationFile>(submission.registration, judgement.registration_bytes));
    judgement.client = registration.client;
    judgement.certificate = registration.certificate;
    ZKAPEX_TRY(const auto proof, read_submitted<ProofFile>(submission.proof, judgement.proof_bytes));
    judgement.op = proof.op;
    if (proof.op != options_.op) {
      return Rejection{Reason::kOperator,
                       fmt::format("the client applied {}, {} is due", name(proof.op), name(options_.op))};
    }
    if (options_.require_certificate && !registration.certificate) {
      return Rejection{Reason::kCertificate, "the registration does not prove its curvature's range"};
    }
    ZKAPEX_TRY(const Registered registered, assume_registration(deployment_, registration, pool));
    judgement.registration = registered.digest;
    ModelCommitment current = registered.model;
    if (!submission.commitment.empty()) {
      size_t ignored = 0;
      ZKAPEX_TRY(current, read_submitted<ModelCommitment>(submission.commitment, ignored));
    }
    ZKAPEX_TRY(PointSum window, check_window_file(deployment_, registered, current, mask_, proof, pool));
    if (!options_.assume_registered) {
      ZKAPEX_TRY(PointSum range, check_registration_file(deployment_, registration, pool));
      keep(std::move(range), "registration", judgement.registration_bytes);
    }
    if (options_.want_next) {
      ZKAPEX_TRY(judgement.next, next_model(deployment_, current, mask_, proof, pool));
    }
    keep(std::move(window), "window", judgement.proof_bytes);
    return Done{};
  }

  void keep(PointSum sum, std::string_view part, size_t encoded_bytes) {
    constexpr size_t kScalarBytes = 32, kGrowth = 7;  // a decoded point with its coefficient against an encoded one
    held_bytes_ += sum.generators() * kScalarBytes + encoded_bytes * kGrowth;
    owners_.push_back({judgements_.size() - 1, part});
    sums_.push_back(std::move(sum));
  }

  Status settle() {
    size_t count = 0;
    for (const PointSum& sum : sums_) count = std::max(count, sum.generators());
    if (!generators_ || generators_->size() < count) generators_ = load_generators(count, settings_);
    ZKAPEX_TRY(const std::vector<size_t> bad, find_false_var(sums_, *generators_, *settings_.pool));
    for (const size_t k : bad) {
      Judgement& judgement = judgements_[owners_[k].judgement];
      if (judgement.rejection) continue;
      judgement.next.reset();
      judgement.rejection =
          Rejection{Reason::kEquation, fmt::format("the proof of the {} does not hold", owners_[k].part)};
    }
    sums_.clear();
    owners_.clear();
    held_bytes_ = 0;
    return Done{};
  }

  // Two accepted successors of one model would leave the client with two histories.
  void refuse_repeated_clients() {
    std::map<std::string, std::vector<Judgement*>> accepted;
    for (Judgement& judgement : judgements_) {
      if (!judgement.rejection) accepted[judgement.client].push_back(&judgement);
    }
    for (const auto& entry : accepted) {
      const std::vector<Judgement*>& all = entry.second;
      const bool one_registration =
          std::ranges::all_of(all, [&](const Judgement* j) { return j->registration == all[0]->registration; });
      for (size_t k = one_registration ? 1 : 0; all.size() > 1 && k < all.size(); ++k) {
        all[k]->next.reset();
        all[k]->rejection =
            Rejection{Reason::kClient,
                      fmt::format("{} submissions are in the name of client '{}'{}", all.size(), entry.first,
                                  one_registration ? "; the first was accepted" : ", under different registrations")};
      }
    }
  }

  const Deployment& deployment_;
  const Mask& mask_;
  const JudgeOptions& options_;
  const WorkSettings& settings_;
  std::optional<Generators> generators_;
  std::vector<Judgement> judgements_;
  std::vector<PointSum> sums_;
  std::vector<SumOwner> owners_;
  size_t held_bytes_ = 0;
};

}  // namespace

Result<std::vector<Judgement>> judge(const Deployment& deployment, const Mask& mask,
                                     std::span<const Submission> submissions, const JudgeOptions& options,
                                     const WorkSettings& settings) {
  Bench bench(deployment, mask, options, settings);
  Progress progress(settings.progress, "verifying", "clients", submissions.size());
  for (const Submission& submission : submissions) {
    ZKAPEX_CHECK(bench.hear(submission));
    progress.advance();
  }
  return bench.finish();
}

}  // namespace zkapex
