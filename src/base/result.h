// Bad input is a value: a Result holds either a T or an Error whose sentence says what was wrong, where, and what to
// do.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace zkapex {

struct Error {
  std::string message;

  // "context: message", for callers that know the file or the part being read.
  [[nodiscard]] Error within(std::string_view context) const { return {fmt::format("{}: {}", context, message)}; }
};

template <class... Args>
[[nodiscard]] Error error(fmt::format_string<Args...> format, Args&&... args) {
  return {fmt::format(format, std::forward<Args>(args)...)};
}

// E is Error unless a caller must tell failures apart by type.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit by design

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only when ok().
  [[nodiscard]] T& value() & { return *std::get_if<0>(&state_); }
  [[nodiscard]] const T& value() const& { return *std::get_if<0>(&state_); }
  [[nodiscard]] T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // Only when not ok().
  [[nodiscard]] const E& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<T, E> state_;
};

struct Done {};
using Status = Result<Done>;

}  // namespace zkapex

// Returns the error of `expression` from the enclosing function, or binds its value: ZKAPEX_TRY(auto file, read(path));
#define ZKAPEX_TRY(declaration, expression) ZKAPEX_TRY_(ZKAPEX_UNIQUE_(zkapex_try_), declaration, expression)
#define ZKAPEX_TRY_(name, declaration, expression) \
  auto name = (expression);                        \
  if (!name.ok()) return name.error();             \
  declaration = std::move(name).value()
// The same without the value.
#define ZKAPEX_CHECK(expression) ZKAPEX_CHECK_(ZKAPEX_UNIQUE_(zkapex_check_), expression)
#define ZKAPEX_CHECK_(name, expression)                                   \
  if (auto name = (expression); name.ok()) {                              \
  } else /* so that an else after the macro is not taken for this if's */ \
    return name.error()
// A new name at each use, also where one use stands inside the expression of another.
#define ZKAPEX_UNIQUE_(prefix) ZKAPEX_JOIN_(prefix, __COUNTER__)
#define ZKAPEX_JOIN_(a, b) ZKAPEX_JOIN2_(a, b)
#define ZKAPEX_JOIN2_(a, b) a##b
