// Figures of all cells, put together: means and deviations over seeds, tables in Markdown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tables/chart.h"

namespace zkapex {

struct Spread {
  double mean = 0, deviation = 0;  // of a sample: divided by n − 1; 0 for one value
  size_t count = 0;
};
[[nodiscard]] Spread spread(const std::vector<double>& values);

// Figures by variant and seed. A figure is named by its key, or by keys joined with '/' where figures are nested.
class Results {
 public:
  void add(const std::string& variant, uint64_t seed, nlohmann::ordered_json figures);

  [[nodiscard]] const std::vector<uint64_t>& seeds() const { return seeds_; }
  [[nodiscard]] const nlohmann::ordered_json& figures(const std::string& variant, uint64_t seed) const;
  // Nothing where the figure is missing, null or not a number.
  [[nodiscard]] std::optional<double> figure(const std::string& variant, uint64_t seed, const std::string& key) const;
  // Over the seeds that have it; nothing where none has.
  [[nodiscard]] std::optional<Spread> spread_of(const std::string& variant, const std::string& key) const;
  // Adds a figure that is computed from those of other variants with the same seed; to no cell that is not there.
  void set(const std::string& variant, uint64_t seed, const std::string& key, std::optional<double> value);

 private:
  std::map<std::string, std::map<uint64_t, nlohmann::ordered_json>> cells_;
  std::vector<uint64_t> seeds_;
};

enum class Unit { kPercent, kPlain, kSeconds, kMegabytes, kKilobytes, kScientific };
// "12.3", "12.3 ± 0.4" with more than one value, "–" for nothing; in the unit, which is not written.
[[nodiscard]] std::string text_of(const std::optional<Spread>& value, Unit unit);
// " (%)", " (s)" and so on, for headings.
[[nodiscard]] std::string unit_suffix(Unit unit);

struct TableColumn {
  std::string key, title;
  Unit unit = Unit::kPlain;
};
struct TableRow {
  std::string variant, title;
};
// A table of `rows` × `columns`. Where `paper` (the configuration's) has numbers for a column they stand beside ours.
[[nodiscard]] std::string markdown_table(const Results& results, const std::vector<TableColumn>& columns,
                                         const std::vector<TableRow>& rows, const nlohmann::json& paper);
// The same as data: {row: {column: {"mean", "deviation", "seeds", "paper"}}}.
[[nodiscard]] nlohmann::ordered_json table_as_json(const Results& results, const std::vector<TableColumn>& columns,
                                                   const std::vector<TableRow>& rows, const nlohmann::json& paper);

// What an experiment makes of its results.
struct ExperimentReport {
  std::string title;
  std::string markdown;          // tables and remarks
  nlohmann::ordered_json table;  // the same numbers
  Chart chart;
};

}  // namespace zkapex
