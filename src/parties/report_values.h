// What a step of a client or a provider did, as named values: the same for programs, libraries and services.
#pragma once

#include "base/json.h"
#include "curvature/build.h"
#include "parties/deploy.h"
#include "parties/register_client.h"
#include "parties/request.h"
#include "parties/settle.h"
#include "parties/trial.h"
#include "parties/unlearn.h"
#include "parties/update.h"

namespace zkapex {

[[nodiscard]] nlohmann::ordered_json timings_as_json(const Timings& timings);
[[nodiscard]] nlohmann::ordered_json history_as_json(const History& history);

[[nodiscard]] nlohmann::ordered_json as_json(const DeployReport& done);
// A store that is finished, with what became of the blocks that were made in this run.
[[nodiscard]] nlohmann::ordered_json store_as_json(const Path& file, const StoreHeader& header, uint64_t resumed,
                                                   const StoreStatistics& made);
// What a request says, without its file.
void describe(const Mask& mask, uint64_t covered, nlohmann::ordered_json& values);
[[nodiscard]] nlohmann::ordered_json as_json(const RequestReport& done);
[[nodiscard]] nlohmann::ordered_json as_json(const RegisterRequest& request, const RegisterReport& done);
[[nodiscard]] nlohmann::ordered_json as_json(const UnlearnReport& done);
[[nodiscard]] nlohmann::ordered_json as_json(const TrialReport& tried);
[[nodiscard]] nlohmann::ordered_json as_json(const UpdateRequest& request, const UpdateReport& done);
[[nodiscard]] nlohmann::ordered_json as_json(const SettleRequest& request, const SettleReport& done);
[[nodiscard]] nlohmann::ordered_json as_json(const SettleUpdateRequest& request, const SettleUpdateReport& done);

}  // namespace zkapex
