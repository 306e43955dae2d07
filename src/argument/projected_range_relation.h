// The second worked relation (docs/argument.md, section 14): "these committed integers are below 2^e in size". The
// integers are committed as they are, row by row, and their range is proved by projection.
#pragma once

#include "argument/projection.h"
#include "argument/relation.h"

namespace zkapex {

struct ProjectedRangeStatement {
  std::string context;  // what the proof is for; a proof for another context does not verify
  ProjectionShape projection;

  [[nodiscard]] ProofShape shape() const;
};

class ProjectedRangeRelation : public Relation {
 public:
  explicit ProjectedRangeRelation(ProjectedRangeStatement statement) : statement_(std::move(statement)) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex projected range 1"; }
  [[nodiscard]] Verdict sound() const override { return statement_.projection.sound(); }
  [[nodiscard]] ProofShape shape() const override { return statement_.shape(); }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  ProjectedRangeStatement statement_;
};

// `values` are whole rows. A value of more than 2^(e−1) / m is an error.
[[nodiscard]] Result<Proof> prove_projected_range(const ProjectedRangeStatement& statement,
                                                  std::span<const int64_t> values, const Generators& generators,
                                                  ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
