// What is measured of a model: accuracies on what is forgotten and what is personal, membership, distance to exact
// unlearning.
#pragma once

#include "base/json.h"
#include "learning/dataset.h"
#include "learning/model.h"
#include "tables/report.h"

namespace zkapex {

// Opens sets of a split, each source once.
class OpenImages {
 public:
  explicit OpenImages(Splits splits) : splits_(std::move(splits)) {}

  [[nodiscard]] const Splits& splits() const { return splits_; }
  [[nodiscard]] Result<Samples> open(const std::string& set, const ModelConfig& config);

 private:
  Splits splits_;
  std::map<std::string, std::shared_ptr<const Dataset>> sources_;
};

// The sets that models are measured on.
struct MeasuredSets {
  Samples members;   // D_f: forgotten images that the provider trained on
  Samples held_out;  // photos like them (of the forgotten classes, if the request is by class) that nobody trained on
  Samples retained;  // other photos that nobody trained on, or the same where the request is not by class
  Samples personal;  // the client's held-out drawings
  int64_t member_limit = 0;  // of `members` so many are used; 0: all
  uint64_t seed = 0;

  // `measured_on` is "test" or "validation".
  [[nodiscard]] static Result<MeasuredSets> open(OpenImages& images, const ModelConfig& config,
                                                 const std::string& measured_on, int64_t member_limit, uint64_t seed);
  [[nodiscard]] BatchSource member_batches() const;
};

struct ModelFigures {
  double forget = 0, forget_members = 0, retained = 0, personal = 0;  // accuracies: held out, D_f, other, personal
  std::vector<double> member_losses, other_losses;
  nlohmann::ordered_json membership;
};
[[nodiscard]] Result<ModelFigures> measure_model(const Model& model, const MeasuredSets& sets);

// A_f and A_p: KL of the model's predictions from those of exact unlearning, on D_f and on personal data.
struct Alignments {
  double forget = 0, personal = 0;
};
[[nodiscard]] Result<Alignments> measure_alignments(const Model& model, const Model& exact, const MeasuredSets& sets);

// The columns of Drift::as_json under "drift".
[[nodiscard]] std::vector<TableColumn> drift_columns();

}  // namespace zkapex
