#include "capi/call.h"

#include <new>
#include <utility>

namespace zkapex::capi {

namespace {

constexpr unsigned kMostThreads = 1024;  // as the commands have it

// Of a session that could not be made, or was none: there is no other place for it.
thread_local std::string without_session;

zkapex_status finish(zkapex_session& session, const Result<Answer>& answer) {
  if (!answer) {
    session.error = answer.error().message;
    return session.cancelled ? ZKAPEX_CANCELLED : ZKAPEX_ERROR;
  }
  session.report = answer->report.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return answer->rejected ? ZKAPEX_REJECTED : ZKAPEX_OK;
}

// What a library throws in spite of all: no memory, mostly.
zkapex_status guarded(zkapex_session& session, const std::function<Result<Answer>()>& body) {
  try {
    return finish(session, body());
  } catch (const std::bad_alloc&) {
    session.error = "there is not enough memory";
  } catch (const std::exception& e) {
    session.error = fmt::format("something unexpected happened: {}", e.what());
  } catch (...) {
    session.error = "something unexpected happened";
  }
  return ZKAPEX_ERROR;
}

Status open_session(const zkapex_session_options* given, zkapex_session** out) {
  ZKAPEX_CHECK(check_place(out));
  zkapex_session_options options{};
  if (given != nullptr) {
    ZKAPEX_TRY(options, take(given));
  }
  if (options.threads > kMostThreads)
    return error("{} threads are too many: at most {}, and 0 for one per processor", options.threads, kMostThreads);
  auto session = std::make_unique<zkapex_session>(options.threads);
  WorkSettings& settings = session->settings;
  settings.pool = &session->pool;
  settings.cache = options.cache == nullptr ? cache_folder() : Path(options.cache);
  if (options.memory != 0) settings.memory = options.memory;
  if (options.progress != nullptr) {
    settings.observe = [of = session.get(), options](std::string_view label, uint64_t done, uint64_t total) -> Status {
      of->cancelled = of->cancelled || options.progress(options.user, std::string(label).c_str(), done, total) != 0;
      return of->cancelled ? Status(error("cancelled")) : Done{};
    };
  }
  *out = session.release();
  return Done{};
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::kSession:
      return "a session";
    case Kind::kDeployment:
      return "a deployment";
    case Kind::kRequest:
      return "a request";
    case Kind::kCurvature:
      return "a curvature writer";
    case Kind::kNone:
      break;
  }
  return "no handle of this library";
}

Status check_handle(const void* handle, Kind kind) {
  if (handle == nullptr) return error("{} is needed, and the handle is NULL", name(kind));
  const Kind found = static_cast<const Handle*>(handle)->kind;
  if (found != kind) return error("{} is needed, and the handle is {}", name(kind), name(found));
  return Done{};
}

Result<Use> use(const void* handle, Kind kind) {
  ZKAPEX_CHECK(check_handle(handle, kind));
  return Use(static_cast<const Handle*>(handle));
}

zkapex_status call(zkapex_session* session, const std::function<Result<Answer>()>& body) {
  const Result<Use> used = use(session, Kind::kSession);
  if (!used) {
    without_session = used.error().message;
    return ZKAPEX_ERROR;
  }
  if (session->busy.exchange(true)) return ZKAPEX_BUSY;
  session->cancelled = false;
  session->error.clear();
  session->report = "{}";
  const zkapex_status status = guarded(*session, body);
  session->busy.store(false);
  return status;
}

WorkSettings settings_of(const zkapex_session& session, int force) {
  WorkSettings settings = session.settings;
  settings.force = force != 0;
  return settings;
}

Result<std::string> required(const char* text, std::string_view what) {
  if (text == nullptr || *text == '\0') return error("{} is missing", what);
  return std::string(text);
}

std::string optional(const char* text) { return text == nullptr ? std::string() : std::string(text); }

void put(const char* text, std::string& value) {
  if (text != nullptr) value = text;
}

Result<ByteView> bytes_of(const zkapex_buffer& buffer, std::string_view what) {
  if (buffer.data == nullptr && buffer.length > 0)
    return error("{} is NULL, with a length of {} bytes", what, buffer.length);
  return ByteView(static_cast<const uint8_t*>(buffer.data), buffer.length);
}

}  // namespace zkapex::capi

using zkapex::capi::Kind;

const char* zkapex_version() { return ZKAPEX_VERSION; }

zkapex_status zkapex_session_new(const zkapex_session_options* options, zkapex_session** out) {
  std::string& text = zkapex::capi::without_session;
  try {
    const zkapex::Status done = zkapex::capi::open_session(options, out);
    text = done ? "" : done.error().message;
    return done ? ZKAPEX_OK : ZKAPEX_ERROR;
  } catch (const std::exception&) {
    text.clear();  // short enough to need no memory
    text = "no memory";
    return ZKAPEX_ERROR;
  }
}

const char* zkapex_error_text(const zkapex_session* session) {
  return zkapex::capi::check_handle(session, Kind::kSession) ? session->error.c_str()
                                                             : zkapex::capi::without_session.c_str();
}

const char* zkapex_report(const zkapex_session* session) {
  return zkapex::capi::check_handle(session, Kind::kSession) ? session->report.c_str() : "{}";
}

void zkapex_free(void* handle) {
  if (handle == nullptr) return;
  auto* freed = static_cast<zkapex::capi::Handle*>(handle);
  if (freed->kind.exchange(Kind::kNone) != Kind::kNone) freed->release();
}
