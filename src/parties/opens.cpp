#include "parties/opens.h"

#include "algebra/msm.h"
#include "attestation/inputs.h"
#include "parties/provider.h"
#include "parties/settle.h"

namespace zkapex {

namespace {

// A state of the client, and the first reason why the checkpoint is not its model.
struct Candidate {
  ClientSecret secret;
  std::optional<Attempt> attempt;  // none: the settled state
  std::string difference;
};

Result<std::vector<Candidate>> candidates_of(const ClientFolder& client, const Deployment& deployment) {
  std::vector<Candidate> out;
  ZKAPEX_CHECK(OpenSecret::open(client.secret(), deployment));
  ZKAPEX_TRY(ClientSecret settled, read_secret_header(client.secret()));
  out.push_back({std::move(settled), {}, {}});
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(client));
  for (const Attempt& attempt : attempts) {
    ZKAPEX_CHECK(OpenSecret::open(attempt.secret(), deployment));
    ZKAPEX_TRY(ClientSecret secret, read_secret_header(attempt.secret()));
    out.push_back({std::move(secret), attempt, {}});
  }
  return out;
}

class Comparison {
 public:
  Comparison(const Deployment& deployment, const Checkpoint& model, const std::vector<EncodedPoint>& unchanged,
             const Generators& generators, ThreadPool& pool)
      : deployment_(deployment),
        model_(model),
        unchanged_(unchanged),
        generators_(generators),
        pool_(pool),
        covered_(checkpoint_coordinates(deployment, model)) {}

  // Row t of tensor k without its blinding.
  Result<Point> commit(size_t k, uint64_t t) {
    const LayoutTensor& tensor = deployment_.layout().tensors()[k];
    row_.resize(deployment_.layout().geometry().row);
    if (tensor.covered) {
      ZKAPEX_CHECK(read_rows(deployment_.layout(), tensor.first_row + t, row_, covered_));
    } else {
      ZKAPEX_CHECK(read_uncovered_row(deployment_, tensor, model_.tensors()[k], t, row_));
    }
    return msm_small_var(row_, generators_.positions().first(row_.size()), pool_);
  }

  // Blinded as the candidate says, it is the candidate's commitment to that row.
  [[nodiscard]] bool opens(const ClientSecret& secret, const LayoutTensor& tensor, uint64_t t, Point row) const {
    const uint64_t index = tensor.first_row + t;
    const SecretVector<Scalar>& blindings = tensor.covered ? secret.model_blindings : secret.uncovered_blindings;
    const EncodedPoint& committed = tensor.covered ? secret.rows[index] : unchanged_[index];
    row += generators_.blinding_base().multiply_var({blindings.data() + index, 1}, pool_).front();
    return encode_batch(std::vector<Point>{row}, &pool_).front() == committed;
  }

 private:
  const Deployment& deployment_;
  const Checkpoint& model_;
  const std::vector<EncodedPoint>& unchanged_;
  const Generators& generators_;
  ThreadPool& pool_;
  CoordinateReader covered_;
  std::vector<int64_t> row_;
};

void note(std::vector<Candidate>& candidates, const std::string& difference) {
  for (Candidate& candidate : candidates) {
    if (candidate.difference.empty()) candidate.difference = difference;
  }
}

void compare(const Deployment& deployment, Comparison& comparison, std::vector<Candidate>& candidates,
             Progress& progress) {
  const std::vector<LayoutTensor>& tensors = deployment.layout().tensors();
  for (size_t k = 0; k < tensors.size(); ++k) {
    for (uint64_t t = 0; t < tensors[k].rows; ++t) {
      progress.advance();
      const Result<Point> row = comparison.commit(k, t);
      if (!row) note(candidates, row.error().message);
      for (Candidate& candidate : candidates) {
        if (candidate.difference.empty() && !comparison.opens(candidate.secret, tensors[k], t, *row))
          candidate.difference = fmt::format("tensor '{}' is not the committed one", tensors[k].name);
      }
    }
  }
}

}  // namespace

Result<OpensReport> what_it_opens(const Path& client, const Path& model_file, const WorkSettings& settings) {
  const ClientFolder folder{client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  ZKAPEX_CHECK(recover(folder));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(std::vector<Candidate> candidates, candidates_of(folder, deployment));
  ZKAPEX_TRY(const Registered registered, read_registered(folder, deployment, candidates.front().secret));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(model_file));
  const Layout& layout = deployment.layout();
  if (const Status fits = layout.check_tensors(model.tensors()); !fits) {
    note(candidates, fits.error().message);
  } else {
    const Generators generators = load_generators(layout.geometry().row, settings);
    Comparison comparison(deployment, model, registered.unchanged, generators, *settings.pool);
    Progress progress(settings.progress, "committing", "rows", layout.rows() + layout.unchanged_rows());
    compare(deployment, comparison, candidates, progress);
  }
  OpensReport report{
      candidates.front().difference.empty(), {}, candidates.front().secret.windows, candidates.front().difference};
  for (const Candidate& candidate : candidates) {
    if (candidate.attempt && candidate.difference.empty()) report.attempts.push_back(*candidate.attempt);
  }
  return report;
}

}  // namespace zkapex
