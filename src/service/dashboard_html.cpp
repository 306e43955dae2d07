#include "service/dashboard_html.h"

#include <fmt/format.h>

#include "log/time.h"

namespace zkapex {

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

std::string encode_segment(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string time_html(UnixTime time) {
  const std::string exact = to_rfc3339(time);
  return fmt::format("<time datetime=\"{}\">{} {} UTC</time>", exact, exact.substr(0, 10), exact.substr(11, 5));
}

std::string time_html(const std::optional<UnixTime>& time) { return time ? time_html(*time) : "–"; }

std::string duration_text(UnixTime seconds) {
  struct Unit {
    UnixTime seconds;
    const char* name;
  };
  constexpr Unit kUnits[] = {{86'400, "day"}, {3'600, "hour"}, {60, "minute"}, {1, "second"}};
  for (const Unit& unit : kUnits) {
    const UnixTime count = seconds / unit.seconds;
    if (count > 0) return fmt::format("{} {}{}", count, unit.name, count == 1 ? "" : "s");
  }
  return "0 seconds";
}

std::string size_text(uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 1'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string short_hex(const Digest& digest) {
  const std::string hex = to_hex(digest);
  return fmt::format("<code class=\"hash\" title=\"{}\">{}…</code>", hex, hex.substr(0, 12));
}

std::string state_html(std::string_view state) {
  return fmt::format("<span class=\"state {0}\">{0}</span>", escape_html(state));
}

std::string link_html(std::string_view target, std::string_view text) {
  return fmt::format("<a href=\"{}\">{}</a>", escape_html(target), escape_html(text));
}

std::string page_html(const PageFrame& frame) {
  struct Item {
    std::string_view key, path, text;
  };
  constexpr Item kItems[] = {{"overview", "/", "Overview"}, {"clients", "/clients", "Clients"}, {"log", "/log", "Log"}};
  std::string navigation;
  for (const Item& item : kItems)
    navigation += fmt::format("<li><a href=\"{}\"{}>{}</a></li>", item.path,
                              item.key == frame.current ? " aria-current=\"page\"" : "", item.text);
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>{0} – zkapex</title>\n"
      "<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/style.css\">\n"
      "<script src=\"/dashboard.js\" defer></script>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n"
      "<header><strong class=\"brand\">zkapex</strong><nav aria-label=\"Main\"><ul>{1}</ul></nav></header>\n"
      "<main id=\"main\">\n<h1>{0}</h1>\n{2}</main>\n</body>\n</html>\n",
      escape_html(frame.title), navigation, frame.body);
}

TableHtml::TableHtml(std::string_view caption, std::vector<std::string> columns)
    : caption_(caption), columns_(std::move(columns)) {}

void TableHtml::row(const std::vector<std::string>& cells, std::string_view state) {
  rows_ += state.empty() ? "<tr>" : fmt::format("<tr data-state=\"{}\">", escape_html(state));
  for (size_t k = 0; k < cells.size(); ++k) {
    const char* element = k == 0 ? "th" : "td";
    rows_ += fmt::format("<{0}{1} data-label=\"{2}\">{3}</{0}>", element, k == 0 ? " scope=\"row\"" : "",
                         escape_html(columns_[k]), cells[k]);
  }
  rows_ += "</tr>\n";
}

std::string TableHtml::html(std::string_view when_empty) const {
  if (rows_.empty()) return fmt::format("<p class=\"empty\">{}</p>\n", escape_html(when_empty));
  std::string head;
  for (const std::string& column : columns_) head += fmt::format("<th scope=\"col\">{}</th>", escape_html(column));
  return fmt::format("<table>\n<caption>{}</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
                     escape_html(caption_), head, rows_);
}

}  // namespace zkapex
