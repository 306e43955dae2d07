// The demo's dishonest clients: what they hand in, and why it is rejected. All play bob, with everything bob has.
#include "demo/cheats.h"
#include "attestation/inputs.h"
#include "parties/client_window.h"
#include "parties/inbox.h"
#include "parties/judge.h"
#include "parties/ledger.h"
#include "parties/unlearn.h"

namespace zkapex::demo {

namespace {

// A prover that goes on where an honest one would stop: where what it is to prove is false.
class Unscrupulous : public Tamper {
 public:
  void send(const std::string&, std::string_view, std::span<Scalar>, std::span<const Scalar>, const Scalar&) override {}
};

struct Cheat {
  std::string name, story;
};

class Cheater {
 public:
  Cheater(DemoRun& run, Deployment deployment, Mask mask)
      : run_(run),
        deployment_(std::move(deployment)),
        mask_(std::move(mask)),
        honest_(run.settings.clients.front()),
        victim_(run.settings.clients.back()) {}

  // Answers a request of its own, which removes one weight and draws nowhere, and relabels the proof.
  Status skip_request(const Path& to) {
    Mask light = mask_;
    light.support.resize(1);
    ZKAPEX_TRY(light.guidance->guide, no_guide(light));
    ZKAPEX_CHECK(write_file(scratch() / "light.zka", light.serialize()));
    ZKAPEX_TRY(const Path state, copy_of_state());
    ZKAPEX_CHECK(unlearn({.client = state,
                          .mask = scratch() / "light.zka",
                          .model_out = scratch() / "light.safetensors",
                          .proof_out = scratch() / "light-proof.zka",
                          .model = {},
                          .store = {}},
                         run_.work));
    ZKAPEX_TRY(ProofFile file, read_public_file<ProofFile>(scratch() / "light-proof.zka"));
    file.mask = mask_.digest();
    return hand_in(file, to);
  }

  // Applies the mask, but in one block moves the other weights twice as far as the operator says, and claims the
  // residual of the honest result.
  Status forge_step(const Path& to) {
    ZKAPEX_TRY(const Path folder, copy_of_state());
    ZKAPEX_TRY(const WindowInputs inputs,
               WindowInputs::open({.client = folder, .mask = run_.files.mask(), .model = {}, .store = {}}));
    ZKAPEX_TRY(const WindowPlan plan, plan_window(deployment_, mask_, run_.work));
    const Generators generators = load_generators(plan.shape().generators(), run_.work);
    ZKAPEX_TRY(const Client bob, inputs.client());
    ZKAPEX_TRY(AppliedOperator applied, apply_operator(bob, mask_, scratch(), run_.work));
    ZKAPEX_CHECK(overshoot(bob, applied.after));
    Unscrupulous tamper;
    ZKAPEX_TRY(const ProvedWindow proved,
               attest_window(bob, mask_, plan, applied.after, scratch(), generators, run_.work, &tamper));
    return hand_in(proved.file, to);
  }

  // Hands in the proof of the honest client, as it is or with bob's name on it.
  Status borrow_proof(const Path& to, bool relabel) {
    ZKAPEX_TRY(ProofFile file, read_public_file<ProofFile>(run_.files.proof(honest_)));
    if (relabel) {
      ZKAPEX_TRY(const ProofFile own, read_public_file<ProofFile>(run_.files.proof(victim_)));
      file.client = own.client;
      file.registration = own.registration;
      file.model = own.model;
    }
    return hand_in(file, to);
  }

  [[nodiscard]] Path scratch() const { return run_.files.cheat_scratch(); }

 private:
  // As it was before the window.
  Result<Path> copy_of_state() {
    const Path to = scratch() / "state";
    std::error_code failed;
    std::filesystem::remove_all(to, failed);
    std::filesystem::copy(run_.files.registered_state(), to, failed);
    if (failed) return error("cannot copy the state of {}: {}", victim_, failed.message());
    return to;
  }

  // Δ = 0.
  Result<Guide> no_guide(const Mask& mask) const {
    GuideMaker maker(deployment_, mask.support);
    for (uint64_t b = 0; b < deployment_.layout().blocks(); ++b) {
      ZKAPEX_CHECK(maker.add_block(std::vector<double>(deployment_.layout().block(b).count)));
    }
    return maker.finish();
  }

  // Moves the weights of the first block that compensates twice as far; its residual stays what it was.
  Status overshoot(const Client& client, UnlearnedModel& after) const {
    const Layout& layout = deployment_.layout();
    for (uint64_t b = 0; b < layout.blocks(); ++b) {
      const Layout::Block block = layout.block(b);
      std::vector<int64_t> before(block.count), theta(block.count);
      ZKAPEX_CHECK(client.read(block.first_coordinate, before));
      ZKAPEX_CHECK(after.read(block.first_coordinate, theta));
      bool moved = false;
      for (size_t k = 0; k < theta.size(); ++k) {
        if (theta[k] == 0) continue;
        moved |= theta[k] != before[k];
        theta[k] += theta[k] - before[k];
      }
      if (!moved) continue;
      return after.set_block(block, theta, after.residual(block.slot));
    }
    return error("the mask leaves nothing to compensate");
  }

  Status hand_in(const ProofFile& file, const Path& to) const {
    ZKAPEX_CHECK(make_folder(to));
    return write_file(to / "proof.zka", file.encode());
  }

  DemoRun& run_;
  Deployment deployment_;
  Mask mask_;
  std::string honest_, victim_;
};

Status tell_of(DemoRun& run, const Cheat& cheat, const std::optional<Rejection>& rejection) {
  run.report["cheats"].push_back({{"name", cheat.name},
                                  {"what", cheat.story},
                                  {"verdict", rejection ? "rejected" : "accepted"},
                                  {"reason", rejection ? name(rejection->reason) : ""},
                                  {"detail", rejection ? rejection->detail : ""}});
  if (!rejection) return error("a cheating client was accepted: it {}", cheat.story);
  run.tell.say(fmt::format("    {}: rejected ({}): {}", cheat.story, name(rejection->reason), rejection->detail));
  return Done{};
}

}  // namespace

Status catch_cheats(DemoRun& run) {
  run.tell.step("cheater", fmt::format("plays {}, with all of {}'s secrets, and tries not to forget",
                                       run.settings.clients.back(), run.settings.clients.back()));
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), deployment));
  Cheater cheater(run, deployment, mask);
  ZKAPEX_CHECK(make_folder(cheater.scratch()));
  const std::string& honest = run.settings.clients.front();
  const std::vector<Cheat> cheats = {
      {"request-skipped", "zeroes one weight of the mask, and follows no guide"},
      {"step-forged", "moves a single block twice as far as the operator says"},
      {"anothers-proof", fmt::format("hands in {}'s proof as it is", honest)},
      {"anothers-proof-relabelled", fmt::format("hands in {}'s proof under its own name", honest)}};
  const auto folder = [&](size_t k) { return run.files.cheats() / cheats[k].name; };
  ZKAPEX_CHECK(cheater.skip_request(folder(0)));
  ZKAPEX_CHECK(cheater.forge_step(folder(1)));
  ZKAPEX_CHECK(cheater.borrow_proof(folder(2), false));
  ZKAPEX_CHECK(cheater.borrow_proof(folder(3), true));

  // The batch again, with cheats in the place of the one who cheats.
  ZKAPEX_TRY(const std::vector<Judgement> judgements, [&]() -> Result<std::vector<Judgement>> {
    ZKAPEX_TRY(const Ledger ledger, Ledger::open(run.files.earlier_ledger()));
    ZKAPEX_TRY(const size_t longest, longest_proof_file(deployment, mask));
    std::vector<Submission> submissions;
    for (size_t k = 0; k <= cheats.size(); ++k) {
      const Path from = k == 0 ? run.files.inbox(honest) : folder(k - 1);
      submissions.push_back([path = from / "proof.zka", longest] { return read_handed_in(path, longest); });
    }
    return judge(ledger, mask, submissions, run.work);
  }());
  ZKAPEX_TRY(const std::optional<Rejection> redundant, register_redundant(run, cheater.scratch()));
  std::error_code ignored;
  std::filesystem::remove_all(cheater.scratch(), ignored);
  if (judgements[0].rejection) return error("{} was honest, but its proof was rejected among cheats", honest);
  for (size_t k = 0; k < cheats.size(); ++k) {
    ZKAPEX_CHECK(tell_of(run, cheats[k], judgements[k + 1].rejection));
  }
  return tell_of(run, {"redundant", "is new, and registers a model with every feature in two copies"}, redundant);
}

}  // namespace zkapex::demo
