// The configuration of an experiment: a JSON file that says everything its results depend on, read strictly.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace zkapex {

// A file is an object with
//   "experiment"  its name
//   "base"        optional: another file in the same folder, whose "settings" and "quick" this one's are merged onto
//   "settings"    whatever decides the results; the experiment reads it
//   "quick"       optional: merged onto "settings" for a run within seconds
//   "paper"       optional: the paper's numbers, {row: {column: number or text}}
//   "notes"       optional: sentences that go under the table
// Merging is that of RFC 7396: objects member by member, anything else replaced, null removes.
struct ExperimentConfig {
  nlohmann::json settings = nlohmann::json::object();  // merged, as it will be used
  nlohmann::json paper = nlohmann::json::object();
  std::vector<std::string> notes;

  [[nodiscard]] static Result<ExperimentConfig> load(const std::filesystem::path& file, std::string_view experiment,
                                                     bool quick);
};

// NAME.json in experiments/ of the current folder, else of the folder that the program was built in (the parent of the
// program's). An error says where it was looked for.
[[nodiscard]] Result<std::filesystem::path> find_config(std::string_view experiment,
                                                        const std::filesystem::path& program);

// Reads the members of one object, each by name; in the end a member that nobody asked for is an error. The first error
// is kept and told by finish(); what is read after it is left alone.
class ConfigReader {
 public:
  // `where` begins messages: "settings.model".
  ConfigReader(const nlohmann::json& object, std::string where);

  // Must be there.
  template <class T>
  ConfigReader& read(std::string_view key, T& out) {
    return take(key, out, true);
  }
  // Stays as it is when the member is not there.
  template <class T>
  ConfigReader& read_if_there(std::string_view key, T& out) {
    return take(key, out, false);
  }
  // A member that is read by `parse`, from json to Status.
  template <class Parse>
  ConfigReader& part(std::string_view key, const Parse& parse) {
    if (const nlohmann::json* value = find(key, true)) {
      if (const Status parsed = parse(*value, where_ + "." + std::string(key)); !parsed.ok()) fail(parsed.error());
    }
    return *this;
  }
  // Refuses a value that was read.
  ConfigReader& require(bool good, std::string_view key, std::string_view rule);

  [[nodiscard]] Status finish() const;

 private:
  template <class T>
  ConfigReader& take(std::string_view key, T& out, bool required) {
    const nlohmann::json* value = find(key, required);
    if (value == nullptr) return *this;
    if (!fits<T>(*value)) {
      fail(error("{}.{} cannot be {}", where_, key, value->dump()));
      return *this;
    }
    out = value->template get<T>();
    return *this;
  }
  // Whether nlohmann's conversion would keep the value: it turns booleans and fractions into integers silently.
  template <class T>
  [[nodiscard]] static bool fits(const nlohmann::json& value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value.is_boolean();
    } else if constexpr (std::is_unsigned_v<T>) {
      return value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max();
    } else if constexpr (std::is_integral_v<T>) {
      return value.is_number_integer();
    } else if constexpr (std::is_floating_point_v<T>) {
      return value.is_number();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return value.is_string();
    } else {  // std::vector
      return value.is_array() && std::ranges::all_of(value, &fits<typename T::value_type>);
    }
  }
  [[nodiscard]] const nlohmann::json* find(std::string_view key, bool required);
  void fail(Error error);

  const nlohmann::json& object_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
  std::optional<Error> error_;
};

}  // namespace zkapex
