// Parsing and verification of arbitrary bytes. The first byte chooses a statement and whether the rest is taken as it
// is or made as long as a proof has to be, with its magic in front: so that the checks behind the length are reached
// too. Never a crash; what is accepted encodes back to itself; time and memory are bounded by the statement.
#include <cstdlib>
#include <memory>

#include "argument/projected_range_relation.h"
#include "argument/range_relation.h"

namespace zkapex {
namespace {

constexpr std::array<uint8_t, 8> kMagic = {'z', 'k', 'a', 'p', 'e', 'x', 'P', 1};

const RangeStatement kRanges[] = {
    {"fuzz", 1, 1, {1}}, {"fuzz", 2, 2, {2}}, {"fuzz", 4, 3, {1, 2}}, {"fuzz", 0, 3, {1}}, {"fuzz", 4, 3, {}}};

const ProjectedRangeStatement kProjectedRanges[] = {
    {"fuzz", {.row_length = 2, .rows = 1, .chunk = 1, .count = 1, .bits = 2, .units = {1}}},
    {"fuzz", {.row_length = 4, .rows = 3, .chunk = 2, .count = 3, .bits = 4, .units = {4, 2}}},
    {"fuzz", {.row_length = 4, .rows = 3, .chunk = 3, .count = 3, .bits = 4, .units = {4, 2}}}};

struct Checked {
  Verdict verdict;
  ProofShape shape;
};

std::unique_ptr<Relation> chosen(uint8_t choice) {
  constexpr size_t kByBits = std::size(kRanges);
  if (const size_t k = choice & 7; k < kByBits) return std::make_unique<RangeRelation>(kRanges[k]);
  return std::make_unique<ProjectedRangeRelation>(kProjectedRanges[(choice & 7) - kByBits]);
}

Checked check_chosen(uint8_t choice, Bytes& proof) {
  const std::unique_ptr<Relation> kept = chosen(choice);
  const Relation& relation = *kept;
  const bool fit = (choice & 8) != 0, supported = relation.sound().ok();
  const ProofShape shape = supported ? relation.shape() : ProofShape{};
  if (fit && supported) {
    proof.resize(shape.bytes());
    std::copy(kMagic.begin(), kMagic.end(), proof.begin());
  }
  static ThreadPool pool(1);
  static const Generators generators = Generators::derive(256, pool);
  return {verify(relation, proof, generators, pool), shape};
}

void fuzz(ByteView input) {
  if (input.empty()) return;
  Bytes proof(input.begin() + 1, input.end());
  const Checked checked = check_chosen(input[0], proof);
  if (!checked.verdict.ok()) return;
  const Result<Proof, Rejection> decoded = Proof::decode(proof, checked.shape);
  if (!decoded.ok() || decoded->encode() != proof) std::abort();
}

}  // namespace
}  // namespace zkapex

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zkapex::fuzz({data, size});
  return 0;
}
