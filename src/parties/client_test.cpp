// A client's folder over its life: windows that wait, are settled, or are cut short anywhere.
#include <sys/resource.h>

#include "base/outputs.h"
#include "parties/client_folder_testing.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;
using testing::ClientTest;
using testing::Names;

TEST_F(ClientTest, AWindowWaitsUntilItIsSettled) {
  const Bytes before = bytes(files().secret());
  const UnlearnReport done = compute("w1");
  EXPECT_EQ(bytes(files().secret()), before);
  EXPECT_EQ(pending(), Names{"w1"});
  const Attempt attempt = done.attempt;
  EXPECT_EQ(attempt.folder, client() / "pending/w1" / attempt_id(bytes(at("out/a.zka"))));
  EXPECT_EQ(bytes(attempt.proof()), bytes(at("out/a.zka")));
  EXPECT_EQ(bytes(attempt.mask()), bytes(at("w1.zka")));
  const Bytes next = bytes(attempt.secret());

  const auto settled = settle(verdict(true));
  ASSERT_TRUE(settled.ok()) << settled.error().message;
  EXPECT_EQ(settled->window, "w1");
  EXPECT_EQ(settled->attempts, Names{attempt.id});
  EXPECT_EQ(names(settled->windows), Names{"w1"});
  EXPECT_FALSE(settled->before);
  EXPECT_EQ(bytes(files().secret()), next);
  EXPECT_EQ(bytes(files().mask()), bytes(at("w1.zka")));
  EXPECT_FALSE(fs::exists(files().pending()) || fs::exists(files().settling()));
  // Once more: it is known, and changes nothing. The other verdict comes too late.
  EXPECT_TRUE(settle(verdict(true, "w1"))->before);
  EXPECT_TRUE(says(refusal(verdict(false, "w1")), "accepted and settled before"));
  EXPECT_TRUE(says(refusal(verdict(false)), "no such window is pending"));
  EXPECT_TRUE(says(refusal(window("w1", "b")), "'w1' was applied to this client already"));
  // The next window starts there.
  compute("w2", "b");
  ASSERT_TRUE(settle(verdict(true)).ok());
  EXPECT_EQ(history(), (Names{"w1", "w2"}));
}

TEST_F(ClientTest, ARejectedWindowLeavesTheStateAndCanBeComputedAgain) {
  const auto before = state();
  compute("w1");
  const auto settled = settle(verdict(false));
  ASSERT_TRUE(settled.ok()) << settled.error().message;
  EXPECT_EQ(settled->attempts.size(), 1U);
  EXPECT_EQ(state(), before);
  compute("w1", "b");
  EXPECT_TRUE(settle(verdict(true)).ok());
  EXPECT_EQ(history(), Names{"w1"});
}

TEST_F(ClientTest, OfSeveralAttemptsTheOneThatWasSentIsNamed) {
  compute("w1", "a");
  const Bytes wanted = bytes(compute("w1", "b").attempt.secret());
  compute("w1", "c");
  EXPECT_EQ(pending(), (Names{"w1", "w1", "w1"}));
  const std::string message = refusal(verdict(true));
  EXPECT_TRUE(says(message, "--proof"));
  for (const char* proof : {"out/a.zka", "out/b.zka"}) EXPECT_TRUE(says(message, attempt_id(bytes(at(proof)))));
  EXPECT_TRUE(says(refusal(verdict(true, "", at("w1.zka"))), "no such window is pending; pending: window 'w1'"));
  ASSERT_TRUE(settle(verdict(false, "", at("out/a.zka"))).ok());
  EXPECT_EQ(pending(), (Names{"w1", "w1"}));
  ASSERT_TRUE(settle(verdict(true, "", at("out/b.zka"))).ok());
  EXPECT_EQ(bytes(files().secret()), wanted);
  EXPECT_EQ(pending(), Names{});
}

// The provider may have accepted the other attempt: none is thrown away that was not named.
TEST_F(ClientTest, OfSeveralAttemptsNoneIsRejectedUnnamed) {
  compute("w1", "a");
  compute("w1", "b");
  SettleRequest unnamed = verdict(false);
  unnamed.all = false;
  EXPECT_TRUE(says(refusal(unnamed), "--proof"));
  EXPECT_EQ(pending().size(), 2U);
  ASSERT_TRUE(settle(verdict(true, "", at("out/a.zka"))).ok());
  EXPECT_TRUE(settle(verdict(true, "w1", at("out/a.zka")))->before);
  EXPECT_TRUE(says(refusal(verdict(true, "w1", at("out/b.zka"))), "settled with another proof"));
}

TEST_F(ClientTest, TwoWindowsMayWaitAndOneIsAccepted) {
  compute("w1", "a");
  compute("w2", "b");
  EXPECT_EQ(pending(), (Names{"w1", "w2"}));
  EXPECT_TRUE(says(refusal(verdict(true)), "--window"));
  EXPECT_TRUE(says(refusal(verdict(false)), "--window"));
  EXPECT_TRUE(says(refusal(verdict(true, "w3")), "no such window"));
  ASSERT_TRUE(settle(verdict(true, "w2")).ok());
  EXPECT_EQ(history(), Names{"w2"});
  EXPECT_EQ(pending(), Names{});
}

TEST_F(ClientTest, AWindowMayHaveAnyName) {
  write_mask("../a b.tmp-0123456789abcdef", {0, 7});
  fs::rename(at("../a b.tmp-0123456789abcdef.zka"), at("odd.zka"));
  compute("odd");
  EXPECT_TRUE(fs::exists(files().pending() / "%2E.%2Fa%20b.tmp-0123456789abcdef"));
  EXPECT_EQ(pending(), Names{"../a b.tmp-0123456789abcdef"});
  ASSERT_TRUE(settle(verdict(true)).ok());
  EXPECT_EQ(history(), Names{"../a b.tmp-0123456789abcdef"});
}

TEST_F(ClientTest, ARejectionTakesAllAttemptsOfItsWindowAndNoOther) {
  compute("w1", "a");
  compute("w1", "b");
  compute("w2", "c");
  EXPECT_EQ(settle(verdict(false, "w1"))->attempts.size(), 2U);
  EXPECT_EQ(pending(), Names{"w2"});
}

TEST_F(ClientTest, KilledAnywhereASettlementIsGoneOnWith) {
  compute("w1", "a");
  compute("w1", "b");
  compute("w2", "c");
  const fs::path kept = at("kept");
  fs::copy(client(), kept, fs::copy_options::recursive);
  for (const bool accepted : {true, false}) {
    const SettleRequest request = verdict(accepted, "w1", accepted ? at("out/b.zka") : Path{});
    ASSERT_TRUE(settle(request).ok());
    const auto expected = state();
    int fatal = 0;
    for (bool killed = true; killed; ++fatal) {
      fs::remove_all(client());
      fs::copy(kept, client(), fs::copy_options::recursive);
      killed = is_killed(fatal, [&](const std::function<void()>& change) {
        SettleRequest fragile = request;
        fragile.between_changes = change;
        (void)settle(fragile);
      });
      // A window that all attempts are gone of is rejected; the state is what counts.
      const auto again = settle(request);
      if (accepted) {
        EXPECT_TRUE(again.ok()) << again.error().message;
      }
      EXPECT_EQ(state(), expected) << accepted << " " << fatal;
    }
    EXPECT_GT(fatal, accepted ? 4 : 2);
    fs::remove_all(client());
    fs::copy(kept, client(), fs::copy_options::recursive);
  }
  fs::remove_all(kept);
}

// The next command finishes it, whichever it is.
TEST_F(ClientTest, KilledAnywhereASettlementIsRepeatedWithoutItsName) {
  compute("w1", "a");
  compute("w1", "b");
  ASSERT_TRUE(settle(verdict(false, "", at("out/b.zka"))).ok());
  const fs::path kept = at("kept");
  fs::copy(client(), kept, fs::copy_options::recursive);
  bool killed = true;
  for (int fatal = 0; killed; ++fatal) {
    fs::remove_all(client());
    fs::copy(kept, client(), fs::copy_options::recursive);
    killed = is_killed(fatal, [&](const std::function<void()>& change) {
      SettleRequest fragile = verdict(true);
      fragile.between_changes = change;
      (void)settle(fragile);
    });
    const auto again = settle(verdict(true));
    ASSERT_TRUE(again.ok()) << fatal << ": " << again.error().message;
    EXPECT_EQ(again->window, "w1");
    EXPECT_TRUE(again->before);
  }
  fs::remove_all(kept);
  // Only what the kept proof shows to have been settled, and only where nothing waits.
  EXPECT_TRUE(says(refusal(verdict(true, "", at("out/b.zka"))), "settled with another proof"));
  compute("w2", "c");
  const auto next = settle(verdict(true));
  ASSERT_TRUE(next.ok()) << next.error().message;
  EXPECT_FALSE(next->before);
  ASSERT_TRUE(write_file(files().settled_proof(), bytes(at("out/a.zka")), {.overwrite = true}).ok());
  EXPECT_TRUE(says(refusal(verdict(true)), "no such window is pending"));
}

TEST_F(ClientTest, AWindowStartsFromASettlementThatWasCutShort) {
  compute("w1");
  ASSERT_TRUE(is_killed(0, [&](const std::function<void()>& change) {
    SettleRequest fragile = verdict(true);
    fragile.between_changes = change;
    (void)settle(fragile);
  }));
  EXPECT_EQ(history(), Names{});
  ASSERT_TRUE(says(refusal(window("w1", "b")), "applied to this client already"));
  EXPECT_EQ(history(), Names{"w1"});
  EXPECT_EQ(bytes(files().mask()), bytes(at("w1.zka")));
}

TEST_F(ClientTest, KilledAnywhereAWindowCanBeComputedAgain) {
  const auto before = state();
  bool killed = true;
  for (int fatal = 0; killed; ++fatal) {
    killed = is_killed(fatal, [&](const std::function<void()>& change) {
      ThreadPool pool(1);
      WorkSettings settings = world_->settings;
      settings.pool = &pool;
      UnlearnRequest fragile = window("w1");
      fragile.between_changes = change;
      (void)unlearn(fragile, settings);
    });
    // No proof is out of which the state after it is not kept.
    const bool sent = fs::exists(at("out/a.zka"));
    EXPECT_EQ(sent, !killed);
    if (sent) {
      EXPECT_TRUE(refusal(verdict(true, "", at("out/a.zka"))).empty());
      continue;
    }
    EXPECT_EQ(bytes(files().secret()), before.at("secret.zka"));
    EXPECT_EQ(refusal(window("w1"), true), "");
    ASSERT_TRUE(settle(verdict(false)).ok());
    EXPECT_EQ(state(), before);  // nothing is left of either run
    EXPECT_EQ(std::distance(fs::directory_iterator(at("out")), fs::directory_iterator()), 2);
    fs::remove_all(at("out"));
  }
}

TEST_F(ClientTest, ADamagedOrForeignAttemptDoesNotBecomeTheState) {
  const UnlearnReport done = compute("w1");
  const Bytes settled = bytes(files().secret()), next = bytes(done.attempt.secret());
  Bytes damaged = next;
  damaged[damaged.size() / 2] ^= 1;
  ASSERT_TRUE(write_file(done.attempt.secret(), damaged, {.overwrite = true}).ok());
  EXPECT_TRUE(says(refusal(verdict(true)), "damaged"));
  ASSERT_TRUE(write_file(done.attempt.secret(), settled, {.overwrite = true}).ok());
  EXPECT_TRUE(says(refusal(verdict(true)), "does not follow the state"));
  ASSERT_TRUE(write_file(done.attempt.secret(), bytes(at("alice/secret.zka")), {.overwrite = true}).ok());
  EXPECT_TRUE(says(refusal(verdict(true)), "does not follow the state"));
  EXPECT_EQ(bytes(files().secret()), settled);
  EXPECT_EQ(pending(), Names{"w1"});
}

TEST_F(ClientTest, AFolderInUseIsLeftAlone) {
  const FolderLock lock = *FolderLock::take(client());
  EXPECT_TRUE(says(refusal(window("w1")), "in use"));
  EXPECT_TRUE(says(refusal(verdict(true)), "in use"));
}

TEST_F(ClientTest, WhatAClientWouldNotPublishIsForItsOwner) {
  const Attempt attempt = compute("w1").attempt;
  for (const Path& file :
       {files().secret(), attempt.secret(), attempt.proof(), attempt.mask(), at("out/a.safetensors")})
    EXPECT_EQ(mode(file), 0600U) << file;
  for (const Path& folder : {at("registered"), attempt.folder, attempt.folder.parent_path(), files().pending()})
    EXPECT_EQ(mode(folder), 0700U) << folder;
}

TEST_F(ClientTest, OutputsThatAreInputsOrStateAreRefusedBeforeAnyWork) {
  compute("w1");
  const auto before = state();
  const auto both = [&](const Path& out) {
    UnlearnRequest model = window("w2", "b"), proof = window("w2", "b");
    model.model_out = out;
    proof.proof_out = out;
    const std::string first = refusal(model, true), second = refusal(proof, true);
    EXPECT_EQ(first, second);
    return first;
  };
  for (const char* input : {"w2.zka", "model.safetensors", "store.zka"})
    EXPECT_TRUE(says(both(at(input)), "is an input of this command")) << input;
  for (const char* name : {"secret.zka", "registration.zka", "deployment.zka", "mask.zka", "pending", "pending/x",
                           "settling/secret.zka", "pending/w1/x"})
    EXPECT_TRUE(says(both(client() / name), "part of the client's state")) << name;
  EXPECT_TRUE(says(both(at("no/such/folder")), "No such file or directory"));
  UnlearnRequest same = window("w2", "b");
  same.proof_out = same.model_out;
  EXPECT_TRUE(says(refusal(same), "different names"));
  EXPECT_TRUE(says(refusal(window("w2", "a")), "exists already"));
  EXPECT_EQ(state(), before);
}

TEST_F(ClientTest, AFullDiskLeavesTheStateAndNoOutputs) {
  const auto before = state();
  const size_t secret = before.at("secret.zka").size();
  for (const rlim_t limit : {rlim_t{100}, static_cast<rlim_t>(secret - 1)}) {  // the model fails, then the secret
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit unlimited{};
    ::getrlimit(RLIMIT_FSIZE, &unlimited);
    const rlimit small{limit, unlimited.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const std::string message = refusal(window("w1"));
    ::setrlimit(RLIMIT_FSIZE, &unlimited);
    std::signal(SIGXFSZ, handler);
    EXPECT_TRUE(says(message, "File too large")) << message;
    EXPECT_EQ(state(), before);
    EXPECT_TRUE(fs::is_empty(at("out")));
  }
}

TEST_F(ClientTest, AnotherCheckpointIsRefused) {
  Bytes weights, others;
  ASSERT_TRUE(append_elements(Dtype::kF64, std::vector<double>(25), weights).ok());
  ASSERT_TRUE(append_elements(Dtype::kF64, std::vector<double>{1, 2, 3.5}, others).ok());
  const TensorSource covered = TensorSource::of({"covered", Dtype::kF64, {5, 5}}, weights);
  const Path other = at("out/other.safetensors");
  UnlearnRequest request = window("w1");
  request.model = other;
  ASSERT_TRUE(write_checkpoint(other, {covered, TensorSource::of({"other", Dtype::kF64, {3}}, others)}, {}).ok());
  EXPECT_TRUE(says(refusal(request), "it is not the checkpoint that was registered: tensor 'other' differs"));
  // Only in its type, and only where the window reaches: the weights there are those of the secret.
  others.clear();
  ASSERT_TRUE(append_elements(Dtype::kF32, std::vector<double>{1, 2, 3}, others).ok());
  ASSERT_TRUE(
      write_checkpoint(other, {covered, TensorSource::of({"other", Dtype::kF32, {3}}, others)}, {}, {.overwrite = true})
          .ok());
  EXPECT_TRUE(says(refusal(request), "tensor 'other' differs"));
  others.clear();
  ASSERT_TRUE(append_elements(Dtype::kF64, std::vector<double>{1, 2, 3}, others).ok());
  ASSERT_TRUE(
      write_checkpoint(other, {covered, TensorSource::of({"other", Dtype::kF64, {3}}, others)}, {}, {.overwrite = true})
          .ok());
  EXPECT_EQ(refusal(request), "");
  EXPECT_EQ(pending(), Names{"w1"});
}

TEST_F(ClientTest, AMaskKeepsWhatTheLastOneRemoved) {
  compute("w1");
  write_mask("forgetful", {0, 3, 7, 8});
  EXPECT_EQ(refusal(window("forgetful", "b")), "");  // nothing is settled yet
  ASSERT_TRUE(settle(verdict(true, "w1")).ok());
  EXPECT_TRUE(says(refusal(window("forgetful", "c")), "mask --after"));
  ASSERT_TRUE(write_file(files().mask(), bytes(at("forgetful.zka")), {.overwrite = true}).ok());
  EXPECT_TRUE(says(refusal(window("w2", "c")), "is not the mask of this client's last window"));
}

// A guide of half the size of the weights is followed, a larger one only by a client that says so.
TEST_F(ClientTest, AGuideBeyondTheLimitIsRefused) {
  const auto with_guide = [](double displacement) {
    Mask mask = world_->mask;
    mask.window = "w1";
    mask.op = Operator::kGuided;
    mask.guidance = world_->some_guidance(displacement);
    mask.guidance->distance = 10'000;
    ASSERT_TRUE(write_file(at("guided.zka"), mask.serialize(), {.overwrite = true}).ok());
  };
  with_guide(0.1);
  compute("guided");
  with_guide(0.8);
  EXPECT_TRUE(says(refusal(window("guided", "b")), "further than 5e-1 times the size of its weights"));
  {
    Mask asks = *Mask::parse(bytes(at("guided.zka")));
    asks.guidance->pull = 0;
    ASSERT_TRUE(write_file(at("asks.zka"), asks.serialize(), {.overwrite = true}).ok());
    EXPECT_TRUE(says(refusal(window("asks", "b")), "a guide and no pull"));
  }
  UnlearnRequest careless = window("guided", "b");
  careless.max_guide = {.digits = 3, .places = 0};
  EXPECT_EQ(refusal(careless), "");
}

// Two windows from one state: once one is accepted, the other can never be, and the report says that it is gone.
TEST_F(ClientTest, AcceptingAWindowNamesThoseThatItDrops) {
  compute("w1");
  compute("w2", "b");
  const auto settled = settle(verdict(true, "w1"));
  ASSERT_TRUE(settled.ok()) << settled.error().message;
  EXPECT_EQ(settled->dropped, Names{"w2"});
  EXPECT_EQ(pending(), Names{});
}

TEST_F(ClientTest, AClientWithWindowsIsNotReplaced) {
  compute("w1");
  EXPECT_TRUE(says(refusal_to_register(true), "a client with windows"));  // one that is pending
  ASSERT_TRUE(settle(verdict(true)).ok());
  EXPECT_TRUE(says(refusal_to_register(true), "a client with windows"));
  EXPECT_EQ(history(), Names{"w1"});
}

TEST_F(ClientTest, AClientWithoutWindowsIsReplacedByForce) {
  const Bytes before = bytes(files().registration());
  EXPECT_TRUE(says(refusal_to_register(false), "--force"));
  EXPECT_EQ(bytes(files().registration()), before);
  EXPECT_EQ(refusal_to_register(true), "");
  EXPECT_NE(bytes(files().registration()), before);
  EXPECT_EQ(history(), Names{});
}

}  // namespace
}  // namespace zkapex
