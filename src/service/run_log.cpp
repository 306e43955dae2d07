#include "service/run_log.h"

#include <fmt/format.h>

namespace zkapex {

void RunLog::write(std::string_view level, std::string_view event, const nlohmann::ordered_json& fields) {
  constexpr auto kLenient = nlohmann::json::error_handler_t::replace;
  nlohmann::ordered_json line{{"time", to_rfc3339(clock_())}, {"level", level}, {"event", event}};
  line.update(fields);
  std::string text;
  if (json_) {
    text = line.dump(-1, ' ', false, kLenient);
  } else {
    for (const auto& [key, value] : line.items()) {
      if (!text.empty()) text += ' ';
      // Strings as JSON has them where they could be taken for more than one word.
      const bool plain = value.is_string() &&
                         value.get_ref<const std::string&>().find_first_of(" \"=\n\r\t\\\x1b") == std::string::npos;
      if (key != "time" && key != "level" && key != "event") text += key + "=";
      text += plain ? value.get<std::string>() : value.dump(-1, ' ', true, kLenient);
    }
  }
  text += '\n';
  const std::lock_guard lock(mutex_);
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fflush(out_);
}

}  // namespace zkapex
