#include "tables/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace zkapex {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

std::string json_pointer(const std::string& key) { return "/" + key; }

double factor_of(Unit unit) {
  switch (unit) {
    case Unit::kPercent:
      return 100;
    case Unit::kMegabytes:
      return 1e-6;
    case Unit::kKilobytes:
      return 1e-3;
    default:
      return 1;
  }
}

// A number of the size of `scale`, which says how many digits there are to show.
std::string number_text(double value, double scale, Unit unit) {
  switch (unit) {
    case Unit::kMegabytes:
      return fmt::format("{:.{}f}", value, scale < 10 ? 3 : 1);
    case Unit::kPercent:
    case Unit::kKilobytes:
      return fmt::format("{:.1f}", value);
    case Unit::kSeconds:
      return fmt::format("{:.2f}", value);
    case Unit::kPlain:
      return fmt::format("{:.3g}", value);
    case Unit::kScientific:
      return fmt::format("{:.1e}", value);
  }
  return {};
}

// The configuration's number for a place of the table, as text; empty where it has none.
std::string paper_text(const json& paper, const std::string& row, const std::string& column) {
  if (!paper.contains(row) || !paper[row].contains(column)) return {};
  const json& value = paper[row][column];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool paper_has(const json& paper, const std::vector<TableRow>& rows, const std::string& column) {
  return std::ranges::any_of(rows, [&](const TableRow& r) { return !paper_text(paper, r.variant, column).empty(); });
}

}  // namespace

Spread spread(const std::vector<double>& values) {
  Spread out{.count = values.size()};
  if (values.empty()) return out;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) out.mean += v / n;
  if (values.size() == 1) return out;
  double squares = 0;
  for (const double v : values) squares += (v - out.mean) * (v - out.mean);
  out.deviation = std::sqrt(squares / (n - 1));
  return out;
}

void Results::add(const std::string& variant, uint64_t seed, ordered_json figures) {
  cells_[variant][seed] = std::move(figures);
  if (std::ranges::find(seeds_, seed) == seeds_.end()) seeds_.push_back(seed);
}

const ordered_json& Results::figures(const std::string& variant, uint64_t seed) const {
  return cells_.at(variant).at(seed);
}

std::optional<double> Results::figure(const std::string& variant, uint64_t seed, const std::string& key) const {
  const auto cell = cells_.find(variant);
  if (cell == cells_.end() || !cell->second.contains(seed)) return std::nullopt;
  const ordered_json::json_pointer pointer(json_pointer(key));
  const ordered_json& figures = cell->second.at(seed);
  if (!figures.contains(pointer) || !figures[pointer].is_number()) return std::nullopt;
  return figures[pointer].get<double>();
}

std::optional<Spread> Results::spread_of(const std::string& variant, const std::string& key) const {
  std::vector<double> values;
  for (const uint64_t seed : seeds_) {
    if (const auto value = figure(variant, seed, key)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  return spread(values);
}

void Results::set(const std::string& variant, uint64_t seed, const std::string& key, std::optional<double> value) {
  const auto cell = cells_.find(variant);
  if (cell == cells_.end() || !cell->second.contains(seed)) return;
  cell->second.at(seed)[ordered_json::json_pointer(json_pointer(key))] =
      value ? ordered_json(*value) : ordered_json(nullptr);
}

std::string text_of(const std::optional<Spread>& value, Unit unit) {
  if (!value) return "–";
  const double mean = factor_of(unit) * value->mean, deviation = factor_of(unit) * value->deviation;
  const std::string text = number_text(mean, mean, unit);
  return value->count < 2 ? text : fmt::format("{} ± {}", text, number_text(deviation, mean, unit));
}

std::string unit_suffix(Unit unit) {
  switch (unit) {
    case Unit::kPercent:
      return " (%)";
    case Unit::kSeconds:
      return " (s)";
    case Unit::kMegabytes:
      return " (MB)";
    case Unit::kKilobytes:
      return " (kB)";
    default:
      return "";
  }
}

std::string markdown_table(const Results& results, const std::vector<TableColumn>& columns,
                           const std::vector<TableRow>& rows, const json& paper) {
  std::string heading = "| |", rule = "| --- |";
  for (const TableColumn& column : columns) {
    heading += fmt::format(" {}{} |", column.title, unit_suffix(column.unit));
    rule += " ---: |";
    if (!paper_has(paper, rows, column.key)) continue;
    heading += " paper |";
    rule += " ---: |";
  }
  std::string out = heading + "\n" + rule + "\n";
  for (const TableRow& row : rows) {
    out += fmt::format("| {} |", row.title);
    for (const TableColumn& column : columns) {
      out += fmt::format(" {} |", text_of(results.spread_of(row.variant, column.key), column.unit));
      if (!paper_has(paper, rows, column.key)) continue;
      const std::string theirs = paper_text(paper, row.variant, column.key);
      out += fmt::format(" {} |", theirs.empty() ? "–" : theirs);
    }
    out += "\n";
  }
  return out;
}

ordered_json table_as_json(const Results& results, const std::vector<TableColumn>& columns,
                           const std::vector<TableRow>& rows, const json& paper) {
  ordered_json out = ordered_json::object();
  for (const TableRow& row : rows) {
    for (const TableColumn& column : columns) {
      ordered_json& place = out[row.variant][column.key];
      place = nullptr;
      if (const auto found = results.spread_of(row.variant, column.key))
        place = {{"mean", found->mean}, {"deviation", found->deviation}, {"seeds", found->count}};
      if (const std::string theirs = paper_text(paper, row.variant, column.key); !theirs.empty())
        place["paper"] = theirs;
    }
  }
  return out;
}

}  // namespace zkapex
