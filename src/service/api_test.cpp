// What clients may say, in which order, and how often.
#include "service/api_testing.h"
#include "service/retention.h"

namespace zkapex {

namespace {

using testing::ApiTest;
using testing::kApiDay;
using testing::refusal;

TEST_F(ApiTest, AWindowFromEnrolmentToReceipt) {
  be_registered(kAnna, anna_);
  EXPECT_EQ(WindowsAnswer::decode(get("/v1/windows").body)->windows.size(), 0U);
  publish(now_, now_ + 10 * kApiDay);
  const auto windows = WindowsAnswer::decode(get("/v1/windows").body);
  ASSERT_EQ(windows->windows.size(), 1U);
  const auto window = open_statement<WindowNotice>(windows->windows[0].envelope, provider_->notice().provider);
  ASSERT_TRUE(window.ok()) << refusal(window);
  const HttpResponse psi = get(paths::window_file(window->mask));
  EXPECT_EQ(sha256(view(psi.body)), window->file.sha256);

  const SubmissionNotice notice = submission(kAnna);
  const Digest id = sha256(notice.encode());
  const HttpResponse announced = post(paths::kSubmissions, statement(notice, anna_));
  ASSERT_EQ(announced.status, 201U) << announced.body;
  EXPECT_EQ(UploadTicket::decode(announced.body)->upload, paths::upload(id));
  EXPECT_EQ(SubmissionAnswer::decode(get(paths::submission(id)).body)->state, SubmissionState::kAnnounced);
  const HttpResponse uploaded = put(id, file_of(kAnna, "proof.zka"));
  ASSERT_EQ(uploaded.status, 202U) << uploaded.body;
  const auto receipt = open_statement<UploadNotice>(*Envelope::decode(uploaded.body), provider_->notice().provider);
  ASSERT_TRUE(receipt.ok()) << refusal(receipt);
  EXPECT_EQ(receipt->id, id);
  EXPECT_EQ(receipt->file, notice.file);
  EXPECT_EQ(receipt->verdict_due, now_ + kApiDay);
  EXPECT_EQ(SubmissionAnswer::decode(get(paths::submission(id)).body)->state, SubmissionState::kReceived);
  EXPECT_EQ(reason(get(paths::submission_receipt(id))), "not-found");
  work();

  const auto verdict = SubmissionAnswer::decode(get(paths::submission(id)).body);
  ASSERT_EQ(verdict->state, SubmissionState::kAccepted);
  const HttpResponse proof = get(paths::submission_receipt(id));
  ASSERT_EQ(proof.status, 200U) << proof.body;
  const auto parsed = Receipt::parse(proof.body);
  ASSERT_TRUE(parsed.ok() && parsed->entry) << refusal(parsed);
  const auto checked = check_receipt(*parsed, *parsed->entry, provider_->policy());
  EXPECT_TRUE(checked.ok()) << refusal(checked);
  EXPECT_EQ(text_of(*parsed->entry), verdict->verdict->envelope.encode());
}

TEST_F(ApiTest, EverythingTwiceIsOnce) {
  const std::string enrol = enrolment(code(), client_notice(kAnna, anna_), anna_);
  const HttpResponse first = post(paths::kClients, enrol), second = post(paths::kClients, enrol);
  EXPECT_EQ(first.status, 201U);
  EXPECT_EQ(second.status, 200U);
  EXPECT_EQ(first.body, second.body);
  const RegistrationNotice notice = registration(kAnna);
  const Digest id = sha256(notice.encode());
  const HttpResponse announced = post(paths::kRegistrations, statement(notice, anna_));
  const HttpResponse again = post(paths::kRegistrations, statement(notice, anna_));
  EXPECT_EQ(announced.status, 201U);
  EXPECT_EQ(again.status, 200U);
  EXPECT_EQ(announced.body, again.body);
  const Bytes file = file_of(kAnna, "registration.zka");
  const HttpResponse uploaded = put(id, file);
  now_ += 60;
  EXPECT_EQ(put(id, file).body, uploaded.body);  // the receipt of the first time
  EXPECT_EQ(store().queue()->ready + store().queue()->leased, 1U);
  work();
  EXPECT_EQ(put(id, file).body, uploaded.body);
  EXPECT_EQ(post(paths::kRegistrations, statement(notice, anna_)).status, 200U);
  EXPECT_EQ(store().models(kAnna)->size(), 1U);
}

// Whoever has the provider's signature under who has which key finds the same in the log.
TEST_F(ApiTest, OnlyWhatIsLoggedIsSignedForAClient) {
  const std::string first = post(paths::kClients, enrolment(code(), client_notice(kAnna, anna_), anna_)).body;
  Bytes payload = client_notice(kAnna, anna_).encode();
  payload.insert(payload.end() - 1, ' ');
  const HttpResponse again = post(paths::kClients, EnrolmentRequest{"", *sign_envelope(payload, anna_)}.encode());
  EXPECT_EQ(again.status, 200U);
  EXPECT_EQ(again.body, first);
}

TEST_F(ApiTest, EnrolmentNeedsACodeAndTheKey) {
  const ClientNotice notice = client_notice(kAnna, anna_);
  EXPECT_EQ(reason(post(paths::kClients, enrolment(*random_code(), notice, anna_))), "code");
  EXPECT_EQ(reason(post(paths::kClients, enrolment(code(), notice, bert_))), "signature");
  EXPECT_EQ(reason(post(paths::kClients, "{}")), "malformed");
  const std::string expired = code(10);
  now_ += 11;
  EXPECT_EQ(reason(post(paths::kClients, enrolment(expired, notice, anna_))), "code");
  const std::string used = code();
  EXPECT_EQ(post(paths::kClients, enrolment(used, notice, anna_)).status, 201U);
  EXPECT_EQ(reason(post(paths::kClients, enrolment(used, client_notice(kBert, bert_), bert_))), "code");
  EXPECT_EQ(reason(post(paths::kClients, enrolment(code(), client_notice(kAnna, bert_), bert_))), "taken");
  ClientNotice elsewhere = client_notice(kBert, bert_);
  elsewhere.deployment[0] ^= 1;
  EXPECT_EQ(reason(post(paths::kClients, enrolment(code(), elsewhere, bert_))), "malformed");
}

// With the provider's signature it has to be an entry that the log takes and auditors can read.
TEST_F(ApiTest, AnEnrolmentThatCannotBeLoggedIsRefused) {
  Envelope envelope = *sign_envelope(client_notice(kAnna, anna_).encode(), anna_);
  const Envelope plain = envelope;
  while (envelope.signatures.size() < Envelope::kMaxSignatures) envelope.signatures.push_back({"", Bytes(64)});
  EXPECT_EQ(reason(post(paths::kClients, EnrolmentRequest{code(), envelope}.encode())), "too-large");
  envelope = plain;
  Bytes padded = envelope.payload;
  padded.insert(padded.end() - 1, 48'500, ' ');
  envelope = *sign_envelope(padded, anna_);
  ASSERT_LE(envelope.encode().size(), kMaxEntryBytes);
  EXPECT_EQ(reason(post(paths::kClients, EnrolmentRequest{"", envelope}.encode())), "too-large");
  EXPECT_EQ(post(paths::kClients, EnrolmentRequest{code(), plain}.encode()).status, 201U);
}

TEST_F(ApiTest, AKeyIsReplacedByOneThatTheOldOneSigned) {
  enrol(kAnna, anna_);
  enrol(kBert, bert_);
  const SigningKey next = *SigningKey::generate();
  ClientNotice notice = client_notice(kAnna, next);
  notice.rotation = 1;
  notice.replaces = anna_.public_key().id();
  const auto rotate = [&](const ClientNotice& wanted, const std::vector<const SigningKey*>& keys) {
    Envelope envelope = *sign_envelope(wanted.encode(), *keys.front());
    for (size_t k = 1; k < keys.size(); ++k) EXPECT_TRUE(add_signature(envelope, *keys[k]).ok());
    return post(paths::kClients, EnrolmentRequest{"", envelope}.encode());
  };
  EXPECT_EQ(reason(rotate(notice, {&next})), "signature");
  EXPECT_EQ(reason(rotate(notice, {&anna_})), "signature");
  ClientNotice stolen = notice;
  stolen.replaces = bert_.public_key().id();
  EXPECT_EQ(reason(rotate(stolen, {&next, &bert_})), "client");
  ClientNotice leap = notice;
  leap.rotation = 2;
  EXPECT_EQ(reason(rotate(leap, {&next, &anna_})), "malformed");
  EXPECT_EQ(rotate(notice, {&next, &anna_}).status, 201U);
  EXPECT_EQ(rotate(notice, {&next, &anna_}).status, 200U);
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(registration(kAnna), anna_))), "signature");
  EXPECT_EQ(post(paths::kRegistrations, statement(registration(kAnna), next)).status, 201U);
}

TEST_F(ApiTest, StatementsAreHeldAgainstTheirSigner) {
  enrol(kAnna, anna_);
  RegistrationNotice notice = registration(kAnna);
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, bert_))), "client");  // not enrolled
  enrol(kBert, bert_);
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, bert_))), "signature");  // in another's name
  Envelope forged = *sign_envelope(notice.encode(), anna_);
  forged.signatures[0].signature[5] ^= 1;
  EXPECT_EQ(reason(post(paths::kRegistrations, forged.encode())), "signature");
  forged.signatures.clear();
  EXPECT_NE(post(paths::kRegistrations, forged.encode()).status, 201U);
  EXPECT_EQ(reason(post(paths::kRegistrations, "not json")), "malformed");
  EXPECT_EQ(reason(post(paths::kSubmissions, statement(notice, anna_))), "malformed");  // of another kind
  notice.deployment[0] ^= 1;
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, anna_))), "malformed");
  notice = registration(kAnna);
  notice.file.bytes = uint64_t{1} << 39;
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, anna_))), "too-large");
  notice = registration(kAnna);
  notice.seen.root[0] ^= 1;
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, anna_))), "stale");
  notice = registration(kAnna);
  notice.seen.size += 1;
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, anna_))), "stale");
}

// Nothing checks such a proof, so nobody may claim one in the log.
TEST_F(ApiTest, NoRegistrationProvesItsCurvature) {
  enrol(kAnna, anna_);
  RegistrationNotice notice = registration(kAnna);
  notice.certificate = true;
  EXPECT_EQ(reason(post(paths::kRegistrations, statement(notice, anna_))), "malformed");
}

// A key is replaced, or a day passes, while the file comes.
TEST_F(ApiTest, AFileThatCameForNothingGoes) {
  enrol(kAnna, anna_);
  const RegistrationNotice notice = registration(kAnna);
  ASSERT_EQ(post(paths::kRegistrations, statement(notice, anna_)).status, 201U);
  const Bytes file = file_of(kAnna, "registration.zka");
  HttpRequest request;
  request.method = "PUT";
  request.content_length = file.size();
  auto upload = (*router_.find(paths::upload(sha256(notice.encode())), request))->receive(request);
  ASSERT_TRUE(upload.ok());
  EXPECT_TRUE((*upload)->write(file));
  Store records = store();
  ASSERT_EQ(*records.expire({.decided = 0, .announced = now_, .limit = 10}, now_), 1U);
  EXPECT_EQ(reason((*upload)->finish()), "not-found");
  const BlobName blob{sha256(file), file.size()};
  EXPECT_TRUE(*provider_->blobs().has(blob));
  ASSERT_TRUE(remove_expired(records, provider_->blobs(), 90, [this] { return now_; }).ok());
  EXPECT_FALSE(*provider_->blobs().has(blob));
}

// Workers have no keys of the network's, and who keeps the log signs nothing else.
TEST_F(ApiTest, EachRoleReadsItsOwnSecrets) {
  std::filesystem::remove(folder_ / "admin-token");
  std::filesystem::remove(folder_ / "log-key.pem");
  EXPECT_FALSE(ProviderFolder::open(folder_).ok());
  const auto working = ProviderFolder::open(folder_, {.statement_key = true, .admin_token = false});
  ASSERT_TRUE(working.ok()) << refusal(working);
  EXPECT_EQ(working->statement_key().public_key().id(), provider_->notice().provider.id());
  const SigningKey other = *SigningKey::generate();
  std::filesystem::remove(folder_ / "statement-key.pem");
  const auto logging = ProviderFolder::open(folder_, {.statement_key = false, .admin_token = false});
  ASSERT_TRUE(logging.ok()) << refusal(logging);
  EXPECT_EQ(logging->notice(), provider_->notice());
  ASSERT_TRUE(other.write(folder_ / "statement-key.pem").ok());
  EXPECT_NE(refusal(ProviderFolder::open(folder_, {.statement_key = true, .admin_token = false})).find("not the key"),
            std::string::npos);
}

TEST_F(ApiTest, AnUploadIsWhatWasAnnounced) {
  enrol(kAnna, anna_);
  const RegistrationNotice notice = registration(kAnna);
  const Digest id = sha256(notice.encode());
  Bytes file = file_of(kAnna, "registration.zka");
  EXPECT_EQ(reason(put(id, file)), "not-found");
  ASSERT_EQ(post(paths::kRegistrations, statement(notice, anna_)).status, 201U);
  EXPECT_EQ(reason(put(id, Bytes(file.begin(), file.end() - 1))), "length");
  file[20] ^= 1;
  EXPECT_EQ(reason(put(id, file)), "digest");
  EXPECT_EQ(store().queue()->ready, 0U);
  EXPECT_FALSE((*store().delivery(id))->received_at.has_value());
}

TEST_F(ApiTest, WindowsOpenAndEnd) {
  be_registered(kAnna, anna_);
  publish(now_ + 100, now_ + 200);
  const SubmissionNotice notice = submission(kAnna);
  const Digest id = sha256(notice.encode());
  EXPECT_EQ(reason(post(paths::kSubmissions, statement(notice, anna_))), "not-open");
  now_ += 100;
  SubmissionNotice other = notice;
  other.starts_from[0] ^= 1;
  EXPECT_EQ(reason(post(paths::kSubmissions, statement(other, anna_))), "model");
  other = notice;
  other.mask[0] ^= 1;
  EXPECT_EQ(reason(post(paths::kSubmissions, statement(other, anna_))), "malformed");
  other = notice;
  other.window = "w9";
  EXPECT_EQ(reason(post(paths::kSubmissions, statement(other, anna_))), "not-found");
  other = notice;
  other.file.bytes = uint64_t{1} << 39;
  EXPECT_EQ(reason(post(paths::kSubmissions, statement(other, anna_))), "too-large");
  ASSERT_EQ(post(paths::kSubmissions, statement(notice, anna_)).status, 201U);
  now_ += 100;  // the deadline passes while the file is on its way
  EXPECT_EQ(reason(put(id, file_of(kAnna, "proof.zka"))), "deadline");
  EXPECT_EQ(reason(get(paths::submission(Digest{}))), "not-found");
  EXPECT_EQ(reason(get("/v1/submissions/xyz")), "not-found");
}

TEST_F(ApiTest, WhatIsStaticIsServedWithItsTag) {
  const HttpResponse first = get("/v1/windows");
  ASSERT_EQ(first.status, 200U);
  const auto tag = std::ranges::find(first.headers, "ETag", &std::pair<std::string, std::string>::first);
  ASSERT_NE(tag, first.headers.end());
  HttpRequest request;
  request.method = "GET";
  request.headers["if-none-match"] = tag->second;
  EXPECT_EQ(ask(router_, request, "/v1/windows", "").status, 304U);
  EXPECT_EQ(get("/v1/deployment").status, 200U);
  const HttpResponse file = get("/v1/deployment.zka");
  EXPECT_EQ(sha256(view(file.body)), provider_->notice().file.sha256);
  EXPECT_TRUE(Policy::parse(get("/v1/policy").body).ok());
  EXPECT_EQ(get("/log/checkpoint").status, 200U);
  EXPECT_EQ(get("/log/tile/0/000.p/1").status, 200U);
  for (const char* path : {"/log/tile/0/001", "/log/log-key.pem", "/log/tile/0/000.p", "/log/tile"})
    EXPECT_EQ(get(path).status, 404U) << path;
}

TEST_F(ApiTest, OnlyOperatorsSeeTheAdminPages) {
  EXPECT_EQ(admin("GET", "/").status, 403U);
  EXPECT_EQ(admin("GET", "/", "", {{"authorization", "Bearer x"}}).status, 403U);
  EXPECT_EQ(admin("GET", "/", "", token()).status, 200U);
  EXPECT_EQ(admin("GET", "/healthz").status, 200U);
  EXPECT_EQ(admin("GET", "/readyz").status, 200U);
  ready_ = false;
  EXPECT_EQ(admin("GET", "/readyz").status, 503U);

  const AdminAccess access(provider_->admin_token());
  EXPECT_EQ(admin("GET", access.login_path(now_ - 700)).status, 403U);
  EXPECT_EQ(admin("GET", AdminAccess("another token").login_path(now_)).status, 403U);
  const HttpResponse login = admin("GET", access.login_path(now_));
  ASSERT_EQ(login.status, 303U);
  const auto set = std::ranges::find(login.headers, "Set-Cookie", &std::pair<std::string, std::string>::first);
  ASSERT_NE(set, login.headers.end());
  const std::map<std::string, std::string> cookie = {
      {"cookie", "a=b; " + set->second.substr(0, set->second.find(';'))}};
  EXPECT_EQ(admin("GET", "/", "", cookie).status, 200U);
  enrol(kAnna, anna_);
  const std::string forget = "/clients/" + kAnna + "/forget";
  EXPECT_EQ((*store().client(kAnna))->person, "somebody");
  EXPECT_EQ(admin("POST", forget, "", cookie).status, 403U);  // from a page elsewhere
  EXPECT_EQ(admin("POST", forget, "form=abc", cookie).status, 403U);
  EXPECT_EQ(admin("POST", forget, "form=" + access.form_value()).status, 403U);
  EXPECT_EQ((*store().client(kAnna))->person, "somebody");
  EXPECT_EQ(admin("POST", forget, "form=" + access.form_value(), cookie).status, 303U);
  EXPECT_FALSE((*store().client(kAnna))->person.has_value());
  EXPECT_EQ(admin("POST", "/admin/codes", "{}", cookie).status, 403U);
}

TEST_F(ApiTest, OperatorsMakeCodesAndWindowsAndReadCompliance) {
  const HttpResponse made = admin("POST", "/admin/codes", R"({"person": "Anna", "days": 3})", token());
  ASSERT_EQ(made.status, 201U) << made.body;
  const std::string code = nlohmann::json::parse(made.body)["code"];
  EXPECT_EQ(post(paths::kClients, enrolment(code, client_notice(kAnna, anna_), anna_)).status, 201U);
  EXPECT_EQ(admin("POST", "/admin/codes", R"({"days": 0})", token()).status, 400U);
  EXPECT_EQ(admin("POST", "/admin/codes", R"({"day": 1})", token()).status, 400U);
  const RegistrationNotice notice = registration(kAnna);
  ASSERT_EQ(post(paths::kRegistrations, statement(notice, anna_)).status, 201U);
  ASSERT_EQ(put(sha256(notice.encode()), file_of(kAnna, "registration.zka")).status, 202U);
  work();
  const Bytes psi = world_->mask.serialize();
  const std::string body(psi.begin(), psi.end()), deadline = to_rfc3339(now_ + kApiDay);
  EXPECT_EQ(admin("POST", "/admin/windows?deadline=" + deadline, body).status, 403U);
  EXPECT_EQ(admin("POST", "/admin/windows?deadline=" + deadline, "no mask", token()).status, 400U);
  EXPECT_EQ(admin("POST", "/admin/windows", body, token()).status, 400U);
  EXPECT_EQ(admin("POST", "/admin/windows?deadline=" + to_rfc3339(now_ - 1), body, token()).status, 400U);
  const HttpResponse published = admin("POST", "/admin/windows?deadline=" + deadline, body, token());
  ASSERT_EQ(published.status, 201U) << published.body;
  sequence();
  const std::string csv = admin("GET", "/admin/windows/w1/compliance.csv", "", token()).body;
  EXPECT_NE(csv.find("w1," + kAnna + ",missing,"), csv.npos) << csv;
  const auto json = nlohmann::json::parse(admin("GET", "/admin/windows/w1/compliance.json", "", token()).body);
  EXPECT_EQ(json["due"], 1);
  EXPECT_EQ(json["clients"][0]["state"], "missing");
  EXPECT_EQ(admin("GET", "/admin/windows/w2/compliance.csv", "", token()).status, 404U);
  for (const std::string& path :
       {std::string("/windows/w1"), "/clients/" + kAnna, std::string("/clients"), std::string("/log")})
    EXPECT_EQ(admin("GET", path, "", token()).status, 200U) << path;
  const std::string metrics = admin("GET", "/metrics").body;
  EXPECT_NE(metrics.find("zkapex_window_clients{window=\"w1\",state=\"due\"} 1\n"), metrics.npos) << metrics;
}

TEST_F(ApiTest, AFolderIsMadeOnceAndItsSecretsAreItsOwners) {
  ProviderSettings settings = provider_->settings();
  EXPECT_NE(refusal(ProviderFolder::init(folder_, settings, world_->folder / "deployment.zka", now_)).find("exists"),
            std::string::npos);
  for (const char* file : {"log-key.pem", "statement-key.pem", "admin-token"})
    EXPECT_EQ(std::filesystem::status(folder_ / file).permissions(),
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << file;
  const Path other = folder_.string() + "-other";
  settings.base.clear();
  EXPECT_NE(refusal(ProviderFolder::init(other, settings, world_->folder / "deployment.zka", now_)).find("--base"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(other));
  settings.origin = "two words";
  EXPECT_FALSE(ProviderFolder::init(other, settings, world_->folder / "deployment.zka", now_).ok());
  EXPECT_NE(refusal(ProviderFolder::open(other)).find("no provider's folder"), std::string::npos);
}

TEST(ProviderSettings, AreReadStrictly) {
  ProviderSettings settings;
  settings.origin = "log.example/x";
  const auto again = ProviderSettings::decode(settings.encode());
  ASSERT_TRUE(again.ok()) << refusal(again);
  EXPECT_EQ(*again, settings);
  auto json = nlohmann::json::parse(settings.encode());
  const auto refused = [&](const char* key, const nlohmann::json& value) {
    auto changed = json;
    changed[key] = value;
    return refusal(ProviderSettings::decode(changed.dump()));
  };
  EXPECT_NE(refused("port", 65'536).find("no port"), std::string::npos);
  EXPECT_NE(refused("tls_key", "a.pem").find("go together"), std::string::npos);
  EXPECT_NE(refused("verdict_seconds", 0).find("verdict_seconds"), std::string::npos);
  EXPECT_NE(refused("retention_days", 99'999).find("retention_days"), std::string::npos);
  EXPECT_NE(refused("origin", "a b"), "");
  EXPECT_NE(refused("another", 1), "");
  // As earlier versions wrote them.
  EXPECT_EQ(refused("certificate", false), "(accepted)");
  EXPECT_EQ(refused("clients_carry_state", true), "(accepted)");
  EXPECT_NE(refused("certificate", 1), "(accepted)");
}

TEST(EnrolmentCodes, AreTypedAsPeopleType) {
  const std::string code = *random_code();
  std::string typed = " ";
  for (const char c : code) typed += c == '-' ? ' ' : static_cast<char>(std::tolower(c));
  EXPECT_EQ(code_digest(code), code_digest(typed + "\n"));
  EXPECT_NE(code_digest(code), code_digest(*random_code()));
  EXPECT_EQ(code.size(), 23U);
}

}  // namespace

}  // namespace zkapex
