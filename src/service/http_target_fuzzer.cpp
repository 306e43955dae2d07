// Targets and forms of strangers: whatever is routed names one place, below the folder that it is joined to.
#include <cstdlib>

#include "service/admin_access.h"
#include "service/http_router.h"
#include "service/http_static.h"
#include "service/provider_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const Router router = [] {
    Router out;
    out.get("/log/*", [](const HttpRequest&) { return HttpResponse(); });
    out.get("/v1/windows/{}/psi.zka", [](const HttpRequest&) { return HttpResponse(); });
    return out;
  }();
  HttpRequest request;
  request.method = "GET";
  if (router.find(text, request).ok()) {
    for (const std::string& parameter : request.parameters) {
      if (parameter.empty() || parameter.find('\0') != parameter.npos) std::abort();
    }
    const std::string& path = request.parameters.front();
    if (request.route == "/log/*" && is_plain_path(path)) {
      const Path joined = (Path("/folder") / path).lexically_normal();
      if (!joined.string().starts_with("/folder/") || joined.string() != "/folder/" + path) std::abort();
    }
  }
  (void)parse_form(text);
  (void)ProviderSettings::decode(text);
  const AdminAccess access("a token that is long enough for a test");
  request.headers["cookie"] = std::string(text);
  request.headers["authorization"] = std::string(text);
  if (access.may_read(request)) std::abort();
  return 0;
}
