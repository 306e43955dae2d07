#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>

namespace zkapex::cli {

Option Option::required() const { return Option(*option_->required()); }
Option Option::type_name(const std::string& name) const { return Option(*option_->type_name(name)); }
Option Option::shows_default() const { return Option(*option_->capture_default_str()); }
Option Option::positive() const { return Option(*option_->check(CLI::PositiveNumber)); }
Option Option::between(unsigned least, unsigned most) const { return Option(*option_->check(CLI::Range(least, most))); }
Option Option::one_of(const std::vector<std::string>& values) const {
  return Option(*option_->check(CLI::IsMember(values).description("")));
}
Option Option::one_of_listed(const std::vector<std::string>& values) const {
  return Option(*option_->check(CLI::IsMember(values)));
}
Option Option::excludes(Option other) const { return Option(*option_->excludes(other.option_)); }
Option Option::separated_by(char delimiter) const { return Option(*option_->delimiter(delimiter)); }
Option Option::repeated() const {
  option_->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

std::string Command::name() const { return app_->get_name(); }

std::vector<GivenOption> Command::given_options() const {
  std::vector<GivenOption> out;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    if (option->count() > 0) out.push_back({option->get_name(), option->results()});
  }
  return out;
}

Command Command::add_command(const std::string& name, const std::string& about) const {
  return Command(*app_->add_subcommand(name, about));
}

Command Command::command(const std::string& name) const { return Command(*app_->get_subcommand(name)); }

void Command::needs_command() const { app_->require_subcommand(1); }

template <class Value>
Option Command::add_option(const std::string& names, Value& value, const std::string& about) const {
  return Option(*app_->add_option(names, value, about));
}

template Option Command::add_option(const std::string&, std::string&, const std::string&) const;
template Option Command::add_option(const std::string&, std::filesystem::path&, const std::string&) const;
template Option Command::add_option(const std::string&, int64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, uint32_t&, const std::string&) const;
template Option Command::add_option(const std::string&, uint64_t&, const std::string&) const;
template Option Command::add_option(const std::string&, double&, const std::string&) const;
template Option Command::add_option(const std::string&, std::optional<double>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<uint64_t>&, const std::string&) const;
template Option Command::add_option(const std::string&, std::vector<std::filesystem::path>&, const std::string&) const;

Option Command::add_flag(const std::string& names, bool& value, const std::string& about) const {
  return Option(*app_->add_flag(names, value, about));
}

Option Command::add_parsed(const std::string& name, const std::function<Status(const std::string&)>& parse,
                           const std::string& about) const {
  const auto read = [name, parse](const std::string& text) {
    if (const Status parsed = parse(text); !parsed) throw CLI::ValidationError(name, parsed.error().message);
  };
  return Option(*app_->add_option_function<std::string>(name, read, about));
}

void Command::footer(const std::string& text) const { app_->footer(text); }

void Command::group(const std::string& name) const { app_->group(name); }

void Command::takes_anything() const {
  app_->prefix_command();
  app_->set_help_flag("");
}

void Command::runs(Action& action, const Action& body) const {
  app_->callback([&action, body] { action = body; });
}

}  // namespace zkapex::cli
