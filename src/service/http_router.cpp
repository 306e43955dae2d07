#include "service/http_router.h"

#include <algorithm>

namespace zkapex {

namespace {

constexpr size_t kLongestTarget = 2048;

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> out;
  path.remove_prefix(1);
  for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    out.push_back(path.substr(0, slash));
    path.remove_prefix(slash + 1);
  }
  out.push_back(path);
  return out;
}

// Decoded once, here; a segment that could mean another path is refused rather than cleaned.
Result<std::vector<std::string>> decode_segments(std::string_view path) {
  std::vector<std::string> out;
  for (const std::string_view segment : split_path(path)) {
    ZKAPEX_TRY(std::string decoded, decode_percent(segment, false));
    if (decoded == "." || decoded == ".." || decoded.find_first_of("/\\") != decoded.npos)
      return error("the path has a segment that is not allowed");
    if (decoded.empty() && path != "/") return error("the path has an empty segment");
    out.push_back(std::move(decoded));
  }
  return out;
}

bool matches(const Route& route, const std::vector<std::string>& path, std::vector<std::string>& parameters) {
  parameters.clear();
  const std::vector<std::string_view> pattern = split_path(route.pattern);
  const bool open_end = pattern.back() == "*";
  if (open_end ? path.size() < pattern.size() : path.size() != pattern.size()) return false;
  for (size_t k = 0; k < pattern.size(); ++k) {
    if (open_end && k + 1 == pattern.size()) {
      std::string rest = path[k];
      for (size_t n = k + 1; n < path.size(); ++n) rest += "/" + path[n];
      parameters.push_back(std::move(rest));
    } else if (pattern[k] == "{}") {
      parameters.push_back(path[k]);
    } else if (pattern[k] != path[k]) {
      return false;
    }
  }
  return true;
}

}  // namespace

Result<const Route*, HttpResponse> Router::find(std::string_view target, HttpRequest& request) const {
  if (target.empty() || target.front() != '/' || target.size() > kLongestTarget)
    return problem(ProblemKind::kMalformed, "the target must be a path that begins with / and is not too long");
  const size_t mark = target.find('?');
  const auto path = decode_segments(target.substr(0, mark));
  if (!path.ok()) return problem(ProblemKind::kMalformed, path.error().message);
  if (mark != target.npos) {
    auto query = parse_form(target.substr(mark + 1));
    if (!query.ok()) return problem(ProblemKind::kMalformed, query.error().message);
    request.query = std::move(*query);
  }
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  std::string allowed;
  for (const Route& route : routes_) {
    if (!matches(route, *path, request.parameters)) continue;
    if (route.method == method) {
      request.route = route.pattern;
      return &route;
    }
    allowed += (allowed.empty() ? "" : ", ") + route.method;
  }
  if (allowed.empty()) return problem(ProblemKind::kNotFound, "there is nothing at this address");
  HttpResponse refusal = problem(ProblemKind::kMethod, fmt::format("this address takes {}", allowed));
  refusal.headers.emplace_back("Allow", allowed);
  return refusal;
}

}  // namespace zkapex
