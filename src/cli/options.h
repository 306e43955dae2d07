// Commands and their options as the commands' own files see them. The parser behind them is a library of headers that
// takes seconds to compile wherever it is included: here it stays out of sight.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace zkapex::cli {

// An Error ends the program with 2: bad input or wrong usage.
enum class Outcome : int {
  kDone = 0,  // done, or accepted
  kRejected = 1,
};

// What a command does.
using Action = std::function<Result<Outcome>()>;

// A handle of an option that a command has; each call says one thing more about it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option required() const;
  Option type_name(const std::string& name) const;  // in the help, for what is to be given
  Option shows_default() const;                     // in the help: the value that there is now
  Option positive() const;
  Option between(unsigned least, unsigned most) const;
  Option one_of(const std::vector<std::string>& values) const;
  Option one_of_listed(const std::vector<std::string>& values) const;  // the same, and the help lists them
  Option excludes(Option other) const;
  Option separated_by(char delimiter) const;  // several values in one argument
  Option repeated() const;                    // one value at a time, as often as it is given

 private:
  CLI::Option* option_;
};

// What the command line said of an option.
struct GivenOption {
  std::string name;
  std::vector<std::string> values;
};

// A handle of a command; the program that parses the command line owns it.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::vector<GivenOption> given_options() const;

  // Commands of this command.
  Command add_command(const std::string& name, const std::string& about) const;
  [[nodiscard]] Command command(const std::string& name) const;
  void needs_command() const;  // alone it does nothing

  // `names` is "--long", "-s,--long", or without dashes that of a value by position. What the command line gives is
  // written to `value`, which outlives parsing. options.cpp lists the types.
  template <class Value>
  Option add_option(const std::string& names, Value& value, const std::string& about) const;
  Option add_flag(const std::string& names, bool& value, const std::string& about) const;
  // An error of `parse` is wrong usage.
  Option add_parsed(const std::string& name, const std::function<Status(const std::string&)>& parse,
                    const std::string& about) const;

  void footer(const std::string& text) const;
  void group(const std::string& name) const;  // of its parent's help
  void takes_anything() const;                // whatever follows is left alone, --help too
  // Named by the command line, sets `action` to `body`.
  void runs(Action& action, const Action& body) const;

 private:
  CLI::App* app_;
};

}  // namespace zkapex::cli
