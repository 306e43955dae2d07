#include "attestation/window_testing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace zkapex::testing {

namespace {

constexpr uint64_t kOthers = 3;

std::shared_ptr<const Generators> shared_generators(ThreadPool& pool) {
  static const auto generators = std::make_shared<const Generators>(Generators::derive(2048, pool));
  return generators;
}

// Solves a x = b in place by elimination; a is positive definite.
void solve_dense(std::vector<double> a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t k = 0; k < n; ++k) {
    for (size_t i = k + 1; i < n; ++i) {
      const double f = a[i * n + k] / a[k * n + k];
      for (size_t j = k; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
      b[i] -= f * b[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] /= a[k * n + k];
  }
}

}  // namespace

TestWindow::TestWindow(const WindowOptions& o, ThreadPool& pool) : options(o), generators_(shared_generators(pool)) {
  std::mt19937_64 rng(options.seed);
  std::vector<TensorInfo> tensors;
  for (size_t k = 0; k < options.tensors.size(); ++k) {
    tensors.push_back({.name = fmt::format("covered.{}", k), .dtype = Dtype::kF32, .shape = {options.tensors[k]}});
  }
  tensors.push_back({.name = "other", .dtype = Dtype::kF32, .shape = {kOthers}});
  const Geometry geometry{.block = options.block, .row = options.row};
  Layout layout = *Layout::make(tensors, CoverPatterns{"covered.*"}, geometry);
  Parameters parameters{.curvature_bits = options.bits,
                        .weights = options.weights,
                        .floor = options.floor,
                        .error = {.digits = 1, .places = 1},
                        .cap_numerator = 64,
                        .cap_denominator = 1};
  deployment = *Deployment::make(std::move(layout), parameters);

  const Layout& l = deployment->layout();
  theta_p.assign(l.padded_size(), 0);
  for (uint64_t c = 0; c < l.coordinates(); ++c) {
    theta_p[l.padded_index(c)] = static_cast<int64_t>(rng() % (uint64_t{1} << (options.weights.width - 3))) -
                                 (int64_t{1} << (options.weights.width - 4));
    if (static_cast<double>(rng() % 1000) < 1000 * options.density) mask.support.push_back(c);
  }
  const uint64_t s = geometry.stride();
  factors.assign(l.slots() * s * s, 0);
  for (uint64_t slot = 0; slot < l.slots(); ++slot) {
    for (uint64_t j = 0; j < options.block; ++j) {
      for (uint64_t k = 0; k <= j; ++k) {
        const auto most = (int64_t{1} << (options.bits - 1)) - 1;
        factors[(slot * s + j) * s + k] =
            static_cast<int8_t>(static_cast<int64_t>(rng() % (2 * static_cast<uint64_t>(most) + 1)) - most);
      }
    }
  }
  if (options.anchored) {
    base = theta_p;
    for (uint64_t c = 0; c < l.coordinates(); ++c) base[l.padded_index(c)] += static_cast<int64_t>(rng() % 41) - 20;
    base_others.assign(l.unchanged_rows() * geometry.row, 0);
    std::fill_n(base_others.begin(), kOthers, 7);
    set_anchor({}, std::vector(l.tensors().size(), Anchored::kNear));
  }
  mask.deployment = deployment->digest();
  mask.window = "window 1";
  mask.nonce.fill(7);
  mask.op = options.op;
  if (options.op == Operator::kGuided) make_guide(rng);
  solve();
  commit(pool);
}

// A quarter of the range of weights, up or down.
void TestWindow::make_guide(std::mt19937_64& rng) {
  const Layout& layout = deployment->layout();
  GuideMaker maker(*deployment, mask.support);
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    std::vector<double> displacement(layout.block(b).count);
    for (double& v : displacement) {
      const double size = std::ldexp(1.0, static_cast<int>(options.weights.width - 5 - options.weights.fraction_bits));
      v = rng() % 3 == 0 ? 0 : rng() % 2 == 0 ? size : -size;
    }
    EXPECT_TRUE(maker.add_block(displacement).ok());
  }
  mask.guidance = {options.pull, options.progress, options.distance, options.distance_removed, maker.finish()};
}

std::vector<int64_t> TestWindow::guide() const {
  const Layout& layout = deployment->layout();
  std::vector<int64_t> out(theta_p.size());
  if (!mask.guidance) return out;
  const GuideReader reader(layout, mask.support, mask.guidance->guide);
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    const Layout::Block block = layout.block(b);
    reader.read(b, std::span(out).subspan(block.slot * layout.geometry().stride(), block.count));
  }
  return out;
}

std::vector<RuleSums> TestWindow::rule_sums() const {
  const Layout& layout = deployment->layout();
  const std::vector<int64_t> delta = guide();
  std::vector<RuleSums> out;
  for (const RowGroup& group : row_groups(layout, mask)) {
    RuleSums& sums = out.emplace_back();
    for (uint64_t c = 0; c < layout.coordinates(); ++c) {
      const uint64_t i = layout.padded_index(c), row = i / layout.geometry().row;
      if (row < group.first_row || row >= group.first_row + group.rows) continue;
      const int128 x = theta_u[i] - theta_p[i], followed = x * delta[i];
      (std::ranges::binary_search(mask.support, c) ? sums.removed : sums.moved) += Wide::square_of(x);
      (followed < 0 ? sums.backward : sums.forward) +=
          Wide::from(static_cast<uint128>(followed < 0 ? -followed : followed));
      sums.guide += Wide::square_of(delta[i]);
    }
  }
  return out;
}

std::vector<double> TestWindow::curvature_matrix(uint64_t slot) const {
  const uint64_t s = deployment->layout().geometry().stride();
  std::vector<double> a(s * s);
  for (uint64_t i = 0; i < s; ++i) {
    for (uint64_t j = 0; j < s; ++j) {
      for (uint64_t k = 0; k < s; ++k)
        a[i * s + j] += static_cast<double>(factors[(slot * s + i) * s + k]) * factors[(slot * s + j) * s + k];
    }
    a[i * s + i] += static_cast<double>(options.floor + (mask.guidance ? mask.guidance->pull : 0));
  }
  return a;
}

void TestWindow::solve() {
  const Layout& layout = deployment->layout();
  const uint64_t s = layout.geometry().stride();
  theta_u = theta_p;
  std::vector<bool> masked(theta_p.size());
  for (const uint64_t c : mask.support) masked[layout.padded_index(c)] = true;
  for (size_t i = 0; i < masked.size(); ++i) {
    if (masked[i]) theta_u[i] = 0;
  }
  if (mask.op == Operator::kMaskOnly) return;
  const std::vector<int64_t> delta = guide();
  const double pull = mask.guidance ? static_cast<double>(mask.guidance->pull) : 0;
  for (uint64_t slot = 0; slot < layout.slots(); ++slot) {
    std::vector<uint64_t> free;
    for (uint64_t j = 0; j < s; ++j) {
      if (layout.coordinate(slot * s + j) && !masked[slot * s + j]) free.push_back(j);
    }
    const std::vector<double> a = curvature_matrix(slot);
    std::vector<double> sub, rhs;
    for (const uint64_t i : free) {
      double sum = pull * static_cast<double>(delta[slot * s + i]);
      for (uint64_t j = 0; j < s; ++j) {
        if (masked[slot * s + j]) sum += a[i * s + j] * static_cast<double>(theta_p[slot * s + j]);
      }
      rhs.push_back(sum);  // t Δ − A_CM x_M with x_M = −θ_M
      for (const uint64_t j : free) sub.push_back(a[i * s + j]);
    }
    solve_dense(sub, rhs);
    for (size_t k = 0; k < free.size(); ++k) theta_u[slot * s + free[k]] += std::llround(rhs[k]);
  }
}

void TestWindow::commit(ThreadPool& pool) {
  Nonces nonces = *Nonces::create({view("test")});
  const Layout& layout = deployment->layout();
  const uint64_t n = layout.geometry().row;
  model = *commit_integers_var(*generators_, theta_p, n, nonces, pool);
  curvature = *commit_rows_var(*generators_, *view_rows(factors, n), nonces, pool);
  others.assign(layout.unchanged_rows() * n, 0);
  std::fill_n(others.begin(), kOthers, 5);
  unchanged = *commit_integers_var(*generators_, others, n, nonces, pool);
}

void TestWindow::set_anchor(const AnchorLimits& limits, std::vector<Anchored> tensors) {
  const Layout& layout = deployment->layout();
  const uint64_t n = layout.geometry().row;
  Anchor anchor{limits, {}, std::move(tensors), std::vector<Wide>(layout.tensors().size())};
  anchor.base.fill(3);
  for (size_t k = 0; k < layout.tensors().size(); ++k) {
    if (anchor.tensors[k] != Anchored::kNear) continue;
    const LayoutTensor& tensor = layout.tensors()[k];
    const std::vector<int64_t>& rows = tensor.covered ? base : base_others;
    for (uint64_t i = 0; i < (tensor.covered ? tensor.rows * n : tensor.count); ++i)
      anchor.squares[k] += Wide::square_of(rows[tensor.first_row * n + i]);
  }
  deployment = *Deployment::make(layout, deployment->parameters(), std::move(anchor));
}

BaseRows TestWindow::base_rows() const {
  const auto reader = [n = options.row](const std::vector<int64_t>& rows) {
    return [&rows, n](uint64_t first_row, std::span<int64_t> out) -> Status {
      std::copy_n(rows.begin() + static_cast<ptrdiff_t>(first_row * n), out.size(), out.begin());
      return Done{};
    };
  };
  return {reader(base), reader(base_others)};
}

WindowStatement TestWindow::statement() const {
  WindowStatement out{.deployment = &*deployment,
                      .mask = &mask,
                      .client = "client 1",
                      .registration = {},
                      .start = {},
                      .model = model.encoded,
                      .curvature = curvature.encoded,
                      .unchanged = unchanged.encoded};
  out.registration.fill(9);
  return out;
}

WindowPlan TestWindow::plan() const {
  return *WindowPlan::make(*deployment, mask, cut_rows(deployment->layout().rows(), options.rows_per_segment));
}

Result<WindowProof> TestWindow::prove(ThreadPool& pool, Tamper* tamper) const {
  const WindowPlan p = plan();
  const Before before(*this);
  const After after(*this);
  ZKAPEX_TRY(const WindowBits bits, WindowBits::make(*deployment, mask, p, before, after, pool));
  const ModelOpenings openings{model.all_blindings(), curvature.all_blindings()};
  return prove_window(statement(), p, bits, before, openings, *generators_, pool,
                      {.scratch = {}, .progress = go_on, .tamper = tamper});
}

Verdict TestWindow::verify(const Proof& proof, ThreadPool& pool) const {
  const WindowPlan p = plan();
  ZKAPEX_TRY(const Proof decoded, Proof::decode(proof.encode(), p.shape()));
  ZKAPEX_TRY(const PointSum sum, check_window(statement(), p, decoded, pool));
  return verdict_var(sum, *generators_, pool);
}

Status TestWindow::Before::weights(uint64_t first_row, std::span<int64_t> out) const {
  std::copy_n(window.theta_p.begin() + static_cast<ptrdiff_t>(first_row * window.options.row), out.size(), out.begin());
  return Done{};
}

Status TestWindow::After::weights(uint64_t first_row, std::span<int64_t> out) const {
  std::copy_n(window.theta_u.begin() + static_cast<ptrdiff_t>(first_row * window.options.row), out.size(), out.begin());
  return Done{};
}

Wide TestWindow::residual(uint64_t slot) const {
  const Layout& layout = deployment->layout();
  const uint64_t s = layout.geometry().stride();
  const std::vector<double> a = curvature_matrix(slot);
  std::vector<bool> masked(s);
  for (const uint64_t c : mask.support) {
    const uint64_t i = layout.padded_index(c);
    if (i / s == slot) masked[i % s] = true;
  }
  const std::vector<int64_t> delta = guide();
  Wide sum;
  for (uint64_t i = 0; i < s; ++i) {
    if (!layout.coordinate(slot * s + i) || masked[i]) continue;
    int128 y = mask.guidance ? -static_cast<int128>(mask.guidance->pull) * delta[slot * s + i] : 0;
    for (uint64_t j = 0; j < s; ++j)  // entries of a are small integers
      y += static_cast<int128>(a[i * s + j]) * (theta_u[slot * s + j] - theta_p[slot * s + j]);
    sum += Wide::square_of(y);
  }
  return sum;
}

Status TestWindow::Before::unchanged(uint64_t first_row, std::span<int64_t> out) const {
  const uint64_t n = window.options.row;
  std::copy_n(window.others.begin() + static_cast<ptrdiff_t>(first_row * n), out.size(), out.begin());
  return Done{};
}

Status TestWindow::Before::triangles(uint64_t first_slot, uint64_t slots, Triangles& out) const {
  const Geometry& geometry = window.deployment->layout().geometry();
  const uint64_t s = geometry.stride();
  out.resize(geometry.block, false, slots);
  auto to = out.narrow_entries.begin();
  for (uint64_t row = 0; row < slots * s; ++row) {
    const auto from = window.factors.begin() + static_cast<ptrdiff_t>((first_slot * s + row) * s);
    if (row % s < geometry.block) to = std::copy_n(from, row % s + 1, to);
  }
  return Done{};
}

Status TestWindow::Before::square_rows(uint64_t slot, uint64_t first, std::span<int8_t> out) const {
  const uint64_t s = window.deployment->layout().geometry().stride();
  std::copy_n(window.factors.begin() + static_cast<ptrdiff_t>((slot * s + first) * s), out.size(), out.begin());
  return Done{};
}

Status TestWindow::Before::square_rows(uint64_t, uint64_t, std::span<int16_t>) const {
  return error("the factors of these windows have 8 bits at most");
}

Result<Sha512::Digest> TestWindow::Before::digest(ThreadPool&) const {
  Sha512 hash;
  hash.update({reinterpret_cast<const uint8_t*>(window.theta_p.data()), window.theta_p.size() * sizeof(int64_t)});
  hash.update({reinterpret_cast<const uint8_t*>(window.factors.data()), window.factors.size()});
  hash.update({reinterpret_cast<const uint8_t*>(window.others.data()), window.others.size() * sizeof(int64_t)});
  return hash.finish();
}

}  // namespace zkapex::testing
