// What it would cost to prove training, instead of the operator, with the same argument: measured on one layer, scaled
// by counts that are written out.
#include <cmath>

#include "experiments/kinds.h"
#include "experiments/own_process.h"
#include "experiments/training_counts.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct LayerShape {
  unsigned inputs = 768, outputs = 3072, tile = 256, bits = 16, shift = 12;
};
struct TrainingPlan {
  double forget_samples = 0, retain_samples = 0, scrub_retain_samples = 0, batch = 0, retrain_epochs = 0;
};

// One way to unlearn by training: how many entries of products its proof is about.
struct Counted {
  std::string key, title, counts;
  double entries = 0;
};

class BaselineCost final : public Experiment {
 public:
  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    auto out = std::make_unique<BaselineCost>();
    ConfigReader reader(settings, "settings");
    reader.read("rows", out->rows_).read("threads", out->threads_);
    reader.part("layer", [&](const json& part, const std::string& where) {
      LayerShape& l = out->layer_;
      ConfigReader inner(part, where);
      inner.read("inputs", l.inputs).read("outputs", l.outputs).read("tile", l.tile).read("bits", l.bits);
      return inner.read("shift", l.shift).finish();
    });
    reader.part("training", [&](const json& part, const std::string& where) {
      TrainingPlan& t = out->training_;
      ConfigReader inner(part, where);
      inner.read("forget_samples", t.forget_samples).read("retain_samples", t.retain_samples);
      inner.read("scrub_retain_samples", t.scrub_retain_samples).read("batch", t.batch);
      inner.read("retrain_epochs", t.retrain_epochs);
      return inner.require(t.batch >= 1, "batch", "must be at least 1").finish();
    });
    reader.part("window", [&](const json& part, const std::string& where) {
      ConfigReader inner(part, where);
      inner.read("shape", out->window_shape_).read("layers", out->window_layers_);
      return inner.read("block", out->window_block_).read("row_length", out->window_row_length_).finish();
    });
    reader.require(!out->rows_.empty(), "rows", "must not be empty");
    ZKAPEX_CHECK(reader.finish());
    return std::unique_ptr<Experiment>(std::move(out));
  }

  [[nodiscard]] std::vector<std::string> variants() const override {
    std::vector<std::string> out;
    for (const uint64_t rows : rows_) out.push_back(name(rows));
    out.emplace_back(kWindow);
    return out;
  }

  [[nodiscard]] Result<ordered_json> run(const std::string& variant, uint64_t seed,
                                         const CellWork& work) const override {
    const auto text = [](uint64_t v) { return std::to_string(v); };
    if (variant == kWindow) {
      return bench_in_own_process({"window", "--shape", window_shape_, "--layers", text(window_layers_), "--block",
                                   text(window_block_), "--row-length", text(window_row_length_), "--seed", text(seed),
                                   "--threads", text(threads_), "--work", work.scratch.string(), "--quiet"});
    }
    for (const uint64_t rows : rows_) {
      if (name(rows) != variant) continue;
      return bench_in_own_process({"layer", "--tokens", text(rows), "--inputs", text(layer_.inputs), "--outputs",
                                   text(layer_.outputs), "--tile", text(layer_.tile), "--bits", text(layer_.bits),
                                   "--shift", text(layer_.shift), "--seed", text(seed), "--threads", text(threads_)});
    }
    return error("there is no variant '{}'", variant);
  }

  [[nodiscard]] ordered_json describe() const override {
    return {{"measured",
             fmt::format("`zkapex bench layer`: a layer of {} inputs and {} outputs, results of {} bits, {} bits "
                         "rounded away; {} threads, each cell in a process of its own",
                         layer_.inputs, layer_.outputs, layer_.bits, layer_.shift, threads_)},
            {"model", "ViT-B/16, images of 224 × 224, 1000 classes"},
            {"window", fmt::format("`zkapex bench window --shape {} --layers {}`, times {} for all 12 blocks",
                                   window_shape_, window_layers_, 12.0 / static_cast<double>(window_layers_))}};
  }

  [[nodiscard]] ExperimentReport report(const Results& results, const json& paper) const override {
    ExperimentReport out;
    out.title = "What proving GA, SCRUB or retraining would cost (an estimate)";
    out.markdown = measured_table(results) + counts_table() + estimates(results, paper, out);
    return out;
  }

 private:
  static constexpr const char* kWindow = "window";
  static std::string name(uint64_t rows) { return fmt::format("rows={}", rows); }
  [[nodiscard]] std::string largest() const { return name(rows_.back()); }

  [[nodiscard]] std::string measured_table(const Results& results) const {
    std::vector<TableRow> rows;
    for (const uint64_t count : rows_) rows.push_back({name(count), fmt::format("{} rows (samples × tokens)", count)});
    return "## Measured: the products of one layer, forward and backward\n\n" +
           markdown_table(results,
                          {{"result_entries", "entries of Y, ∂X, ∂W", Unit::kScientific},
                           {"prove_s", "proving", Unit::kSeconds},
                           {"peak_rss_bytes", "prover's memory", Unit::kMegabytes},
                           {"proof_bytes", "proof", Unit::kKilobytes},
                           {"verify_s", "verifying", Unit::kSeconds}},
                          rows, json::object()) +
           "\n";
  }

  [[nodiscard]] std::vector<Counted> methods() const {
    const ProductEntries e = product_entries({});
    const TrainingPlan& t = training_;
    const auto steps = [&](double samples) { return std::ceil(samples / t.batch); };
    const auto training = [&](double samples) { return e.training(samples, steps(samples)); };
    const double teacher = static_cast<double>(e.forward) * (t.forget_samples + t.scrub_retain_samples);
    return {
        {"step", fmt::format("one step, {:.0f} samples", t.batch),
         "batch samples forward and backward, one gradient of all weights", e.training(t.batch, 1)},
        {"ga", "GA, one epoch",
         fmt::format("{:.0f} samples of D_f, {:.0f} steps", t.forget_samples, steps(t.forget_samples)),
         training(t.forget_samples)},
        {"scrub", "SCRUB, one epoch",
         fmt::format("{:.0f} samples of D_f and {:.0f} of D_r, {:.0f} steps; the teacher's forward pass on all of them",
                     t.forget_samples, t.scrub_retain_samples, steps(t.forget_samples) + steps(t.scrub_retain_samples)),
         training(t.forget_samples) + training(t.scrub_retain_samples) + teacher},
        {"exact", fmt::format("retraining, {:.0f} epoch", t.retrain_epochs),
         fmt::format("{:.0f} samples of D_r, {:.0f} times, {:.0f} steps", t.retain_samples, t.retrain_epochs,
                     t.retrain_epochs * steps(t.retain_samples)),
         t.retrain_epochs * training(t.retain_samples)}};
  }

  [[nodiscard]] std::string counts_table() const {
    const ProductEntries e = product_entries({});
    std::string out = fmt::format(
        "## Counts\n\nEntries of matrix products in ViT-B/16: {} forward and {} backward for a sample (197 tokens; per "
        "block four "
        "maps 768 → 768, 768 → 3072 and 3072 → 768, scores and values of 12 heads; patches, classifier), {} gradients "
        "by weights "
        "for a step.\n\n| | counted | entries |\n| --- | --- | ---: |\n",
        e.forward, e.backward, e.weights);
    for (const Counted& m : methods()) out += fmt::format("| {} | {} | {:.2e} |\n", m.title, m.counts, m.entries);
    return out + "\n";
  }

  // A figure of the largest measurement, per entry.
  [[nodiscard]] double per_entry(const Results& results, const std::string& key) const {
    const auto value = results.spread_of(largest(), key), entries = results.spread_of(largest(), "result_entries");
    return value && entries ? value->mean / entries->mean : 0;
  }

  [[nodiscard]] std::string estimates(const Results& results, const json& paper, ExperimentReport& report) const {
    const auto theirs = [&](const std::string& row, const std::string& column) -> std::string {
      if (!paper.contains(row) || !paper[row].contains(column)) return "–";
      return paper[row][column].is_string() ? paper[row][column].get<std::string>() : paper[row][column].dump();
    };
    const auto mean = [&](const std::string& variant, const std::string& key) {
      const auto found = results.spread_of(variant, key);
      return found ? found->mean : 0;
    };
    const double blocks = 12.0 / static_cast<double>(window_layers_), window = blocks * mean(kWindow, "prove_s");
    std::string out =
        "## Estimated: measured cost per entry times counts\n\n| | proving (h) | paper (h) | times our window | proof "
        "(MB) | paper (MB) | "
        "verifying (min) | paper (min) |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    Series ours{.name = "this argument"}, paper_series{.name = "paper (Halo2)", .points = {}, .dashed = true};
    Panel panel{.title = "proving", .y_title = "hours", .log_y = true};
    const auto row = [&](const std::string& key, const std::string& title, double seconds, double bytes,
                         double verify) {
      out += fmt::format("| {} | {:.3g} | {} | {:.3g} | {:.3g} | {} | {:.3g} | {} |\n", title, seconds / 3600,
                         theirs(key, "proving_h"), seconds / window, bytes / 1e6, theirs(key, "proof_mb"), verify / 60,
                         theirs(key, "verifying_min"));
      report.table[key] = {{"proving_s", seconds}, {"proof_bytes", bytes}, {"verifying_s", verify}, {"estimate", true}};
      const auto group = static_cast<double>(panel.groups.size());
      panel.groups.push_back(title.substr(0, title.find(',')));
      ours.points.push_back({group, seconds / 3600, 0});
      if (paper.contains(key) && paper[key]["proving_h"].is_number())
        paper_series.points.push_back({group, paper[key]["proving_h"].get<double>(), 0});
    };
    row("window", "zkapex, a window", window, blocks * mean(kWindow, "proof_bytes"),
        blocks * mean(kWindow, "verify_s"));
    for (const Counted& m : methods()) {
      row(m.key, m.title, m.entries * per_entry(results, "prove_s"), m.entries * per_entry(results, "proof_bytes"),
          m.entries * per_entry(results, "verify_s"));
    }
    for (const Counted& m : methods()) report.table[m.key]["entries"] = m.entries;
    panel.series = {std::move(ours), std::move(paper_series)};
    report.chart = {.title = "Proving a window, and proving training instead (estimate)", .panels = {std::move(panel)}};
    const auto memory = results.spread_of(largest(), "peak_rss_bytes");
    return out +
           fmt::format("\nMemory: {} MB, for pieces of the size measured; the paper has 245.3 GB for its pieces.\n",
                       text_of(memory, Unit::kMegabytes));
  }

  std::vector<uint64_t> rows_;
  uint64_t threads_ = 2, window_layers_ = 1, window_block_ = 256, window_row_length_ = 0;
  std::string window_shape_;
  LayerShape layer_;
  TrainingPlan training_;
};

}  // namespace

ExperimentKind baseline_cost_experiment() {
  return {"baseline-cost", "What proving GA, SCRUB or retraining would cost: measured on a layer, scaled",
          BaselineCost::make};
}

}  // namespace zkapex
