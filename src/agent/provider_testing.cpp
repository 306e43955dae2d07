#include "agent/provider_testing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "log/strict_json.h"
#include "parties/admission.h"
#include "parties/judge.h"
#include "parties/ledger.h"

namespace zkapex::testing {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOrigin = "provider.example/log";

std::string_view text_of(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

WebAnswer answer(int status, std::string_view body) {
  return {.status = status, .body = Bytes(body.begin(), body.end())};
}

WebAnswer refuse(ProblemKind kind, const std::string& detail = "no") {
  return answer(status(kind), Problem{kind, detail}.encode());
}

Bytes contents(const Path& path) { return *read_file(path, size_t{1} << 24); }

void put(const Path& path, ByteView bytes) {
  const Status done = write_file(path, bytes, {.overwrite = true});
  EXPECT_TRUE(done.ok()) << done.error().message;
}

SigningKey key_of(uint8_t seed) { return *SigningKey::from_seed(Bytes(32, seed)); }

}  // namespace

FakeProvider::FakeProvider(const World& world, Path folder, bool carried)
    : settings(world.settings), key(key_of(1)), log_key(key_of(2)), world_(world), folder_(std::move(folder)) {
  const NoteKey log = *NoteKey::make(std::string(kOrigin), NoteKeyType::kLog, log_key.public_key());
  log_vkey_ = log.vkey();
  for (const char* name : {"entries", "psi", "deliveries", "clients"}) fs::create_directories(folder_ / name);
  if (!entries().empty()) return;
  const Bytes file = contents(world.folder / "deployment.zka");
  const DeploymentNotice notice{.file = reference_to(file),
                                .deployment = world.deployment.digest(),
                                .log = log,
                                .provider = key.public_key(),
                                .certified_error = world.deployment.parameters().error.text(),
                                .anchored = true,
                                .operators = {Operator::kGroupObs},
                                .certificate = false,
                                .retention_days = 30,
                                .verdict_seconds = kVerdictSeconds,
                                .carried = carried,
                                .time = now};
  append(*sign_envelope(notice.encode(), key));
}

std::vector<Bytes> FakeProvider::entries() const {
  std::vector<Path> files;
  for (const auto& entry : fs::directory_iterator(folder_ / "entries")) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<Bytes> out;
  for (const Path& file : files) out.push_back(contents(file));
  return out;
}

std::vector<TreeHash> FakeProvider::leaves() const {
  std::vector<TreeHash> out;
  for (const Bytes& entry : entries()) out.push_back(leaf_hash(entry));
  return out;
}

uint64_t FakeProvider::append(const Envelope& envelope) {
  const uint64_t index = entries().size();
  put(folder_ / "entries" / fmt::format("{:06}", index), view(envelope.encode()));
  return index;
}

Note FakeProvider::checkpoint() const {
  const std::vector<TreeHash> hashes = leaves();
  return *sign_checkpoint({std::string(kOrigin), hashes.size(), tree_hash(hashes)}, log_key);
}

uint64_t FakeProvider::publish(const std::string& window, const std::vector<uint64_t>& support, UnixTime opens,
                               UnixTime deadline) {
  Mask mask = world_.mask;
  mask.window = window;
  mask.support.assign(support.begin(), support.end());
  const std::vector<WindowNotice> before = notices<WindowNotice>();
  if (!before.empty()) mask.predecessor = before.back().mask;
  const Bytes psi = mask.serialize();
  put(folder_ / "psi" / to_hex(mask.digest()), psi);
  const std::vector<TreeHash> hashes = leaves();
  const WindowNotice notice{.file = reference_to(psi),
                            .window = window,
                            .deployment = world_.deployment.digest(),
                            .mask = mask.digest(),
                            .predecessor = mask.predecessor,
                            .nonce = mask.nonce,
                            .op = mask.op,
                            .opens = opens,
                            .deadline = deadline,
                            .seen = {hashes.size(), tree_hash(hashes)}};
  return append(*sign_envelope(notice.encode(), key));
}

Result<WebAnswer> FakeProvider::send(const WebRequest& request) {
  ++requests;
  if (intercept) {
    if (auto instead = intercept(request)) return *std::move(instead);
  }
  EXPECT_TRUE(request.url.starts_with(kAddress)) << request.url;
  const std::string path = request.url.substr(kAddress.size());
  WebAnswer out = refuse(ProblemKind::kNotFound);
  if (request.method == WebMethod::kGet) out = get(path, request);
  if (request.method == WebMethod::kPost) out = path == paths::kClients ? enrol(request) : announce(request);
  if (request.method == WebMethod::kPut)
    out = path.find("/state/") != std::string::npos ? receive_state(path, request)
                                                    : receive(path.substr(path.rfind('/') + 1), request);
  if (out.body.size() > request.max_answer) return error("more than {} bytes", request.max_answer);
  return out;
}

WebAnswer FakeProvider::get(const std::string& path, const WebRequest& request) {
  if (path.starts_with(paths::kLog)) return log_file(path.substr(paths::kLog.size() + 1));
  if (path == paths::kPolicy) return answer(200, policy().text());
  const std::vector<Bytes> all = entries();
  if (path == paths::kDeployment)
    return answer(200, DeploymentAnswer{{*Envelope::decode(text_of(all.front())), 0}}.encode());
  if (path == paths::kDeploymentFile) return answer(200, text_of(contents(world_.folder / "deployment.zka")));
  if (path == paths::kWindows) {
    WindowsAnswer windows;
    for (size_t k = 0; k < all.size(); ++k) {
      const Envelope envelope = *Envelope::decode(text_of(all[k]));
      if (std::holds_alternative<WindowNotice>(*decode_statement(envelope.payload)))
        windows.windows.push_back({envelope, k});
    }
    WebAnswer out = answer(200, windows.encode());
    out.etag = fmt::format("\"{}\"", to_hex(sha256(out.body)));
    return request.etag == out.etag ? answer(304, "") : out;
  }
  if (path.find("/submissions/") != std::string::npos) return tell_verdict(path.substr(path.rfind('/') + 1));
  for (const auto& psi : fs::directory_iterator(folder_ / "psi")) {
    if (path == paths::window_file(*digest_from_hex(psi.path().filename().string())))
      return answer(200, text_of(contents(psi.path())));
  }
  return refuse(ProblemKind::kNotFound, path);
}

WebAnswer FakeProvider::log_file(const std::string& path) const {
  if (path == "checkpoint") return answer(200, checkpoint().encode());
  const Result<TileName> tile = TileName::parse(path);
  if (!tile) return refuse(ProblemKind::kNotFound, path);
  const uint64_t first = tile->index * kTileWidth;
  if (!tile->level) {
    const std::vector<Bytes> all = entries();
    if (first + tile->width > all.size()) return refuse(ProblemKind::kNotFound, path);
    return answer(200, text_of(*encode_entries(std::span(all).subspan(first, tile->width))));
  }
  const std::vector<TreeHash> hashes = leaves();
  const uint64_t span = uint64_t{1} << (8 * *tile->level);
  std::vector<TreeHash> out;
  for (uint64_t k = first; k < first + tile->width; ++k) {
    if ((k + 1) * span > hashes.size()) return refuse(ProblemKind::kNotFound, path);
    out.push_back(tree_hash(std::span(hashes).subspan(k * span, span)));
  }
  return answer(200, text_of(encode_hashes(out)));
}

WebAnswer FakeProvider::enrol(const WebRequest& request) {
  EnrolmentRequest asked = *EnrolmentRequest::decode(text_of(request.body));
  const ClientNotice notice = *ClientNotice::decode(asked.client.payload);
  const Path client = folder_ / "clients" / notice.client;
  const bool rotates = notice.rotation > 0;
  const bool known = fs::exists(client) && contents(client) == notice.key.spki();
  if (!known && !rotates && asked.code != "code") return refuse(ProblemKind::kCode);
  if (!known) {
    const std::optional<PublicKey> before =
        rotates ? std::optional(*PublicKey::from_spki(contents(client))) : std::nullopt;
    if (!open_client_statement(asked.client, before ? &*before : nullptr)) return refuse(ProblemKind::kSignature);
  }
  if (!known && rotates) forget_announcements();
  EXPECT_TRUE(add_signature(asked.client, key).ok());
  if (!known) append(asked.client);
  put(client, notice.key.spki());
  return answer(known ? 200 : 201, EnrolmentAnswer{asked.client}.encode());
}

// What was announced by the old key, and has not come, is announced again by the new one.
void FakeProvider::forget_announcements() {
  std::vector<Path> announced;
  for (const auto& delivery : fs::directory_iterator(folder_ / "deliveries")) {
    if (!fs::exists(delivery.path() / "received")) announced.push_back(delivery.path());
  }
  for (const Path& delivery : announced) fs::remove_all(delivery);
}

WebAnswer FakeProvider::announce(const WebRequest& request) {
  const Envelope envelope = *Envelope::decode(text_of(request.body));
  const Statement statement = *decode_statement(envelope.payload);
  std::string client;
  if (const auto* said = std::get_if<RegistrationNotice>(&statement)) client = said->client;
  if (const auto* said = std::get_if<UpdateNotice>(&statement)) client = said->client;
  if (const auto* said = std::get_if<SubmissionNotice>(&statement)) client = said->client;
  const PublicKey signer = *PublicKey::from_spki(contents(folder_ / "clients" / client));
  if (!verify_envelope(envelope, signer)) return refuse(ProblemKind::kSignature);
  const Path delivery = folder_ / "deliveries" / to_hex(envelope.payload_digest());
  const bool known = fs::exists(delivery);
  if (const auto* said = std::get_if<SubmissionNotice>(&statement); said != nullptr && !known) {
    for (const WindowNotice& window : notices<WindowNotice>()) {
      if (window.window == said->window && now >= window.deadline) return refuse(ProblemKind::kDeadline);
    }
  }
  if (const auto* said = std::get_if<UpdateNotice>(&statement); said != nullptr && !known && awaits(said->client))
    return refuse(ProblemKind::kWindowOpen);
  fs::create_directories(delivery);
  put(delivery / "statement", request.body);
  UploadTicket ticket{envelope.payload_digest(), paths::upload(envelope.payload_digest())};
  if (!verdict_on(to_hex(ticket.id))) ticket.state = missing_state(delivery);
  return answer(known ? 200 : 201, ticket.encode());
}

// The client's record and current model, as far as they have not come for this delivery.
std::vector<FileReference> FakeProvider::missing_state(const Path& delivery) const {
  std::vector<FileReference> out;
  if (!notices<DeploymentNotice>().front().carried) return out;
  const Statement statement = *decode_statement(Envelope::decode(text_of(contents(delivery / "statement")))->payload);
  std::string client;
  if (const auto* said = std::get_if<UpdateNotice>(&statement)) client = said->client;
  if (const auto* said = std::get_if<SubmissionNotice>(&statement)) client = said->client;
  if (client.empty()) return out;
  const ClientRecord record = **Ledger::open_or_create(folder_ / "ledger", world_.deployment)->find(client);
  for (const Bytes& file : {record.registered.encode(), record.current.encode()}) {
    if (!fs::exists(delivery / "state" / to_hex(sha256(file)))) out.push_back(reference_to(file));
  }
  return out;
}

WebAnswer FakeProvider::receive_state(const std::string& path, const WebRequest& request) {
  const std::string id = path.substr(path.find("/state/") - 64, 64), file = path.substr(path.rfind('/') + 1);
  const Path delivery = folder_ / "deliveries" / id;
  if (!fs::exists(delivery)) return refuse(ProblemKind::kNotFound);
  if (to_hex(sha256(request.body)) != file) return refuse(ProblemKind::kDigest);
  fs::create_directories(delivery / "state");
  put(delivery / "state" / file, request.body);
  return answer(200, "{}");
}

bool FakeProvider::awaits(const std::string& client) const {
  const std::vector<VerdictNotice> verdicts = notices<VerdictNotice>();
  return std::ranges::any_of(notices<WindowNotice>(), [&](const WindowNotice& window) {
    return now < window.deadline && std::ranges::none_of(verdicts, [&](const VerdictNotice& verdict) {
             return verdict.window == window.window && verdict.client == client && verdict.passed();
           });
  });
}

WebAnswer FakeProvider::receive(const std::string& id, const WebRequest& request) {
  const Path delivery = folder_ / "deliveries" / id;
  if (!fs::exists(delivery)) return refuse(ProblemKind::kNotFound);
  if (!fs::exists(delivery / "received")) {
    const Envelope envelope = *Envelope::decode(text_of(contents(delivery / "statement")));
    const Statement statement = *decode_statement(envelope.payload);
    UploadNotice notice;
    notice.id = envelope.payload_digest();
    const auto fill = [&](const auto& said) {
      notice.of = said.kKind;
      notice.file = said.file;
      notice.client = said.client;
      notice.deployment = said.deployment;
    };
    if (const auto* said = std::get_if<RegistrationNotice>(&statement)) fill(*said);
    if (const auto* said = std::get_if<UpdateNotice>(&statement)) fill(*said);
    if (const auto* said = std::get_if<SubmissionNotice>(&statement)) fill(*said);
    if (std::holds_alternative<UpdateNotice>(statement) && awaits(notice.client))
      return refuse(ProblemKind::kWindowOpen);
    if (reference_to(request.body) != notice.file) return refuse(ProblemKind::kDigest);
    if (!missing_state(delivery).empty()) return refuse(ProblemKind::kState);
    notice.received = now;
    notice.verdict_due = now + kVerdictSeconds;
    put(delivery / "file", request.body);
    put(delivery / "index", view(std::to_string(append(envelope))));
    put(delivery / "received", view(sign_envelope(notice.encode(), key)->encode()));
  }
  return answer(202, text_of(contents(delivery / "received")));
}

std::optional<LoggedEnvelope> FakeProvider::verdict_on(const std::string& id) const {
  const std::vector<Bytes> all = entries();
  for (size_t k = 0; k < all.size(); ++k) {
    const Envelope envelope = *Envelope::decode(text_of(all[k]));
    const Statement statement = *decode_statement(envelope.payload);
    if (const auto* said = std::get_if<VerdictNotice>(&statement); said != nullptr && to_hex(said->id) == id)
      return LoggedEnvelope{envelope, k};
  }
  return std::nullopt;
}

WebAnswer FakeProvider::tell_verdict(const std::string& id) {
  const Path delivery = folder_ / "deliveries" / id;
  if (!fs::exists(delivery)) return refuse(ProblemKind::kNotFound);
  SubmissionAnswer out;
  out.id = *digest_from_hex(id);
  if (fs::exists(delivery / "received")) out.state = SubmissionState::kReceived;
  if (deciding) decide();
  out.verdict = verdict_on(id);
  if (out.verdict) {
    const bool passed = VerdictNotice::decode(out.verdict->envelope.payload)->passed();
    out.state = passed ? SubmissionState::kAccepted : SubmissionState::kRejected;
  }
  return answer(200, out.encode());
}

void FakeProvider::decide() {
  std::vector<Path> waiting;
  for (const auto& delivery : fs::directory_iterator(folder_ / "deliveries")) {
    if (fs::exists(delivery.path() / "received") && !verdict_on(delivery.path().filename().string()))
      waiting.push_back(delivery.path());
  }
  for (const Path& delivery : waiting) judge_delivery(delivery);
}

void FakeProvider::judge_delivery(const Path& delivery) {
  const Envelope envelope = *Envelope::decode(text_of(contents(delivery / "statement")));
  const Statement statement = *decode_statement(envelope.payload);
  const Bytes file = contents(delivery / "file");
  const Ledger ledger = *Ledger::open_or_create(folder_ / "ledger", world_.deployment);
  VerdictNotice verdict;
  verdict.id = envelope.payload_digest();
  verdict.file = reference_to(file);
  verdict.certified_error = world_.deployment.parameters().error.text();
  verdict.version = "test";
  verdict.received = verdict.time = now;
  verdict.submission = std::stoull(std::string(text_of(contents(delivery / "index"))));
  std::optional<ModelCommitment> next;
  if (const auto* said = std::get_if<RegistrationNotice>(&statement)) {
    verdict.of = said->kKind;
    verdict.client = said->client;
    verdict.deployment = said->deployment;
    verdict.registration = said->registration;
    verdict.rejection = admit(ledger, &world_.base, file, settings)->rejection;
    if (!verdict.rejection) next = (*ledger.find(said->client))->current;
  } else if (const auto* learned = std::get_if<UpdateNotice>(&statement)) {
    verdict.of = learned->kKind;
    verdict.client = learned->client;
    verdict.deployment = learned->deployment;
    verdict.registration = learned->registration;
    verdict.starts_from = learned->starts_from;
    if (rejects) {
      verdict.rejection = Rejection{*rejects, "without looking"};
    } else {
      verdict.rejection = admit_update(ledger, &world_.base, file, settings)->rejection;
    }
    if (!verdict.rejection) next = (*ledger.find(learned->client))->current;
  } else if (const auto* sent = std::get_if<SubmissionNotice>(&statement)) {
    verdict.of = sent->kKind;
    verdict.client = sent->client;
    verdict.deployment = sent->deployment;
    verdict.registration = sent->registration;
    verdict.starts_from = sent->starts_from;
    verdict.window = sent->window;
    verdict.mask = sent->mask;
    verdict.op = Operator::kGroupObs;
    const Mask mask = *Mask::parse(contents(folder_ / "psi" / to_hex(sent->mask)));
    const std::vector<Bytes> all = entries();
    for (size_t k = 0; k < all.size(); ++k) {
      const Statement at = *decode_statement(Envelope::decode(text_of(all[k]))->payload);
      if (const auto* window = std::get_if<WindowNotice>(&at); window != nullptr && window->mask == sent->mask)
        verdict.window_index = k;
    }
    const std::vector<Submission> submissions = {[&] { return Result<Bytes, Rejection>(file); }};
    if (rejects) {
      verdict.rejection = Rejection{*rejects, "without looking"};
    } else {
      const std::vector<Judgement> judged = *judge(ledger, mask, submissions, settings);
      verdict.rejection = judged.front().rejection;
      next = judged.front().next;
      EXPECT_TRUE(record(ledger, mask, judged).ok());
    }
  }
  if (next) verdict.leads_to = Successor{reference_to(next->encode()), next->digest()};
  if (slant) slant(verdict);
  append(*sign_envelope(verdict.encode(), key));
}

}  // namespace zkapex::testing
