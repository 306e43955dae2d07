// Wrong usage in one line: what was wrong, and what to do.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace zkapex::cli {

// Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other.
[[nodiscard]] size_t edit_distance(const std::string& a, const std::string& b);

// For arguments that `app` refused with `refusal`: names an unknown command and the nearest that exists, else says what
// the parser said.
[[nodiscard]] std::string explain_usage(const CLI::App& app, const std::vector<std::string>& arguments,
                                        const CLI::ParseError& refusal);

}  // namespace zkapex::cli
