// The paper's edge table: what a window costs for one transformer block, by the size of Fisher blocks and the part of
// the weights that is masked. Times, memory and bytes do not depend on what the weights are, so they are made up.
#include "experiments/kinds.h"
#include "experiments/own_process.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class Edge final : public Experiment {
 public:
  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    auto out = std::make_unique<Edge>();
    ConfigReader reader(settings, "settings");
    reader.read("shape", out->shape_)
        .read("layers", out->layers_)
        .read("blocks", out->blocks_)
        .read("percents", out->percents_)
        .read("threads", out->threads_)
        .read_if_there("row_length", out->row_length_)
        .read_if_there("memory", out->memory_)
        .require(!out->blocks_.empty(), "blocks", "must not be empty")
        .require(!out->percents_.empty(), "percents", "must not be empty");
    ZKAPEX_CHECK(reader.finish());
    return std::unique_ptr<Experiment>(std::move(out));
  }

  [[nodiscard]] std::vector<std::string> variants() const override {
    std::vector<std::string> out;
    for (const uint64_t block : blocks_) {
      for (const uint64_t percent : percents_) out.push_back(name(block, percent));
    }
    return out;
  }

  [[nodiscard]] Result<ordered_json> run(const std::string& variant, uint64_t seed,
                                         const CellWork& work) const override {
    for (const uint64_t block : blocks_) {
      for (const uint64_t percent : percents_) {
        if (name(block, percent) != variant) continue;
        std::vector<std::string> arguments = {"window",
                                              "--shape",
                                              shape_,
                                              "--layers",
                                              std::to_string(layers_),
                                              "--block",
                                              std::to_string(block),
                                              "--ratio",
                                              fmt::format("{}", static_cast<double>(percent) / 100),
                                              "--seed",
                                              std::to_string(seed),
                                              "--row-length",
                                              std::to_string(row_length_),
                                              "--threads",
                                              std::to_string(threads_),
                                              "--work",
                                              work.scratch.string(),
                                              "--quiet"};
        if (!memory_.empty()) arguments.insert(arguments.end(), {"--memory", memory_});
        return bench_in_own_process(arguments);
      }
    }
    return error("there is no variant '{}'", variant);
  }

  [[nodiscard]] ordered_json describe() const override {
    return {{"data", "weights, curvature (rank 64 plus damping) and mask made up from the seed"},
            {"model", fmt::format("{} transformer block(s) of {}: both matrices of the MLP", layers_, shape_)},
            {"measured",
             fmt::format("`zkapex bench window{}` with {} threads, each cell in a process of its own; memory is the "
                         "process's peak from the end of the registration to the end of the verification",
                         memory_.empty() ? "" : " --memory " + memory_, threads_)}};
  }

  [[nodiscard]] ExperimentReport report(const Results& results, const json& paper) const override {
    const std::vector<TableColumn> columns = {
        {"prove_s", "proving", Unit::kSeconds},
        {"peak_rss_bytes", "prover's memory", Unit::kMegabytes},
        {"proof_bytes", "proof", Unit::kMegabytes},
        {"verify_s", "verifying", Unit::kSeconds},
        {"apply_s", "unlearning", Unit::kSeconds},
        {"commit_curvature_s", "committing to the curvature, once", Unit::kSeconds},
        {"measured_error", "distance from the exact operator", Unit::kScientific}};
    std::vector<TableRow> rows;
    for (const uint64_t block : blocks_) {
      for (const uint64_t percent : percents_)
        rows.push_back({name(block, percent), fmt::format("B = {}, {} %", block, percent)});
    }
    ExperimentReport out;
    out.title = "Edge: one transformer block, by block size and mask";
    out.markdown = markdown_table(results, columns, rows, paper);
    out.table = table_as_json(results, columns, rows, paper);
    out.chart.title = "What a window of one transformer block costs";
    out.chart.panels = {bars(results, "proving", "seconds", "prove_s", 1),
                        bars(results, "prover's memory", "MB", "peak_rss_bytes", 1e-6),
                        bars(results, "proof", "kB", "proof_bytes", 1e-3)};
    return out;
  }

 private:
  static std::string name(uint64_t block, uint64_t percent) { return fmt::format("B={}-k={}", block, percent); }

  [[nodiscard]] Panel bars(const Results& results, const std::string& title, const std::string& unit,
                           const std::string& key, double factor) const {
    Panel out{.title = title, .y_title = unit};
    for (const uint64_t percent : percents_) out.groups.push_back(fmt::format("{} % masked", percent));
    for (const uint64_t block : blocks_) {
      Series series{.name = fmt::format("B = {}", block)};
      for (size_t k = 0; k < percents_.size(); ++k) {
        const auto found = results.spread_of(name(block, percents_[k]), key);
        if (found) series.points.push_back({static_cast<double>(k), factor * found->mean, factor * found->deviation});
      }
      out.series.push_back(std::move(series));
    }
    return out;
  }

  std::string shape_;
  unsigned layers_ = 1, threads_ = 2;
  uint64_t row_length_ = 0;  // 0: what the bench chooses
  std::string memory_ = {};  // --memory of the bench; what is usual otherwise
  std::vector<uint64_t> blocks_, percents_;
};

}  // namespace

ExperimentKind edge_experiment() {
  return {"edge", "What a window of one transformer block costs, by block size and mask", Edge::make};
}

}  // namespace zkapex
