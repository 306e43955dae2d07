// Which handler answers what.
#pragma once

#include "service/http_message.h"

namespace zkapex {

// Called by several threads at once; may wait for a disk or a database.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;
// Decides by the head alone, before a byte of the body is read: who takes the body, or the answer that refuses it.
using HttpReceiver = std::function<Result<std::unique_ptr<Reception>, HttpResponse>(const HttpRequest&)>;

struct Route {
  std::string method;
  // Segments are matched whole: "{}" is any one of them, a last "*" all that follow, at least one.
  std::string pattern;
  uint64_t max_body = 0;  // in memory; 0: a request with a body is refused
  HttpHandler handle;
  HttpReceiver receive = nullptr;  // instead of `handle`: a body that is taken piece by piece
};

class Router {
 public:
  void get(std::string pattern, HttpHandler handle) { add({"GET", std::move(pattern), 0, std::move(handle)}); }
  void post(std::string pattern, uint64_t max_body, HttpHandler handle) {
    add({"POST", std::move(pattern), max_body, std::move(handle)});
  }
  void put(std::string pattern, HttpReceiver receive) {
    add({"PUT", std::move(pattern), 0, nullptr, std::move(receive)});
  }
  void add(Route route) { routes_.push_back(std::move(route)); }

  // The route of a target such as "/v1/uploads/ab?x=y", whose parts are put into `request`; HEAD goes where GET does.
  // Otherwise the answer: 400 for targets that are not in their one form (empty segments, "..", %2F), 404, or 405.
  [[nodiscard]] Result<const Route*, HttpResponse> find(std::string_view target, HttpRequest& request) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace zkapex
