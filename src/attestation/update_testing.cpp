#include "attestation/update_testing.h"

#include <gtest/gtest.h>

namespace zkapex::testing {

namespace {

WindowOptions guided(WindowOptions options) {
  options.op = Operator::kGuided;
  options.anchored = true;
  return options;
}

}  // namespace

TestUpdate::TestUpdate(WindowOptions options, ThreadPool& pool)
    : window(guided(std::move(options)), pool), next(window.options, pool), cut{window.deployment->layout().rows()} {
  const Layout& layout = window.deployment->layout();
  window.set_anchor({.ratio = 1000}, std::vector(layout.tensors().size(), Anchored::kNear));
  next.set_anchor({.ratio = 1000}, std::vector(layout.tensors().size(), Anchored::kNear));
  before = window.model.encoded;
  earlier = window.theta_p;
  for (const Scalar& blinding : window.model.all_blindings()) earlier_blindings.push_back(blinding);
  second.window = "window 2";
  second.op = Operator::kMaskOnly;
  second.predecessor = window.mask.digest();
  for (uint64_t c = 0; c < layout.coordinates(); ++c) {
    if (c % 11 == 3 || std::ranges::binary_search(window.mask.support, c)) second.support.push_back(c);
  }
  TestWindow after(window.options, pool);
  after.theta_p = window.theta_u;
  for (const uint64_t c : second.support) after.theta_p[layout.padded_index(c)] = 0;
  after.commit(pool);
  current = std::move(after.model);
  current_weights = after.theta_p;
  // It learns a little.
  std::mt19937_64 rng(17);
  next.theta_p = window.theta_u;
  for (uint64_t c = 0; c < layout.coordinates(); ++c) {
    const bool removed = std::ranges::binary_search(second.support, c);
    int64_t& weight = next.theta_p[layout.padded_index(c)];
    weight = removed ? 0 : weight + static_cast<int64_t>(rng() % 7) - 3;
  }
}

UpdateTerms TestUpdate::terms() const {
  UpdateTerms out{{}, {}, current.encoded, {{&window.mask, before}, {&second, {}}}, curvature};
  out.registration.fill(9);
  out.start.fill(4);
  return out;
}

RegistrationPlan TestUpdate::plan() const {
  const UpdateTerms of = terms();
  return RegistrationPlan::make(*window.deployment, cut, &of).value();
}

KnownModels TestUpdate::known() const {
  const auto opened = [this](const std::vector<int64_t>& weights, std::span<const Scalar> blindings) -> EarlierModel {
    return {[this, &weights](uint64_t first_row, std::span<int64_t> out) -> Status {
              const auto first = weights.begin() + static_cast<ptrdiff_t>(first_row * window.options.row);
              std::copy_n(first, out.size(), out.begin());
              return Done{};
            },
            blindings};
  };
  return {{opened(earlier, {earlier_blindings.data(), earlier_blindings.size()}), {}},
          opened(current_weights, current.all_blindings())};
}

Result<ProvedRegistration> TestUpdate::prove(const ModelReader& reader, ThreadPool& pool, Tamper* tamper) const {
  const UpdateTerms of = terms();
  const BaseRows base = window.base_rows();
  return prove_update({&*window.deployment, client, &base, &of}, plan(), reader, known(), 1 << 12, window.generators(),
                      pool, {.scratch = {}, .progress = go_on, .tamper = tamper});
}

Verdict TestUpdate::verify(const Proof& proof, const UpdateTerms& under, ThreadPool& pool) const {
  const BaseRows base = window.base_rows();
  const RegistrationPlan planned = RegistrationPlan::make(*window.deployment, cut, &under).value();
  ZKAPEX_TRY(const Proof decoded, Proof::decode(proof.encode(), planned.shape()));
  ZKAPEX_TRY(const PointSum sum,
             check_registration({&*window.deployment, client, &base, &under}, planned, decoded, pool));
  return verdict_var(sum, window.generators(), pool);
}

std::string TestUpdate::answer(const Proof& proof, ThreadPool& pool) const {
  const Verdict verdict = verify(proof, pool);
  return verdict.ok() ? "accepted" : std::string(name(verdict.error().reason));
}

std::string TestUpdate::refusal(ThreadPool& pool) const {
  const auto proved = prove(pool);
  return proved.ok() ? "(accepted)" : proved.error().message;
}

size_t TestUpdate::drawn_index(size_t tensor) const {
  const Layout& layout = window.deployment->layout();
  const LayoutTensor& in = layout.tensors()[layout.covered()[tensor]];
  const std::vector<int64_t> guide = window.guide();
  for (uint64_t c = in.first_coordinate; c < in.first_coordinate + in.count; ++c) {
    const uint64_t i = layout.padded_index(c);
    if (guide[i] != 0 && !std::ranges::binary_search(second.support, c)) return i;
  }
  ADD_FAILURE() << "the guide does not draw this tensor";
  return 0;
}

}  // namespace zkapex::testing
