// Arbitrary submissions to a verifier: the file formats' own bytes, and proofs of the right length made of points and
// scalars that are well formed. Never a crash, and never accepted.
#include <algorithm>
#include <cstdlib>

#include "attestation/registration_verifier.h"
#include "attestation/window_verifier.h"
#include "parties/provider.h"

namespace zkapex {
namespace {

// What the verifier has of its own: a deployment with 41 covered weights, a mask, and a registered client.
struct Provider {
  ThreadPool pool{1};
  Generators generators = Generators::derive(4096, pool);
  std::vector<EncodedPoint> points;
  Deployment deployment =
      *Deployment::make(*Layout::make({{"a", Dtype::kF32, {31}}, {"b", Dtype::kF32, {10}}, {"c", Dtype::kF32, {3}}},
                                      {"a", "b"}, {.block = 3, .row = 64}),
                        {.curvature_bits = 3,
                         .weights = {.fraction_bits = 4, .width = 6},
                         .floor = 3,
                         .error = {.digits = 5, .places = 1},
                         .cap_numerator = 2});
  BaseRows base{zeros, zeros};
  Mask mask;
  Registered registered;

  static Status zeros(uint64_t, std::span<int64_t> out) {
    std::ranges::fill(out, 0);
    return Done{};
  }

  Provider() {
    const Anchor anchor{.limits = {.drift = {.digits = 1, .places = 0}},
                        .base = {},
                        .tensors = std::vector(3, Anchored::kNear),
                        .squares = std::vector<Wide>(3)};
    deployment = *Deployment::make(deployment.layout(), deployment.parameters(), anchor);
    for (uint64_t k = 1; k <= 16; ++k) {
      points.push_back(multiply(generators.blinding(), Scalar::from_u64(k)).encode());
    }
    mask.deployment = deployment.digest();
    mask.window = "w";
    mask.support = {0, 5, 30, 31, 40};
    const Layout& layout = deployment.layout();
    registered.client = "c";
    registered.unchanged.assign(layout.unchanged_rows(), points[0]);
    registered.curvature.assign(curvature_rows(layout), points[1]);
    registered.model.rows.assign(layout.rows(), points[2]);
  }
};

// The input as a source of small choices; zeros behind its end.
class Choices {
 public:
  explicit Choices(ByteView input) : rest_(input) {}
  uint8_t next() {
    if (rest_.empty()) return 0;
    const uint8_t first = rest_.front();
    rest_ = rest_.subspan(1);
    return first;
  }
  ByteView rest() const { return rest_; }

 private:
  ByteView rest_;
};

Segmentation cut(uint64_t rows, Choices& choices) {
  Segmentation out;
  while (rows > 0 && out.size() < 64) {
    out.push_back(1 + choices.next() % rows);
    rows -= out.back();
  }
  if (choices.next() == 1) out.push_back(choices.next());  // one that may not fit
  return out;
}

Bytes well_formed_proof(const ProofShape& shape, const Provider& provider, Choices& choices) {
  const auto point = [&] { return provider.points[choices.next() % provider.points.size()]; };
  const auto scalar = [&] { return Scalar::from_i64(static_cast<int8_t>(choices.next())); };
  const auto fill = [](auto& list, size_t count, const auto& make) {
    std::generate_n(std::back_inserter(list), count, make);
  };
  Proof proof;
  fill(proof.rows, shape.rows, point);
  proof.pads = point();
  for (const size_t count : shape.forks) fill(proof.forks.emplace_back(), count, scalar);
  fill(proof.main, shape.main_scalars(), scalar);
  fill(proof.masked_factors, 2 * shape.products, scalar);
  proof.opening.mask = point();
  proof.opening.mask_value = scalar();
  proof.opening.blinding = scalar();
  fill(proof.opening.left, shape.opening_rounds(), point);
  fill(proof.opening.right, shape.opening_rounds(), point);
  proof.opening.last = scalar();
  return proof.encode();
}

void require_refused(bool accepted) {
  if (accepted) std::abort();
}

// A guide that fits the deployment, with numbers of the input's choice.
Guidance some_guidance(const Deployment& deployment, const Mask& mask, Choices& choices) {
  const Layout& layout = deployment.layout();
  const auto next = [&](uint64_t count) { return choices.next() % count; };
  Guidance out{.pull = next(256) << next(40),
               .progress = static_cast<uint32_t>(4 * next(251)),
               .distance = static_cast<uint32_t>(next(256) << next(12)),
               .distance_removed = static_cast<uint32_t>(next(256) << next(12)),
               .guide = {}};
  for (size_t k = 0; k < layout.covered().size(); ++k) {
    out.guide.scales.push_back(next(256) % (static_cast<uint64_t>(deployment.parameters().weights.max()) + 1));
  }
  for (uint64_t b = 0; b < layout.blocks(); ++b) out.guide.levels.push_back(static_cast<uint8_t>(next(16)));
  const uint64_t trits = layout.coordinates() - mask.support.size();
  for (uint64_t k = 0; k < trits; k += Guide::kTritsPerByte) {
    out.guide.trits.push_back(k + Guide::kTritsPerByte <= trits ? static_cast<uint8_t>(next(243)) : 0);
  }
  return out;
}

void fuzz_window(Provider& provider, Choices choices) {
  ProofFile file;
  Mask mask = provider.mask;
  mask.op = kOperators[choices.next() % kOperators.size()];
  if (mask.op == Operator::kGuided) mask.guidance = some_guidance(provider.deployment, mask, choices);
  file.segmentation = cut(provider.deployment.layout().rows(), choices);
  const auto plan = WindowPlan::make(provider.deployment, mask, file.segmentation);
  if (plan.ok()) file.proof = well_formed_proof(plan->shape(), provider, choices);
  file.deployment = provider.deployment.digest();
  file.mask = mask.digest();
  file.model = provider.registered.model.digest();
  file.client = provider.registered.client;
  file.window = mask.window;
  require_refused(verify_window_file(provider.deployment, {provider.registered, provider.registered.model, {}}, mask,
                                     file, provider.generators, provider.pool)
                      .ok());
}

void fuzz_registration(Provider& provider, Choices choices) {
  const Layout& layout = provider.deployment.layout();
  RegistrationFile file;
  file.deployment = provider.deployment.digest();
  file.client = "c";
  file.cut = cut(layout.rows(), choices);
  const auto plan = RegistrationPlan::make(provider.deployment, file.cut);
  if (plan.ok()) file.proof = well_formed_proof(plan->shape(), provider, choices);
  require_refused(
      verify_registration_file(provider.deployment, &provider.base, file, provider.generators, provider.pool).ok());
  (void)assume_registration(provider.deployment, file);
}

// After one window, with a guide or without.
void fuzz_update(Provider& provider, Choices choices) {
  const Deployment& deployment = provider.deployment;
  std::vector<KeptWindow> windows = {{provider.mask, {}}};
  Mask& mask = windows[0].mask;
  if (choices.next() % 2 == 1) {
    mask.op = Operator::kGuided;
    mask.guidance = some_guidance(deployment, mask, choices);
    windows[0].before.assign(deployment.layout().rows(), provider.points[3]);
  }
  if (!mask.check_for(deployment).ok()) return;
  ClientRecord client{provider.registered, provider.registered.model, mask};
  client.current.windows = {{mask.window, mask.digest()}};
  UpdateFile file;
  file.deployment = deployment.digest();
  file.model = client.current.digest();
  file.client = provider.registered.client;
  file.curvature = choices.next() % 2 == 1;
  file.cut = cut(deployment.layout().rows(), choices);
  const UpdateTerms terms = update_terms(client, windows, file.curvature);
  const auto plan = RegistrationPlan::make(deployment, file.cut, &terms);
  if (plan.ok()) file.proof = well_formed_proof(plan->shape(), provider, choices);
  const auto checked = check_update_file(deployment, &provider.base, client, windows, file, provider.pool);
  require_refused(checked.ok() && verdict_var(checked->sum, provider.generators, provider.pool).ok());
}

// Contents of files as they are, with a right digest.
void fuzz_files(Provider& provider, ByteView input) {
  if (const auto file = ProofFile::decode(frame(ProofFile::kKind, input)); file.ok()) {
    require_refused(verify_window_file(provider.deployment, {provider.registered, provider.registered.model, {}},
                                       provider.mask, *file, provider.generators, provider.pool)
                        .ok());
  }
  if (const auto file = RegistrationFile::decode(frame(RegistrationFile::kKind, input)); file.ok()) {
    require_refused(
        verify_registration_file(provider.deployment, &provider.base, *file, provider.generators, provider.pool).ok());
  }
}

}  // namespace
}  // namespace zkapex

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static zkapex::Provider provider;
  zkapex::Choices choices({data, size});
  switch (choices.next() % 4) {
    case 0:
      zkapex::fuzz_window(provider, choices);
      break;
    case 1:
      zkapex::fuzz_registration(provider, choices);
      break;
    case 3:
      zkapex::fuzz_update(provider, choices);
      break;
    default:
      zkapex::fuzz_files(provider, choices.rest());
  }
  return 0;
}
