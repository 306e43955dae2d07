// The provider's public HTTP interface (exchange/paths.h), over its records. What clients send is believed for what
// they signed, and for nothing else; the same request twice has the effect, and the answer, of one.
#pragma once

#include "exchange/answers.h"
#include "service/http_router.h"
#include "service/provider_folder.h"
#include "service/run_log.h"
#include "service/store_pool.h"

namespace zkapex {

// What handlers share. Everything outlives the server that they answer for.
struct ApiContext {
  const ProviderFolder& provider;
  StorePool& stores;
  RunLog& log;
  Clock clock;
};

// Why a request has no answer: something of the client's, or trouble of ours, of which clients are told nothing more.
struct ApiFailure {
  ProblemKind kind = ProblemKind::kInternal;
  std::string detail;
};
template <class T>
using ApiResult = Result<T, ApiFailure>;

// An error is ours.
template <class T>
[[nodiscard]] ApiResult<T> ours(Result<T> result) {
  if (result.ok()) return std::move(*result);
  return ApiFailure{ProblemKind::kInternal, result.error().message};
}
// An error is the client's.
template <class T>
[[nodiscard]] ApiResult<T> theirs(ProblemKind kind, Result<T> result) {
  if (result.ok()) return std::move(*result);
  return ApiFailure{kind, result.error().message};
}
// As an answer; ours is written to the log, and told as what may be tried again.
[[nodiscard]] HttpResponse answer(const ApiContext& context, const ApiResult<HttpResponse>& result);

// A refusal of the store as a problem.
[[nodiscard]] ApiFailure failure_of(Refusal refusal);

void add_api_reading(Router& router, const ApiContext& context);    // deployment, windows, verdicts, the log
void add_api_enrolment(Router& router, const ApiContext& context);  // clients
void add_api_delivery(Router& router, const ApiContext& context);   // registrations, updates, submissions
void add_api_uploads(Router& router, const ApiContext& context);    // their files
inline void add_api(Router& router, const ApiContext& context) {
  add_api_reading(router, context);
  add_api_enrolment(router, context);
  add_api_delivery(router, context);
  add_api_uploads(router, context);
}

[[nodiscard]] inline std::string_view text_of(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace zkapex
