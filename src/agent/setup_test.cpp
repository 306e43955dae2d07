#include "agent/setup.h"

#include <sys/stat.h>

#include "agent/agent_testing.h"

namespace zkapex::testing {
namespace {

class SetupTest : public AgentTest {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(at("test"));
    std::filesystem::create_directories(at("test"));
    provider_.emplace(*world_, at("test/provider"));
  }
  Result<SetupReport> set_it_up(const AgentSetup& setup) {
    return set_up(folder(), setup, *provider_, world_->settings);
  }
  static unsigned mode(const Path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777U;
  }
  void answer(std::string_view path, const std::string& body) {
    provider_->intercept = [path, body](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
      if (!request.url.ends_with(path)) return std::nullopt;
      return Result<WebAnswer>(WebAnswer{.status = 200, .body = Bytes(body.begin(), body.end())});
    };
  }
};

TEST_F(SetupTest, EnrolsAndRegisters) {
  const auto done = set_it_up(setup());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_TRUE(done->suggested);
  EXPECT_TRUE(check_pseudonym(done->client).ok());
  EXPECT_EQ(done->log, "provider.example/log");
  EXPECT_EQ(mode(folder().folder), 0700U);
  EXPECT_EQ(mode(folder().key()), 0600U);
  EXPECT_EQ(mode(folder().config()), 0600U);
  EXPECT_EQ(read_status(folder())->registration, "made");
  EXPECT_EQ(provider_->notices<ClientNotice>().size(), 1U);
  // Again it changes nothing, and needs no code.
  AgentSetup again = setup();
  again.code.clear();
  EXPECT_EQ(set_it_up(again)->client, done->client);
  EXPECT_EQ(provider_->notices<ClientNotice>().size(), 1U);
}

TEST_F(SetupTest, KilledAnywhereItGoesOn) {
  int fatal = 0;
  for (bool killed = true; killed; ++fatal) {
    SetUp();
    killed = is_killed(fatal, [&](const WorkSettings& settings, const std::function<void()>& change) {
      AgentSetup fragile = setup();
      fragile.between_changes = change;
      (void)set_up(folder(), fragile, *provider_, settings);
    });
    const auto done = set_it_up(setup());
    ASSERT_TRUE(done.ok()) << fatal << ": " << done.error().message;
    EXPECT_EQ(provider_->notices<ClientNotice>().size(), 1U) << fatal;
    EXPECT_EQ(temporaries(), 0U) << fatal;
    EXPECT_EQ(read_secret_header(ClientFolder{folder().client()}.secret())->client, done->client) << fatal;
  }
  EXPECT_GT(fatal, 7);
}

TEST_F(SetupTest, AFolderBelongsToOneProvider) {
  ASSERT_TRUE(set_it_up(setup()).ok());
  AgentSetup other = setup();
  other.config.provider = "https://other.example";
  EXPECT_NE(refusal(set_it_up(other)).find("choose another folder"), std::string::npos);
}

TEST_F(SetupTest, ACodeIsNeededAndMustHold) {
  AgentSetup without = setup();
  without.code.clear();
  EXPECT_NE(refusal(set_it_up(without)).find("--code"), std::string::npos);
  without.code = "another";
  EXPECT_NE(refusal(set_it_up(without)).find("refuses (code)"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder().client()));
  EXPECT_TRUE(set_it_up(setup()).ok());
}

TEST_F(SetupTest, APolicyOfOnesOwnIsKept) {
  AgentSetup own = setup();
  own.policy = at("test/policy");
  ASSERT_TRUE(write_file(own.policy, view(provider_->policy().text())).ok());
  answer(paths::kPolicy, "nonsense");
  const auto done = set_it_up(own);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_FALSE(done->suggested);
}

TEST_F(SetupTest, AnotherLogThanThePolicysIsNotBelieved) {
  AgentSetup own = setup();
  own.policy = at("test/policy");
  const NoteKey other = *NoteKey::make("provider.example/log", NoteKeyType::kLog, SigningKey::generate()->public_key());
  ASSERT_TRUE(write_file(own.policy, view(Policy::of_log(other).text())).ok());
  EXPECT_FALSE(set_it_up(own).ok());
  EXPECT_FALSE(std::filesystem::exists(folder().provider()));
}

TEST_F(SetupTest, TheDeploymentIsTheFirstEntryOfTheLogThatItNames) {
  const Bytes first = provider_->entries().front();
  const Envelope envelope = *Envelope::decode({reinterpret_cast<const char*>(first.data()), first.size()});
  DeploymentNotice notice = *DeploymentNotice::decode(envelope.payload);

  answer(paths::kDeployment, DeploymentAnswer{{envelope, 1}}.encode());
  EXPECT_NE(refusal(set_it_up(setup())).find("not the first entry"), std::string::npos);

  notice.retention_days += 1;  // not what is in the log
  answer(paths::kDeployment, DeploymentAnswer{{*sign_envelope(notice.encode(), provider_->key), 0}}.encode());
  EXPECT_FALSE(set_it_up(setup()).ok());

  const SigningKey other = *SigningKey::generate();
  answer(paths::kDeployment, DeploymentAnswer{{*sign_envelope(envelope.payload, other), 0}}.encode());
  EXPECT_FALSE(set_it_up(setup()).ok());
  EXPECT_FALSE(std::filesystem::exists(folder().provider()));
  provider_->intercept = {};
  EXPECT_TRUE(set_it_up(setup()).ok());
}

TEST_F(SetupTest, ADeploymentThatNamesAnotherLogIsRefused) {
  const Path entry = at("test/provider/entries/000000");
  DeploymentNotice notice = *DeploymentNotice::decode(read_envelope(entry)->payload);
  notice.log = *NoteKey::make("other.example/log", NoteKeyType::kLog, SigningKey::generate()->public_key());
  ASSERT_TRUE(
      write_file(entry, view(sign_envelope(notice.encode(), provider_->key)->encode()), {.overwrite = true}).ok());
  EXPECT_NE(refusal(set_it_up(setup())).find("another log than the policy"), std::string::npos);
}

TEST_F(SetupTest, TheDeploymentsFileIsTheOneInTheLog) {
  answer(paths::kDeploymentFile, "something else");
  EXPECT_NE(refusal(set_it_up(setup())).find("not the one that is in the log"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder().deployment()));
}

TEST_F(SetupTest, TheProviderSignsThisClient) {
  provider_->intercept = [&](const WebRequest& request) -> std::optional<Result<WebAnswer>> {
    if (!request.url.ends_with(paths::kClients)) return std::nullopt;
    const ClientNotice notice{.client = *random_pseudonym(),
                              .deployment = world_->deployment.digest(),
                              .key = provider_->key.public_key(),
                              .rotation = 0,
                              .replaces = {}};
    const std::string body = EnrolmentAnswer{*sign_envelope(notice.encode(), provider_->key)}.encode();
    return Result<WebAnswer>(WebAnswer{.status = 201, .body = Bytes(body.begin(), body.end())});
  };
  EXPECT_NE(refusal(set_it_up(setup())).find("another client than this one"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder().enrolment()));
}

TEST_F(SetupTest, AClientThatIsRegisteredAlreadyIsUsed) {
  const std::string pseudonym = *random_pseudonym();
  ASSERT_TRUE(register_client({.deployment = at("deployment.zka"),
                               .model = at("model.safetensors"),
                               .store = at("store.zka"),
                               .base = world_->base_file(),
                               .client = pseudonym,
                               .out = folder().client()},
                              world_->settings)
                  .ok());
  AgentSetup without = setup();
  without.model.clear();
  without.store.clear();
  EXPECT_EQ(set_it_up(without)->client, pseudonym);
}

TEST_F(SetupTest, ANameThatTheLogMustNotShowIsRefused) {
  std::filesystem::create_directories(folder().folder);
  std::filesystem::copy(at("alice"), folder().client());
  EXPECT_NE(refusal(set_it_up(setup())).find("must not show"), std::string::npos);
}

TEST_F(SetupTest, WithoutAModelItSaysWhatIsMissing) {
  AgentSetup without = setup();
  without.model.clear();
  EXPECT_NE(refusal(set_it_up(without)).find("--model"), std::string::npos);
}

}  // namespace
}  // namespace zkapex::testing
