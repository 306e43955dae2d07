// Who may use the admin listener: programs with the token of the provider's folder, and browsers that came by a link
// that was made with it.
#pragma once

#include "log/time.h"
#include "service/http_message.h"

namespace zkapex {

class AdminAccess {
 public:
  static constexpr UnixTime kLinkSeconds = 600;
  static constexpr std::string_view kCookie = "zkapex_admin";

  explicit AdminAccess(std::string token) : token_(std::move(token)) {}

  // "/login?time=T&ticket=HEX": good for ten minutes.
  [[nodiscard]] std::string login_path(UnixTime now) const;
  // The answer to that link: a cookie and the overview, or 403.
  [[nodiscard]] HttpResponse log_in(const HttpRequest& request, UnixTime now) const;

  // Authorization: Bearer TOKEN, or the cookie.
  [[nodiscard]] bool may_read(const HttpRequest& request) const;
  // The token; or the cookie, and a form with the hidden value that only pages of this server have.
  [[nodiscard]] bool may_change(const HttpRequest& request, std::string_view form_value) const;
  [[nodiscard]] std::string form_value() const;

 private:
  [[nodiscard]] std::string keyed(std::string_view text) const;
  [[nodiscard]] bool has_token(const HttpRequest& request) const;
  [[nodiscard]] bool has_cookie(const HttpRequest& request) const;

  std::string token_;
};

}  // namespace zkapex
