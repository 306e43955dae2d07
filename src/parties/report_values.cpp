#include "parties/report_values.h"

#include "parties/describe.h"

namespace zkapex {

namespace {

// Which tensors the model now has in a wider type, by types.
void put_widened(const std::vector<Widened>& widened, nlohmann::ordered_json& values) {
  values["widened_tensors"] = widened.size();
  values["widened"] = nlohmann::ordered_json::object();
  for (const Widened& tensor : widened) {
    auto& names = values["widened"][fmt::format("{} to {}", dtype_name(tensor.from), dtype_name(tensor.to))];
    names.push_back(tensor.tensor);
  }
}

}  // namespace

nlohmann::ordered_json timings_as_json(const Timings& timings) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, seconds] : timings.parts) out[name] = seconds;
  return out;
}

nlohmann::ordered_json history_as_json(const History& history) {
  auto out = nlohmann::ordered_json::array();
  for (const AppliedWindow& applied : history)
    out.push_back({{"window", applied.window}, {"mask", to_hex(applied.mask)}});
  return out;
}

nlohmann::ordered_json as_json(const DeployReport& done) {
  nlohmann::ordered_json values;
  values["file_bytes"] = done.file_bytes;
  describe(done.deployment, values);
  values["sha256"] = to_hex(done.sha256);
  values["proof_of_a_window_bytes"] = done.proof_bytes;
  values["covered"] = covered_names(done.deployment);
  return values;
}

nlohmann::ordered_json store_as_json(const Path& file, const StoreHeader& header, uint64_t resumed,
                                     const StoreStatistics& made) {
  nlohmann::ordered_json values;
  values["file_bytes"] = std::filesystem::file_size(file);
  values["deployment"] = to_hex(header.deployment);
  values["blocks"] = header.blocks;
  values["blocks_from_an_earlier_run"] = resumed;
  values["rank_deficient"] = made.rank_deficient;
  values["zero"] = made.zero;
  values["damping_raised"] = made.raised;
  values["largest_damping_ratio"] = made.largest_damping_ratio;
  values["largest_condition"] = made.largest_condition;
  values["mean_log10_condition"] = made.mean_log10_condition;
  return values;
}

void describe(const Mask& mask, uint64_t covered, nlohmann::ordered_json& values) {
  values["window"] = mask.window;
  values["operator"] = name(mask.op);
  values["masked"] = mask.support.size();
  values["covered_weights"] = covered;
  describe(mask.guidance, values);
  values["nonce"] = to_hex(mask.nonce);
  if (mask.predecessor != Sha256::Digest{}) values["predecessor"] = to_hex(mask.predecessor);
}

nlohmann::ordered_json as_json(const RequestReport& done) {
  nlohmann::ordered_json values;
  values["file_bytes"] = done.file_bytes;
  values["mask"] = to_hex(done.mask.digest());
  values["sha256"] = to_hex(done.sha256);
  describe(done.mask, done.covered, values);
  if (values.contains("predecessor")) values["masked_before"] = done.before;
  return values;
}

nlohmann::ordered_json as_json(const RegisterRequest& request, const RegisterReport& done) {
  nlohmann::ordered_json values;
  values["client"] = request.client;
  values["registration"] = to_hex(done.registration);
  values["registration_sha256"] = to_hex(done.registration_sha256);
  values["registration_bytes"] = done.registration_bytes;
  values["seconds"] = timings_as_json(done.seconds);
  return values;
}

nlohmann::ordered_json as_json(const UnlearnReport& done) {
  nlohmann::ordered_json values;
  values["operator"] = name(done.op);
  values["window"] = done.attempt.window;
  values["attempt"] = done.attempt.id;
  values["masked"] = done.masked;
  values["blocks"] = done.summary.blocks;
  values["proof_bytes"] = done.proof_bytes;
  values["proof_sha256"] = to_hex(done.proof_sha256);
  if (done.op != Operator::kMaskOnly) {
    values["masked_blocks"] = done.summary.masked_blocks;
    values["blocks_in_double_precision"] = done.summary.double_precision;
    values["blocks_rounded_along_the_factor"] = done.summary.nearest_plane;
  }
  put_widened(done.widened, values);
  values["seconds"] = timings_as_json(done.seconds);
  return values;
}

nlohmann::ordered_json as_json(const TrialReport& tried) {
  nlohmann::ordered_json values;
  values["operator"] = name(tried.op);
  values["masked"] = tried.masked;
  values["rules_hold"] = tried.broken.empty();
  if (!tried.broken.empty()) values["broken"] = tried.broken;
  auto& tensors = values["tensors"] = nlohmann::ordered_json::array();
  for (const FollowedTensor& tensor : tried.tensors) {
    tensors.push_back({{"name", tensor.name}, {"progress", tensor.progress}, {"distance", tensor.distance}});
  }
  put_widened(tried.widened, values);
  return values;
}

nlohmann::ordered_json as_json(const UpdateRequest& request, const UpdateReport& done) {
  nlohmann::ordered_json values;
  values["update"] = to_hex(done.update);
  values["attempt"] = done.attempt;
  values["curvature"] = request.store.empty() ? "as before" : "new";
  values["update_sha256"] = to_hex(done.update_sha256);
  values["update_bytes"] = done.update_bytes;
  values["seconds"] = timings_as_json(done.seconds);
  return values;
}

nlohmann::ordered_json as_json(const SettleRequest& request, const SettleReport& done) {
  nlohmann::ordered_json values;
  values["window"] = done.window;
  values["verdict"] = request.accepted ? "accepted" : "rejected";
  values["settled_before"] = done.before;
  values["attempts"] = done.attempts;
  if (!done.dropped.empty()) values["dropped_windows"] = done.dropped;
  values["windows"] = history_as_json(done.windows);
  return values;
}

nlohmann::ordered_json as_json(const SettleUpdateRequest& request, const SettleUpdateReport& done) {
  nlohmann::ordered_json values;
  values["verdict"] = request.accepted ? "accepted" : "rejected";
  values["settled_before"] = done.before;
  values["attempts"] = done.attempts;
  if (done.update != Sha256::Digest{}) values["update"] = to_hex(done.update);
  return values;
}

}  // namespace zkapex
