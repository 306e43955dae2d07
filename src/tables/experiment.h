// An experiment: a grid of cells (variant × seed), each computed alone and kept in a file, and a table and a picture
// made of all of them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "parties/work.h"
#include "tables/config.h"
#include "tables/report.h"

namespace zkapex {

// How a cell is worked on: nothing here may change its result, but `device`, by rounding, and `measured_on`.
struct CellWork {
  WorkSettings work;
  std::string device = "cpu";        // "cuda", for what libtorch does
  std::string measured_on = "test";  // or "validation": what settings are chosen on
  Path data;                         // folder of the images, or of the sources; empty: the experiment's default
  Path models;                       // trained models that cells and experiments share (model_cache.h)
  Path scratch;                      // empty folder of this cell alone; removed afterwards
};

class Experiment {
 public:
  virtual ~Experiment() = default;

  // Names of letters, digits, '.', '-', '+', '=' and '_', in the order of the table.
  [[nodiscard]] virtual std::vector<std::string> variants() const = 0;
  // One cell: named figures. Must depend on settings, variant and seed alone (but for times).
  [[nodiscard]] virtual Result<nlohmann::ordered_json> run(const std::string& variant, uint64_t seed,
                                                           const CellWork& work) const = 0;
  // What data, which model: sentences for the report.
  [[nodiscard]] virtual nlohmann::ordered_json describe() const = 0;
  // The table and the picture; `results` has every variant for every seed.
  [[nodiscard]] virtual ExperimentReport report(const Results& results, const nlohmann::json& paper) const = 0;
};

struct ExperimentKind {
  std::string_view name, about;
  // An error where the settings are not understood.
  std::function<Result<std::unique_ptr<Experiment>>(const nlohmann::json& settings)> make;
};

// All there are: in the order of the paper, then what goes beyond it.
[[nodiscard]] const std::vector<ExperimentKind>& experiment_kinds();

}  // namespace zkapex
