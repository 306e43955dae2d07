#include "service/admin_access.h"

#include <sodium/crypto_auth_hmacsha256.h>
#include <sodium/utils.h>

#include <array>
#include <charconv>

namespace zkapex {

namespace {

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

// HMAC-SHA-256 under the token, in hexadecimal.
std::string AdminAccess::keyed(std::string_view text) const {
  crypto_auth_hmacsha256_state state;
  std::array<uint8_t, crypto_auth_hmacsha256_BYTES> out{};
  crypto_auth_hmacsha256_init(&state, view(token_).data(), token_.size());
  crypto_auth_hmacsha256_update(&state, view(text).data(), text.size());
  crypto_auth_hmacsha256_final(&state, out.data());
  return to_hex(out);
}

std::string AdminAccess::login_path(UnixTime now) const {
  return fmt::format("/login?time={}&ticket={}", now, keyed(fmt::format("login {}", now)));
}

HttpResponse AdminAccess::log_in(const HttpRequest& request, UnixTime now) const {
  const auto time = request.query.find("time"), ticket = request.query.find("ticket");
  const HttpResponse refused = problem(ProblemKind::kSignature, "this link is not valid, or older than ten minutes");
  if (time == request.query.end() || ticket == request.query.end()) return refused;
  UnixTime made = 0;
  const std::string& text = time->second;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), made);
  if (failed != std::errc() || end != text.data() + text.size()) return refused;
  if (!same_secret(ticket->second, keyed(fmt::format("login {}", made)))) return refused;
  if (made > now + kLinkSeconds || made < now - kLinkSeconds) return refused;
  HttpResponse response;
  response.status = 303;
  response.headers = {
      {"Location", "/"},
      {"Cache-Control", "no-store"},
      {"Set-Cookie", fmt::format("{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200", kCookie, keyed("cookie"))}};
  return response;
}

bool AdminAccess::has_token(const HttpRequest& request) const {
  return same_secret(request.header("authorization"), "Bearer " + token_);
}

bool AdminAccess::has_cookie(const HttpRequest& request) const {
  const std::string wanted = keyed("cookie");
  std::string_view cookies = request.header("cookie");
  while (!cookies.empty()) {
    std::string_view cookie = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookies.size(), cookie.size() + 1));
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    const size_t equals = cookie.find('=');
    if (cookie.substr(0, equals) == kCookie && equals != cookie.npos && same_secret(cookie.substr(equals + 1), wanted))
      return true;
  }
  return false;
}

bool AdminAccess::may_read(const HttpRequest& request) const { return has_token(request) || has_cookie(request); }

bool AdminAccess::may_change(const HttpRequest& request, std::string_view form) const {
  return has_token(request) || (has_cookie(request) && same_secret(form, form_value()));
}

std::string AdminAccess::form_value() const { return keyed("form"); }

}  // namespace zkapex
