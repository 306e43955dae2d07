// What an agent does not believe: logs that contradict themselves, requests that are not in them, answers about
// something else.
#include "agent/agent_testing.h"
#include "agent/requests.h"

namespace zkapex::testing {
namespace {

// Logs

class SplitViewTest : public AgentTest {
 protected:
  void rewrite_entry(size_t index) {
    const Path entry = at("test/provider/entries") / fmt::format("{:06}", index);
    Envelope envelope = *read_envelope(entry);
    envelope.signatures.front().keyid += "0";
    ASSERT_TRUE(write_file(entry, view(envelope.encode()), {.overwrite = true}).ok());
  }
  void expect_split() {
    const Bytes seen = *read_file(folder().checkpoint(), kMaxNoteBytes);
    told_.clear();
    EXPECT_TRUE(round().split);
    EXPECT_EQ(told_, Lines{"log: split"});
    EXPECT_EQ(*read_file(folder().split_view() / "seen", kMaxNoteBytes), seen);
    const std::string offered = provider_->checkpoint().encode();
    EXPECT_EQ(*read_file(folder().split_view() / "offered", kMaxNoteBytes), Bytes(offered.begin(), offered.end()));
    EXPECT_TRUE(read_status(folder())->split);
    // Nothing is done any more, not even asked.
    const size_t requests = provider_->requests;
    EXPECT_TRUE(round().split);
    EXPECT_EQ(provider_->requests, requests);
    EXPECT_EQ(*read_file(folder().checkpoint(), kMaxNoteBytes), seen);
  }
};

TEST_F(SplitViewTest, AnotherTreeOfTheSameSizeIsNoticed) {
  be_registered();
  rounds(1);
  rewrite_entry(1);
  expect_split();
}

TEST_F(SplitViewTest, ALargerTreeThatIsNoContinuationIsNoticed) {
  be_registered();
  rewrite_entry(1);
  publish("w1");
  expect_split();
  EXPECT_EQ(state_of("w1"), "none");
}

TEST_F(SplitViewTest, AnOldCopyIsNone) {
  be_registered();
  const std::string old = provider_->checkpoint().encode();
  publish("w1");
  rounds(1);
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (!request.url.ends_with("/log/checkpoint")) return std::nullopt;
    return Result<WebAnswer>(WebAnswer{.status = 200, .body = Bytes(old.begin(), old.end())});
  };
  EXPECT_TRUE(says(trouble(round()), "an old copy"));
  EXPECT_FALSE(std::filesystem::exists(folder().split_view()));
}

TEST_F(SplitViewTest, NorAreTilesThatDoNotFit) {
  be_registered();
  publish("w1");
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.url.find("/log/tile/0/") == std::string::npos) return std::nullopt;
    return Result<WebAnswer>(WebAnswer{.status = 200, .body = Bytes(32 * provider_->entries().size(), 7)});
  };
  EXPECT_TRUE(says(trouble(round()), "not those of its checkpoint"));
  EXPECT_FALSE(std::filesystem::exists(folder().split_view()));
  provider_->intercept = {};
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

TEST_F(SplitViewTest, ACheckpointOfAnotherKeyIsNotBelieved) {
  be_registered();
  const SigningKey other = *SigningKey::generate();
  provider_->log_key = other;
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder().split_view()));
}

TEST_F(SplitViewTest, WitnessesOfThePolicyMustHaveSeenIt) {
  be_registered();
  const SigningKey witness = *SigningKey::generate();
  const NoteKey key = *NoteKey::make("witness.example", NoteKeyType::kWitness, witness.public_key());
  const std::string policy = provider_->policy().logs().front().key.vkey();
  const std::string text = fmt::format("log {}\nwitness w {}\nquorum w\n", policy, key.vkey());
  std::filesystem::remove(folder().checkpoint());
  ASSERT_TRUE(write_file(folder().policy(), view(text), {.overwrite = true}).ok());
  publish("w1");
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "none");
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (!request.url.ends_with("/log/checkpoint")) return std::nullopt;
    Note note = provider_->checkpoint();
    note.signatures.push_back(*cosign_note(note.text, "witness.example", witness, kNow));
    const std::string bytes = note.encode();
    return Result<WebAnswer>(WebAnswer{.status = 200, .body = Bytes(bytes.begin(), bytes.end())});
  };
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

// Requests

class RequestTest : public AgentTest {
 protected:
  // The provider answers with these windows, whatever its log says.
  void answer_windows(const std::vector<LoggedEnvelope>& windows) {
    provider_->intercept = [windows](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
      if (!request.url.ends_with(paths::kWindows)) return std::nullopt;
      const std::string body = WindowsAnswer{windows}.encode();
      return Result<WebAnswer>(WebAnswer{.status = 200, .body = Bytes(body.begin(), body.end())});
    };
  }
  LoggedEnvelope logged(uint64_t index) {
    const Bytes entry = provider_->entries().at(index);
    return {*Envelope::decode({reinterpret_cast<const char*>(entry.data()), entry.size()}), index};
  }
  LoggedEnvelope changed(uint64_t index, const std::function<void(WindowNotice&)>& change) {
    WindowNotice notice = *WindowNotice::decode(logged(index).envelope.payload);
    change(notice);
    return {*sign_envelope(notice.encode(), provider_->key), std::nullopt};
  }
};

TEST_F(RequestTest, ThoseFromBeforeTheRegistrationAreNotForThisClient) {
  publish("w0");
  be_registered();
  rounds(1);
  EXPECT_EQ(state_of("w0"), "none");
}

TEST_F(RequestTest, NorIsOneThatWasMadeBeforeTheRegistrationAndLoggedAfterIt) {
  const uint64_t early = publish("w0");
  const LoggedEnvelope old = logged(early);
  std::filesystem::remove(at("test/provider/entries") / fmt::format("{:06}", early));
  be_registered();
  provider_->append(old.envelope);
  rounds(1);
  EXPECT_EQ(state_of("w0"), "none");
}

TEST_F(RequestTest, OneThatIsNotInTheLogIsNotBelieved) {
  be_registered();
  const uint64_t index = publish("w1");
  LoggedEnvelope other = changed(index, [](WindowNotice& notice) { notice.deadline += 1; });
  other.index = index;
  answer_windows({other});
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "none");
}

TEST_F(RequestTest, OneWithAPlaceThatTheLogHasNotYetWaits) {
  be_registered();
  LoggedEnvelope ahead = logged(publish("w1"));
  ahead.index = provider_->entries().size();
  answer_windows({ahead});
  rounds(1);
  EXPECT_EQ(state_of("w1"), "none");
}

TEST_F(RequestTest, OneOfSomebodyElseIsNotBelieved) {
  be_registered();
  const uint64_t index = publish("w1");
  const SigningKey other = *SigningKey::generate();
  answer_windows({{*sign_envelope(logged(index).envelope.payload, other), index}});
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "none");
}

TEST_F(RequestTest, OneOfAnotherDeploymentIsRefused) {
  be_registered();
  const uint64_t index = publish("w1");
  const LoggedEnvelope other = changed(index, [](WindowNotice& notice) { notice.deployment[0] ^= 1; });
  provider_->append(other.envelope);
  EXPECT_TRUE(says(trouble(round()), "another deployment"));
}

TEST_F(RequestTest, OneThatClaimsToHaveSeenTheFutureIsRefused) {
  be_registered();
  const uint64_t index = publish("w1");
  std::filesystem::remove(at("test/provider/entries") / fmt::format("{:06}", index));
  // The fake's log has no entry of w1 any more: the statement goes in with another claim.
  const WindowNotice notice = [&] {
    (void)publish("w1");
    WindowNotice out = *WindowNotice::decode(logged(index).envelope.payload);
    std::filesystem::remove(at("test/provider/entries") / fmt::format("{:06}", index));
    out.seen.size += 1;
    return out;
  }();
  provider_->append(*sign_envelope(notice.encode(), provider_->key));
  EXPECT_TRUE(says(trouble(round()), "what came after it"));
}

TEST_F(RequestTest, AFileThatIsTooLongIsNotAskedFor) {
  be_registered();
  const uint64_t index = publish("w1");
  const uint64_t longest = longest_request_file(world_->deployment);
  provider_->append(changed(index, [&](WindowNotice& notice) {
                      notice.window = "w2";
                      notice.file.bytes = longest + 1;
                    }).envelope);
  const Round done = round();
  EXPECT_TRUE(says(done.troubles, "too many"));
  EXPECT_EQ(state_of("w2"), "none");
}

TEST_F(RequestTest, TheFileIsTheOneInTheLog) {
  be_registered();
  publish("w1");
  const Mask mask = [&] {
    Mask out = world_->mask;
    out.window = "w1";
    out.support = {0, 1};
    return out;
  }();
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.url.find("psi") == std::string::npos) return std::nullopt;
    return Result<WebAnswer>(WebAnswer{.status = 200, .body = mask.serialize()});
  };
  EXPECT_TRUE(says(trouble(round()), "not the one that is in the log"));
  EXPECT_EQ(state_of("w1"), "none");
}

TEST_F(RequestTest, TheFileSaysWhatItsStatementSays) {
  Mask mask = world_->mask;
  mask.window = "w1";
  mask.predecessor[3] = 9;
  const Bytes psi = mask.serialize();
  const WindowNotice good{.file = reference_to(psi),
                          .window = "w1",
                          .deployment = mask.deployment,
                          .mask = mask.digest(),
                          .predecessor = mask.predecessor,
                          .nonce = mask.nonce,
                          .op = mask.op,
                          .opens = 0,
                          .deadline = 1,
                          .seen = {}};
  EXPECT_TRUE(check_request_file(psi, good, world_->deployment).ok());
  const std::vector<std::function<void(WindowNotice&)>> lies = {
      [](WindowNotice& n) { n.window = "w2"; }, [](WindowNotice& n) { n.deployment[0] ^= 1; },
      [](WindowNotice& n) { n.mask[0] ^= 1; },  [](WindowNotice& n) { n.predecessor[0] ^= 1; },
      [](WindowNotice& n) { n.nonce[0] ^= 1; }, [](WindowNotice& n) { n.op = Operator::kMaskOnly; },
  };
  for (const auto& lie : lies) {
    WindowNotice notice = good;
    lie(notice);
    EXPECT_NE(refusal(check_request_file(psi, notice, world_->deployment)).find("something else"), std::string::npos);
  }
  Bytes longer = psi;
  longer.push_back(0);
  EXPECT_NE(refusal(check_request_file(longer, good, world_->deployment)).find("not the one"), std::string::npos);
}

TEST_F(RequestTest, LimitsOfTheClient) {
  AgentConfig config;
  EXPECT_TRUE(check_limits(world_->mask, config).ok());
  config.min_masked = 5;
  EXPECT_NE(refusal(check_limits(world_->mask, config)).find("fewer"), std::string::npos);
  config.min_masked = 4;
  config.max_masked = 4;
  EXPECT_TRUE(check_limits(world_->mask, config).ok());
  config.max_masked = 3;
  EXPECT_NE(refusal(check_limits(world_->mask, config)).find("more"), std::string::npos);
}

TEST_F(RequestTest, ALimitLeavesARequestAlone) {
  AgentConfig config = *read_config(folder());
  config.max_masked = 3;
  ASSERT_TRUE(write_file(folder().config(), view(config.encode()), {.overwrite = true}).ok());
  be_registered();
  publish("w1");
  EXPECT_TRUE(says(trouble(round()), "more than this client allows"));
  EXPECT_EQ(state_of("w1"), "seen");
  config.max_masked.reset();
  ASSERT_TRUE(write_file(folder().config(), view(config.encode()), {.overwrite = true}).ok());
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

// Answers

class AnswerTest : public AgentTest {
 protected:
  // Changes what the provider signs for an upload.
  void change_receipt(const std::function<void(UploadNotice&)>& change, const SigningKey* key = nullptr) {
    provider_->intercept = [this, change, key](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
      if (request.method != WebMethod::kPut) return std::nullopt;
      const auto intercept = std::exchange(provider_->intercept, {});
      WebAnswer answer = *provider_->send(request);
      provider_->intercept = intercept;
      const Envelope envelope =
          *Envelope::decode({reinterpret_cast<const char*>(answer.body.data()), answer.body.size()});
      UploadNotice notice = *UploadNotice::decode(envelope.payload);
      change(notice);
      const std::string body = sign_envelope(notice.encode(), key == nullptr ? provider_->key : *key)->encode();
      answer.body.assign(body.begin(), body.end());
      return Result<WebAnswer>(answer);
    };
  }
};

TEST_F(AnswerTest, AReceiptIsOfWhatWasUploaded) {
  be_registered();
  publish("w1");
  const std::vector<std::function<void(UploadNotice&)>> lies = {
      [](UploadNotice& n) { n.of = StatementKind::kUpdate; }, [](UploadNotice& n) { n.id[0] ^= 1; },
      [](UploadNotice& n) { n.file.sha256[0] ^= 1; },         [](UploadNotice& n) { n.client = std::string(32, '0'); },
      [](UploadNotice& n) { n.deployment[0] ^= 1; },
  };
  for (const auto& lie : lies) {
    change_receipt(lie);
    EXPECT_TRUE(says(trouble(round()), "receipt is of something else"));
    EXPECT_EQ(state_of("w1"), "submitted");
  }
  const SigningKey other = *SigningKey::generate();
  change_receipt([](UploadNotice&) {}, &other);
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "submitted");
  provider_->intercept = {};
  rounds(2);
  EXPECT_EQ(state_of("w1"), "accepted");
}

TEST_F(AnswerTest, AVerdictIsAboutWhatWasHandedIn) {
  be_registered();
  publish("w1");
  save_as("published");
  const std::vector<std::function<void(VerdictNotice&)>> lies = {
      [](VerdictNotice& v) { v.file.sha256[0] ^= 1; },    [](VerdictNotice& v) { v.client = std::string(32, '0'); },
      [](VerdictNotice& v) { v.deployment[0] ^= 1; },     [](VerdictNotice& v) { v.registration[0] ^= 1; },
      [](VerdictNotice& v) { (*v.starts_from)[0] ^= 1; }, [](VerdictNotice& v) { v.window = "w2"; },
      [](VerdictNotice& v) { (*v.mask)[0] ^= 1; },
  };
  for (const auto& lie : lies) {
    reset_from("published");
    provider_->slant = lie;
    rounds(1);
    (void)round();
    EXPECT_TRUE(says(trouble(round()), "verdict is about something else"));
    EXPECT_EQ(state_of("w1"), "received");
    EXPECT_EQ(history(), Lines{});
    EXPECT_EQ(pending(), 1U);
  }
}

TEST_F(AnswerTest, AVerdictThatTheProviderDidNotSignIsNone) {
  be_registered();
  publish("w1");
  provider_->deciding = false;
  rounds(1);
  const SigningKey other = *SigningKey::generate();
  provider_->key = other;
  provider_->deciding = true;
  EXPECT_EQ(round().troubles.size(), 0U);  // it is made now, and in the log next time
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "received");
  EXPECT_EQ(pending(), 1U);
}

TEST_F(AnswerTest, AVerdictThatIsNotInTheLogIsNone) {
  be_registered();
  publish("w1");
  rounds(1);
  provider_->decide();
  // The last entry becomes another one before anybody has seen it.
  const size_t last = provider_->entries().size() - 1;
  const Path entry = at("test/provider/entries") / fmt::format("{:06}", last);
  const Envelope verdict = *read_envelope(entry);
  Envelope other = verdict;
  other.signatures.front().keyid += "0";
  ASSERT_TRUE(write_file(entry, view(other.encode()), {.overwrite = true}).ok());
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.url.find("/submissions/") == std::string::npos) return std::nullopt;
    const VerdictNotice notice = *VerdictNotice::decode(verdict.payload);
    const std::string body =
        SubmissionAnswer{notice.id, SubmissionState::kAccepted, LoggedEnvelope{verdict, last}}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 200, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "received");
  EXPECT_EQ(pending(), 1U);
}

TEST_F(AnswerTest, ATicketIsForTheStatementThatWasSent) {
  be_registered();
  publish("w1");
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPost) return std::nullopt;
    const std::string body = UploadTicket{{}, paths::upload({})}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 201, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_TRUE(says(trouble(round()), "another statement"));
  EXPECT_EQ(state_of("w1"), "computed");
}

TEST_F(AnswerTest, ARegistrationThatWasRejectedIsTheEnd) {
  provider_->slant = [](VerdictNotice& verdict) {
    verdict.rejection = Rejection{Reason::kEquation, "far from the base"};
    verdict.leads_to.reset();
  };
  rounds(1);
  EXPECT_TRUE(says(trouble(round()), "was rejected (equation)"));
  EXPECT_TRUE(says(trouble(round()), "was rejected (equation)"));
  EXPECT_EQ(read_status(folder())->registration, "rejected");
}

TEST_F(AnswerTest, TheRegistrationIsWhereTheVerdictSays) {
  provider_->slant = [](VerdictNotice& verdict) { verdict.submission = 0; };
  be_registered();
  publish("w1");
  EXPECT_EQ(round().troubles.size(), 1U);
  EXPECT_EQ(state_of("w1"), "none");
}

TEST_F(AnswerTest, OtherRefusalsLeaveAWindowWhereItIs) {
  be_registered();
  publish("w1");
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (request.method != WebMethod::kPost) return std::nullopt;
    const std::string body = Problem{ProblemKind::kModel, "another model"}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 409, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_TRUE(says(trouble(round()), "refuses (model)"));
  EXPECT_EQ(state_of("w1"), "computed");
  EXPECT_EQ(pending(), 1U);
}

}  // namespace
}  // namespace zkapex::testing
