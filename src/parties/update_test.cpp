// A client that goes on learning between windows, and a provider that follows it.
#include "parties/update.h"

#include <cstdio>

#include "parties/admission.h"
#include "parties/client_folder_testing.h"
#include "parties/judge.h"
#include "parties/ledger.h"

namespace zkapex {
namespace {

using testing::ClientTest;

class ClientUpdate : public ClientTest {
 protected:
  static void SetUpTestSuite() {
    ClientTest::SetUpTestSuite();
    Mask mask = world_->mask;
    mask.window = "g1";
    mask.op = Operator::kGuided;
    mask.guidance = world_->some_guidance(0.1);
    ASSERT_TRUE(write_file(at("g1.zka"), mask.serialize()).ok());
  }
  void SetUp() override {
    ClientTest::SetUp();
    const Ledger provider = ledger();
    const auto admitted = admit(provider, &world_->base, file(client() / "registration.zka"), world_->settings);
    ASSERT_TRUE(admitted.ok() && !admitted->rejection);
  }
  void TearDown() override {
    std::filesystem::remove_all(at("ledger"));
    ClientTest::TearDown();
  }

  static Ledger ledger() { return *Ledger::open_or_create(at("ledger"), world_->deployment); }
  static Result<Bytes, Rejection> file(const Path& path) { return bytes(path); }
  static std::string told(const std::optional<Rejection>& rejection) {
    return rejection ? std::string(name(rejection->reason)) : "accepted";
  }
  // The provider's verdict on a window.
  static std::string judged(const std::string& mask_file, const std::string& out) {
    const Ledger provider = ledger();
    const Mask mask = *read_mask(at(mask_file + ".zka"), world_->deployment);
    const Submission submission = [&] { return file(at("out/" + out + ".zka")); };
    const auto judgements = judge(provider, mask, {&submission, 1}, world_->settings);
    EXPECT_TRUE(judgements.ok() && record(provider, mask, *judgements).ok());
    return told(judgements->front().rejection);
  }
  // A window from beginning to end.
  static void do_window(const std::string& mask_file) {
    compute(mask_file, mask_file);
    ASSERT_EQ(judged(mask_file, mask_file), "accepted");
    const auto settled = settle(verdict(true));
    ASSERT_TRUE(settled.ok()) << settled.error().message;
  }
  // The client's settled weights, each that is not zero moved by `step`, as a checkpoint.
  static std::vector<double> weights_moved_by(int64_t step) {
    const OpenSecret state = *OpenSecret::open(files().secret(), world_->deployment);
    std::vector<int64_t> integers(world_->deployment.layout().coordinates());
    EXPECT_TRUE(state.read(0, integers).ok());
    std::vector<double> out;
    for (const int64_t v : integers) out.push_back(static_cast<double>(v == 0 ? 0 : v + step) / 1024);
    return out;
  }
  static UpdateRequest request(const std::vector<double>& weights, const std::string& out = "update",
                               bool curvature = false) {
    std::filesystem::create_directories(at("out"));
    world_->write_model("out/" + out + ".safetensors", weights, {1, 2, 2.9375});
    return {.client = client(),
            .model = at("out/" + out + ".safetensors"),
            .store = curvature ? at("store.zka") : Path(),
            .base = world_->base_file(),
            .out = at("out/" + out + ".zka")};
  }
  static std::string refusal(const UpdateRequest& request) {
    const auto report = update(request, world_->settings);
    return report.ok() ? "" : report.error().message;
  }
  static UpdateAdmission admitted(const std::string& out) {
    const auto admission = admit_update(ledger(), &world_->base, file(at("out/" + out + ".zka")), world_->settings);
    if (admission.ok()) return *admission;
    ADD_FAILURE() << admission.error().message;
    UpdateAdmission none;
    none.rejection = Rejection{Reason::kFile, "no answer"};
    return none;
  }
  static std::string answer(const std::string& out) { return told(admitted(out).rejection); }
  static std::string settled(bool accepted, const Path& update = {}) {
    const auto report = settle_update({.client = client(), .accepted = accepted, .update = update});
    return report.ok() ? "" : report.error().message;
  }
  // What the reference verifier says to an update, before it is admitted.
  static std::string reference_answer(const std::string& out) {
    const ModelCommitment now = current();
    const Path entry = at("ledger/clients/registered");
    std::string command = fmt::format(
        "python3 reference/verify.py --deployment {} --base {} --registration {} --commitment {} --update {}",
        at("deployment.zka").string(), world_->base_file().string(), (entry / "registration.zka").string(),
        (entry / "model.zka").string(), at("out/" + out + ".zka").string());
    if (now.update != Sha256::Digest{})
      command += fmt::format(" --record {}/updates/{}.zka", entry.string(), to_hex(now.update));
    std::string masks, before;
    for (const AppliedWindow& applied : now.windows) {
      masks += fmt::format(" {}/masks/{}.zka", at("ledger").string(), to_hex(applied.mask));
      const Path kept = entry / "before" / (to_hex(applied.mask) + ".zka");
      if (std::filesystem::exists(kept)) before += " " + kept.string();
    }
    if (!masks.empty()) command += " --past" + masks;
    if (!before.empty()) command += " --before" + before;
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string output;
    std::array<char, 256> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
    (void)pclose(pipe);
    return output;
  }
  static Sha256::Digest last_update() { return read_secret_header(files().secret())->update; }
  static ModelCommitment current() { return ledger().find("registered").value().value().current; }
};

TEST_F(ClientUpdate, BetweenWindows) {
  do_window("g1");
  for (const bool curvature : {false, true}) {
    const std::string out = curvature ? "second" : "first";
    const ModelCommitment before = current();
    ASSERT_EQ(refusal(request(weights_moved_by(1), out, curvature)), "");
    EXPECT_EQ(current().digest(), before.digest());
    EXPECT_EQ(reference_answer(out), "accepted (update)\n");
    const UpdateAdmission admission = admitted(out);
    ASSERT_EQ(told(admission.rejection), "accepted") << admission.rejection->detail;
    EXPECT_EQ(admission.curvature, curvature);
    EXPECT_EQ(current().update, *admission.update);
    EXPECT_EQ(current().windows, before.windows);
    EXPECT_EQ(settled(true), "");
    EXPECT_EQ(last_update(), *admission.update);
  }
  // The next window starts there, with a mask that contains all before.
  Mask mask = world_->mask;
  mask.window = "g2";
  mask.op = Operator::kGuided;
  mask.support = {0, 3, 7, 8, 24};
  GuideMaker maker(world_->deployment, mask.support);
  for (uint64_t b = 0; b < world_->deployment.layout().blocks(); ++b)
    ASSERT_TRUE(maker.add_block(std::vector<double>(world_->deployment.layout().block(b).count, 0.05)).ok());
  mask.guidance = world_->some_guidance(0.1);
  mask.guidance->guide = maker.finish();
  ASSERT_TRUE(write_file(at("g2.zka"), mask.serialize(), {.overwrite = true}).ok());
  do_window("g2");
  ASSERT_EQ(refusal(request(weights_moved_by(1), "third")), "");
  EXPECT_EQ(reference_answer("third"), "accepted (update)\n");
  EXPECT_EQ(answer("third"), "accepted");
  EXPECT_EQ(settled(true), "");
}

TEST_F(ClientUpdate, BeforeAnyWindow) {
  ASSERT_EQ(refusal(request(weights_moved_by(2))), "");
  EXPECT_EQ(reference_answer("update"), "accepted (update)\n");
  EXPECT_EQ(answer("update"), "accepted");
  EXPECT_EQ(settled(true), "");
  do_window("w1");
}

TEST_F(ClientUpdate, ARefilledWeightIsTold) {
  do_window("g1");
  std::vector<double> weights = weights_moved_by(0);
  weights[7] = 0.25;
  EXPECT_TRUE(says(refusal(request(weights)), "tensor 'covered' has weights that a window removed, element 7"));
}

TEST_F(ClientUpdate, TheOldModelIsTold) {
  const std::vector<double> old = weights_moved_by(0);
  do_window("g1");
  std::vector<double> weights = old;
  for (const size_t removed : {0, 7, 8, 24}) weights[removed] = 0;
  EXPECT_TRUE(says(refusal(request(weights)), "no longer follows the guide of the window 'g1'"));
}

TEST_F(ClientUpdate, OfOneModelOneSuccessor) {
  do_window("g1");
  compute("w2", "window");
  ASSERT_TRUE(settle(verdict(false)).ok());  // to go on, whoever has its proof
  ASSERT_EQ(refusal(request(weights_moved_by(1), "one")), "");
  ASSERT_EQ(refusal(request(weights_moved_by(2), "two")), "");
  // Which of the two updates was meant has to be said.
  EXPECT_TRUE(says(settled(true), "2 updates are pending"));
  EXPECT_FALSE(admitted("one").known);
  const ModelCommitment after = current();
  EXPECT_TRUE(admitted("one").known);  // handed in again
  EXPECT_EQ(answer("one"), "accepted");
  EXPECT_EQ(current().digest(), after.digest());
  EXPECT_EQ(answer("two"), "model");
  EXPECT_EQ(judged("w2", "window"), "model");  // it skips the update
  EXPECT_TRUE(says(reference_answer("two"), "rejected (model)")) << reference_answer("two");
  EXPECT_EQ(settled(true, at("out/one.zka")), "");
  EXPECT_EQ(settled(true, at("out/one.zka")), "");
  EXPECT_TRUE(says(settled(true, at("out/two.zka")), "no such update is pending"));
  EXPECT_TRUE(says(settled(false), "no such update is pending"));
  // From the updated model the window is accepted, and an update from before it is not.
  ASSERT_EQ(refusal(request(weights_moved_by(1), "late")), "");
  EXPECT_EQ(settled(false), "");
  do_window("w2");
  EXPECT_EQ(answer("late"), "model");
  EXPECT_TRUE(says(settled(true), "no such update is pending"));
}

// What came of the one decides where the other starts.
TEST_F(ClientUpdate, OneAtATime) {
  compute("w1", "window");
  EXPECT_TRUE(says(refusal(request(weights_moved_by(1))), "the window 'w1' is pending: settle it first"));
  ASSERT_TRUE(settle(verdict(false)).ok());
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  ASSERT_TRUE(says(ClientTest::refusal(window("w1", "again")), "an update is pending: settle it first"));
  EXPECT_EQ(settled(false), "");
  compute("w1", "again");
}

// What is put back after another update was settled is of a state that is gone.
TEST_F(ClientUpdate, APendingUpdateFollowsTheState) {
  ASSERT_EQ(refusal(request(weights_moved_by(1), "one")), "");
  std::filesystem::rename(files().pending_updates(), at("out/pending"));
  ASSERT_EQ(refusal(request(weights_moved_by(2), "two")), "");
  ASSERT_EQ(settled(true), "");
  std::filesystem::rename(at("out/pending"), files().pending_updates());
  EXPECT_TRUE(says(settled(true), "does not follow the state of this client"));
}

TEST_F(ClientUpdate, TheModelBeforeAWindowIsOfTheRegistration) {
  do_window("g1");
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  ModelCommitment before = current();
  before.registration.fill(1);
  const Path kept = at("ledger/clients/registered/before") / (to_hex(before.windows[0].mask) + ".zka");
  ASSERT_TRUE(write_file(kept, before.encode(), {.overwrite = true}).ok());
  const auto admission = admit_update(ledger(), &world_->base, file(at("out/update.zka")), world_->settings);
  ASSERT_FALSE(admission.ok());
  EXPECT_TRUE(says(admission.error().message, "is not of this client's registration"));
}

// Weights from before a guided window are for updates alone.
TEST_F(ClientUpdate, WithoutThePastThereAreOnlyWindows) {
  do_window("g1");
  ASSERT_TRUE(std::filesystem::exists(files().past() / to_hex(current().windows[0].mask) / "secret.zka"));
  std::filesystem::remove_all(files().past());
  EXPECT_TRUE(says(refusal(request(weights_moved_by(1))), "no update can show that it keeps what the window 'g1' did"));
  do_window("w2");
}

TEST_F(ClientUpdate, ARejectedUpdateChangesNothing) {
  const auto before = state();
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  EXPECT_EQ(settled(false), "");
  auto after = state();
  EXPECT_EQ(after, before);
}

TEST_F(ClientUpdate, FilesThatWindowsReadAreNotReplaced) {
  WorkSettings forced = world_->settings;
  forced.force = true;
  for (const char* file : {"model.safetensors", "store.zka"}) {
    UpdateRequest over = request(weights_moved_by(1));
    over.out = at(file);
    const auto report = update(over, forced);
    ASSERT_FALSE(report.ok());
    EXPECT_NE(report.error().message.find("is an input of this command"), std::string::npos) << file;
  }
}

// Stopped at any point, the same call goes on.
TEST_F(ClientUpdate, SettlingIsFinishedWhateverHappens) {
  do_window("g1");
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  const Sha256::Digest accepted = UpdateFile::decode(bytes(at("out/update.zka")))->digest();
  const Path saved = at("out/saved");
  std::filesystem::copy(client(), saved, std::filesystem::copy_options::recursive);
  bool killed = true;
  for (int change = 0; killed; ++change) {
    killed = is_killed(change, [&](const auto& between) {
      (void)settle_update({.client = client(), .accepted = true, .update = {}, .between_changes = between});
    });
    if (change == 1) {  // decided, and no more: without its name, too
      const auto unnamed = settle_update({.client = client(), .accepted = true, .update = {}});
      EXPECT_TRUE(unnamed.ok() && unnamed->before);
    }
    ASSERT_TRUE(recover(files()).ok());
    const bool stopped = last_update() == accepted;
    const auto again = settle_update({.client = client(), .accepted = true, .update = at("out/update.zka")});
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->before, stopped) << change;
    EXPECT_EQ(last_update(), accepted) << change;
    EXPECT_FALSE(std::filesystem::exists(files().pending_updates())) << change;
    std::filesystem::remove_all(client());
    std::filesystem::copy(saved, client(), std::filesystem::copy_options::recursive);
  }
}

// All that it takes is public, but for what opens the client's current model.
TEST_F(ClientUpdate, NobodyElseUpdatesAClient) {
  const Deployment& deployment = world_->deployment;
  const ClientRecord record = ledger().find("registered").value().value();
  const UpdateTerms terms = update_terms(record, {}, true);
  const RegistrationPlan plan = *RegistrationPlan::make(deployment, {deployment.layout().rows()}, &terms);
  const Checkpoint model = *Checkpoint::open(at("model.safetensors"));
  const StoreReader store = *open_store(at("store.zka"), deployment);
  const CoordinateReader read = checkpoint_coordinates(deployment, model);
  const ClientModel own(deployment, read, store, uncovered_rows(deployment, model));
  const RowReader guessed = [&own](uint64_t first_row, std::span<int64_t> out) { return own.weights(first_row, out); };
  const std::vector<Scalar> zeros(deployment.layout().rows());
  const auto proved = prove_update({&deployment, "registered", &world_->base, &terms}, plan, own,
                                   {{}, {guessed, zeros}}, 1 << 12, world_->generators, *world_->settings.pool);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  const UpdateFile file{deployment.digest(), record.registered.digest, terms.start, "registered", true,
                        plan.cut(),          proved->proof.encode()};
  EXPECT_EQ(told(admit_update(ledger(), &world_->base, file.encode(), world_->settings)->rejection), "equation");
  EXPECT_EQ(current().digest(), record.current.digest());
}

// What succeeds where a provider admits an update of a client that has seen the request: it steps back by the guide,
// inside the anchor, and the window brings it to where it was.
TEST_F(ClientUpdate, AnUpdateThatKnowsTheRequest) {
  const std::vector<double> old = weights_moved_by(0);
  const std::vector<uint64_t>& removed = world_->mask.support;
  std::vector<double> prepared = old;
  for (size_t i = 0; i < old.size(); ++i) prepared[i] -= std::ranges::binary_search(removed, i) ? 0 : 0.1;
  ASSERT_EQ(refusal(request(prepared)), "");
  ASSERT_EQ(answer("update"), "accepted");
  ASSERT_EQ(settled(true), "");
  do_window("g1");
  const std::vector<double> after = weights_moved_by(0);
  double followed = 0, asked = 0;
  for (size_t i = 0; i < old.size(); ++i) {
    if (std::ranges::binary_search(removed, i)) continue;
    followed += 0.1 * (after[i] - old[i]);
    asked += 0.1 * 0.1;
  }
  EXPECT_LT(followed, 0.05 * asked);  // and the request asked for a tenth
}

// What is admitted after a request was published does not count for it; what comes next is another matter.
TEST_F(ClientUpdate, AnUpdateThatComesAfterTheRequest) {
  ASSERT_TRUE(*ledger().publish(*read_mask(at("g1.zka"), world_->deployment)));
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  ASSERT_EQ(answer("update"), "accepted");
  ASSERT_EQ(settled(true), "");
  compute("g1", "window");
  EXPECT_EQ(judged("g1", "window"), "order");
  ASSERT_TRUE(settle(verdict(false)).ok());
  compute("w2", "second");
  EXPECT_EQ(judged("w2", "second"), "accepted");
}

// The model comes last: what was written before it is of a step that was not taken, and counts for nothing.
TEST_F(ClientUpdate, ALedgerThatWasCutShortGoesOn) {
  const Path model = at("ledger/clients/registered/model.zka");
  const Bytes old = bytes(model);
  const auto cut_short = [&] { ASSERT_TRUE(write_file(model, old, {.overwrite = true}).ok()); };
  compute("g1", "window");
  ASSERT_EQ(judged("g1", "window"), "accepted");
  cut_short();
  ASSERT_TRUE(settle(verdict(false)).ok());
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  ASSERT_EQ(answer("update"), "accepted");
  cut_short();
  EXPECT_FALSE(admitted("update").known);
  ASSERT_EQ(settled(true), "");
  EXPECT_EQ(judged("g1", "window"), "model");
  // The window is measured from the updated model, not from the one that it first started from.
  const ModelCommitment updated = current();
  do_window("g1");
  {
    const Ledger provider = ledger();
    const std::vector<KeptWindow> windows = provider.windows(provider.find("registered").value().value()).value();
    ASSERT_EQ(windows.size(), 1U);
    EXPECT_EQ(windows[0].before, updated.rows);
  }
  ASSERT_EQ(refusal(request(weights_moved_by(1), "second")), "");
  EXPECT_EQ(answer("second"), "accepted");
}

// A second registration would forget what windows and updates did.
TEST_F(ClientUpdate, ARegistrationDoesNotForgetThePast) {
  do_window("g1");
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  ASSERT_EQ(answer("update"), "accepted");
  const ModelCommitment before = current();
  world_->begin("out/anew");
  RegistrationFile anew = *RegistrationFile::decode(bytes(at("out/anew/registration.zka")));
  anew.client = "registered";
  EXPECT_EQ(told(admit(ledger(), &world_->base, anew.encode(), world_->settings)->rejection), "client");
  EXPECT_EQ(current().digest(), before.digest());
  const auto first = admit(ledger(), &world_->base, file(client() / "registration.zka"), world_->settings);
  EXPECT_TRUE(first.ok() && first->known);
  EXPECT_EQ(current().digest(), before.digest());
}

TEST_F(ClientUpdate, FilesOfSomethingElseAreRejected) {
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  const UpdateFile honest = *UpdateFile::decode(bytes(at("out/update.zka")));
  const auto with = [&](const auto& change) {
    UpdateFile file = honest;
    change(file);
    const auto admission = admit_update(ledger(), &world_->base, file.encode(), world_->settings);
    EXPECT_TRUE(admission.ok());
    return told(admission->rejection);
  };
  EXPECT_EQ(with([](UpdateFile& f) { f.deployment.fill(1); }), "deployment");
  EXPECT_EQ(with([](UpdateFile& f) { f.registration.fill(1); }), "registration");
  EXPECT_EQ(with([](UpdateFile& f) { f.client = "nobody"; }), "registration");
  EXPECT_EQ(with([](UpdateFile& f) { f.model.fill(1); }), "model");
  EXPECT_EQ(with([](UpdateFile& f) { f.curvature = true; }), "length");
  EXPECT_EQ(with([](UpdateFile& f) { f.cut = {2}; }), "statement");
  EXPECT_EQ(with([](UpdateFile& f) { f.proof.back() ^= 1; }), "equation");
  EXPECT_EQ(with([](UpdateFile&) {}), "accepted");
  Bytes odd = honest.encode();
  odd.pop_back();
  EXPECT_EQ(told(admit_update(ledger(), &world_->base, odd, world_->settings)->rejection), "file");

  // Records that do not belong together are the provider's trouble.
  ClientRecord record = ledger().find("registered").value().value();
  std::vector<KeptWindow> windows(1);
  windows[0].mask = world_->mask;
  UpdateFile file = honest;
  file.model = record.current.digest();
  const auto checked =
      check_update_file(world_->deployment, &world_->base, record, windows, file, *world_->settings.pool);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().reason, Reason::kMask);
  ClientRecord other = record;
  other.registered.client = "somebody";
  const auto of_another = check_update_file(world_->deployment, &world_->base, other, {}, file, *world_->settings.pool);
  ASSERT_FALSE(of_another.ok());
  EXPECT_EQ(of_another.error().reason, Reason::kClient);
  ClientRecord of_before = record;  // whose curvature would come back
  of_before.registered.model.update.fill(1);
  const auto stale = check_update_file(world_->deployment, &world_->base, of_before, {}, file, *world_->settings.pool);
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().reason, Reason::kModel);
}

// The record of another update is none: not the client's own, not the provider's.
TEST_F(ClientUpdate, RecordsAreThoseOfTheLastUpdate) {
  ASSERT_EQ(refusal(request(weights_moved_by(1), "first")), "");
  ASSERT_EQ(answer("first"), "accepted");
  ASSERT_EQ(settled(true), "");
  const Sha256::Digest first = last_update();
  const Bytes old_record = bytes(files().updated());
  ASSERT_EQ(refusal(request(weights_moved_by(1), "second")), "");
  ASSERT_EQ(answer("second"), "accepted");
  ASSERT_EQ(settled(true), "");
  const Bytes record = bytes(files().updated());
  ASSERT_TRUE(write_file(files().updated(), old_record, {.overwrite = true}).ok());
  EXPECT_TRUE(says(ClientTest::refusal(window("w1")), "is not of the last update of this secret"));
  ASSERT_TRUE(write_file(files().updated(), record, {.overwrite = true}).ok());
  compute("w1", "window");

  const Mask mask = *read_mask(at("w1.zka"), world_->deployment);
  const ProofFile proof = *ProofFile::decode(bytes(at("out/window.zka")));
  ClientRecord client = ledger().find("registered").value().value();
  EXPECT_TRUE(check_window_file(world_->deployment, client, mask, proof, *world_->settings.pool).ok());
  client.registered.model.update = first;
  const auto checked = check_window_file(world_->deployment, client, mask, proof, *world_->settings.pool);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().reason, Reason::kModel);

  const Path kept = at("ledger/clients/registered/updates") / (to_hex(last_update()) + ".zka");
  ASSERT_TRUE(write_file(kept, old_record, {.overwrite = true}).ok());
  const auto found = ledger().find("registered");
  ASSERT_FALSE(found.ok());
  EXPECT_TRUE(says(found.error().message, "do not belong together"));
}

TEST_F(ClientUpdate, AClientWithUpdatesIsNotRegisteredAnew) {
  ASSERT_EQ(refusal(request(weights_moved_by(1))), "");
  EXPECT_TRUE(says(refusal_to_register(true), "holds a client with windows or updates"));
  EXPECT_EQ(settled(true), "");
  EXPECT_TRUE(says(refusal_to_register(true), "holds a client with windows or updates"));
}

}  // namespace
}  // namespace zkapex
