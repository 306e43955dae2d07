#include "cli/usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <numeric>

namespace zkapex::cli {

namespace {

// Without a filter CLI11 lists only those that the command line named.
std::vector<const CLI::App*> all_commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  const auto commands = all_commands(app);
  const auto found = std::find_if(commands.begin(), commands.end(), [&](auto* c) { return c->get_name() == name; });
  return found == commands.end() ? nullptr : *found;
}

// The existing command closest to `name`, or "" if none looks like it.
std::string nearest_command(const CLI::App& app, const std::string& name) {
  std::string nearest;
  size_t best = std::max<size_t>(1, name.size() / 2);
  for (const CLI::App* command : all_commands(app)) {
    const size_t distance = edit_distance(name, command->get_name());
    if (distance > best || (distance == best && !nearest.empty())) continue;
    best = distance;
    nearest = command->get_name();
  }
  return nearest;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

size_t edit_distance(const std::string& a, const std::string& b) {
  // Rows i-2, i-1 and i of the table of distances between prefixes.
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  std::iota(above.begin(), above.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

std::string explain_usage(const CLI::App& app, const std::vector<std::string>& arguments,
                          const CLI::ParseError& refusal) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  for (const std::string& argument : arguments) {
    if (argument.starts_with('-')) {
      // Only here, before the first known option: what comes after one may be its value.
      if (command->get_option_no_throw(argument.substr(0, argument.find('='))) != nullptr) break;
      return fmt::format("{} is not an option of {}; see {} --help", argument, path, path);
    }
    if (all_commands(*command).empty()) break;
    const CLI::App* next = find_command(*command, argument);
    if (next == nullptr) {
      const std::string nearest = nearest_command(*command, argument);
      return nearest.empty() ? fmt::format("'{}' is not a command; see {} --help", argument, path)
                             : fmt::format("'{}' is not a command; did you mean {} {}?", argument, path, nearest);
    }
    command = next;
    path += " " + next->get_name();
  }
  return fmt::format("{}; see {} --help", first_line(refusal.what()), path);
}

}  // namespace zkapex::cli
