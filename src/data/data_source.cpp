#include "data/splits.h"

namespace zkapex {

Result<DataSource> DataSource::parse(std::string_view text) {
  constexpr std::string_view kForms =
      "idx:DIR#train, idx:DIR#t10k, images:DIR or text:DIR, with +sketch for drawings (or +inverted, +tones, +noise, "
      "+half)";
  DataSource out;
  std::string_view rest = text;
  const size_t plus = rest.rfind('+');
  if (const auto style = plus == std::string_view::npos ? std::nullopt : style_named(rest.substr(plus + 1))) {
    out.style = *style;
    rest = rest.substr(0, plus);
  }
  const size_t colon = rest.find(':');
  const std::string_view kind = rest.substr(0, colon);
  if (colon == std::string_view::npos || colon + 1 == rest.size())
    return error("'{}' is not a data source: {}", text, kForms);
  rest.remove_prefix(colon + 1);
  if (kind == "images") {
    out.kind = Kind::kImages;
  } else if (kind == "text") {
    out.kind = Kind::kText;
    if (out.style != Style::kPhoto) return error("'{}': text cannot be drawn", text);
  } else if (kind == "idx") {
    const size_t hash = rest.rfind('#');
    if (hash == std::string_view::npos || hash + 1 == rest.size())
      return error("'{}' does not say which part: {}", text, kForms);
    out.part = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
  } else {
    return error("'{}' is not a data source: {}", text, kForms);
  }
  out.path = rest;
  return out;
}

std::string DataSource::text() const {
  const std::string end = style == Style::kPhoto ? "" : fmt::format("+{}", name(style));
  switch (kind) {
    case Kind::kIdx:
      return fmt::format("idx:{}#{}{}", path.string(), part, end);
    case Kind::kImages:
      return fmt::format("images:{}{}", path.string(), end);
    case Kind::kText:
      break;
  }
  return fmt::format("text:{}", path.string());
}

bool DataSource::same_data(const DataSource& other) const {
  return kind == other.kind && path == other.path && part == other.part;
}

}  // namespace zkapex
