// One call through zkapex.h: who may make it, what it leaves in its session, and that nothing is thrown out of it.
#pragma once

#include <cstring>
#include <functional>

#include "base/json.h"
#include "capi/handles.h"

namespace zkapex::capi {

struct Answer {
  nlohmann::ordered_json report = nlohmann::ordered_json::object();
  bool rejected = false;
};

// Runs `body` for a session that nobody else uses, and leaves its report or its error there.
[[nodiscard]] zkapex_status call(zkapex_session* session, const std::function<Result<Answer>()>& body);

[[nodiscard]] WorkSettings settings_of(const zkapex_session& session, int force);

// Options as this version knows them: an error where there are none, or of another size.
template <class Options>
[[nodiscard]] Result<Options> take(const Options* options) {
  if (options == nullptr) return error("the options are NULL");
  if (options->size != sizeof(Options))
    return error("the options have a size of {} bytes, and this version of the library knows those of {}",
                 options->size, sizeof(Options));
  return *options;
}

// A text that has to be there.
[[nodiscard]] Result<std::string> required(const char* text, std::string_view what);
// Empty for NULL.
[[nodiscard]] std::string optional(const char* text);
// Replaces the default, unless it is NULL.
void put(const char* text, std::string& value);
template <class Number>
void put(Number given, Number& value) {
  if (given != 0) value = given;
}

// The bytes of a buffer; NULL only with a length of 0.
[[nodiscard]] Result<ByteView> bytes_of(const zkapex_buffer& buffer, std::string_view what);

// A place for a handle, which is NULL until there is one.
template <class T>
[[nodiscard]] Status check_place(T** out) {
  if (out == nullptr) return error("there is no place for the handle: its pointer is NULL");
  *out = nullptr;
  return Done{};
}

}  // namespace zkapex::capi
