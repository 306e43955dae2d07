#include "exchange/statement_json.h"

#include "base/names.h"
#include "base/random.h"
#include "log/base64.h"

namespace zkapex {

namespace {

constexpr std::string_view kStatementType = "https://in-toto.io/Statement/v1";
constexpr std::string_view kPredicatePrefix = "urn:zkapex:", kPredicateSuffix = "/v1";
constexpr StatementKind kKinds[] = {StatementKind::kDeployment, StatementKind::kClient, StatementKind::kRegistration,
                                    StatementKind::kWindow,     StatementKind::kUpdate, StatementKind::kSubmission,
                                    StatementKind::kVerdict,    StatementKind::kUpload};

std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

std::string_view name(StatementKind kind) {
  switch (kind) {
    case StatementKind::kDeployment:
      return "deployment";
    case StatementKind::kClient:
      return "client";
    case StatementKind::kRegistration:
      return "registration";
    case StatementKind::kWindow:
      return "window";
    case StatementKind::kUpdate:
      return "update";
    case StatementKind::kSubmission:
      return "submission";
    case StatementKind::kVerdict:
      return "verdict";
    case StatementKind::kUpload:
      return "upload";
  }
  return "unknown";
}

std::string predicate_type(StatementKind kind) {
  return fmt::format("{}{}{}", kPredicatePrefix, name(kind), kPredicateSuffix);
}

Result<StatementKind> kind_named(std::string_view text) {
  for (const StatementKind kind : kKinds) {
    if (name(kind) == text) return kind;
  }
  return error("no statement is called {}", in_quotes(text));
}

Status check_pseudonym(std::string_view client) {
  constexpr size_t kDigits = 32;
  const Result<Bytes> bytes = from_hex(client);
  if (client.size() != kDigits || !bytes || to_hex(*bytes) != client)
    return error("a client's name in the log is {} lower-case hexadecimal digits, drawn at random", kDigits);
  return Done{};
}

Result<std::string> random_pseudonym() {
  ZKAPEX_TRY(const auto bytes, random_array<16>());
  return to_hex(bytes);
}

FileReference reference_to(ByteView file) { return {.sha256 = sha256(file), .bytes = file.size()}; }

Bytes write_statement(StatementKind kind, std::string_view subject, const Sha256::Digest& digest,
                      OrderedJson predicate) {
  OrderedJson out;
  out["_type"] = kStatementType;
  out["subject"] = OrderedJson::array({{{"name", subject}, {"digest", {{"sha256", to_hex(digest)}}}}});
  out["predicateType"] = predicate_type(kind);
  out["predicate"] = std::move(predicate);
  const std::string text = out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return {text.begin(), text.end()};
}

Result<StatementJson> read_statement(ByteView payload) {
  if (payload.size() > kMaxEntryBytes) return error("a statement has at most {} bytes", kMaxEntryBytes);
  ZKAPEX_TRY(nlohmann::json json, parse_strict_json(as_text(payload)));
  ZKAPEX_TRY(JsonObject object, JsonObject::open(json, "the statement"));
  ZKAPEX_TRY(const std::string type, object.text("_type", kMaxName));
  if (type != kStatementType) return error("this is {}, not {}", in_quotes(type), kStatementType);
  ZKAPEX_TRY(const std::string predicate_type, object.text("predicateType", kMaxName));
  if (!predicate_type.starts_with(kPredicatePrefix) || !predicate_type.ends_with(kPredicateSuffix))
    return error("{} is no predicate of zkapex", in_quotes(predicate_type));
  ZKAPEX_TRY(const StatementKind kind,
             kind_named(std::string_view(predicate_type)
                            .substr(kPredicatePrefix.size(),
                                    predicate_type.size() - kPredicatePrefix.size() - kPredicateSuffix.size())));
  ZKAPEX_TRY(const nlohmann::json* subjects, object.value("subject"));
  ZKAPEX_TRY(const nlohmann::json* predicate, object.value("predicate"));
  ZKAPEX_CHECK(object.finish());
  if (!subjects->is_array() || subjects->size() != 1) return error("a statement has one subject here");
  ZKAPEX_TRY(JsonObject subject, JsonObject::open(subjects->front(), "the subject"));
  StatementJson out{.kind = kind, .subject = {}, .sha256 = {}, .predicate = {}};
  ZKAPEX_TRY(out.subject, subject.name("name"));
  ZKAPEX_TRY(JsonObject digest, subject.object("digest"));
  ZKAPEX_TRY(out.sha256, digest.digest("sha256"));
  ZKAPEX_CHECK(digest.finish());
  ZKAPEX_CHECK(subject.finish());
  out.predicate = *predicate;
  return out;
}

Result<StatementJson> read_statement(ByteView payload, StatementKind kind, std::string_view subject) {
  ZKAPEX_TRY(StatementJson out, read_statement(payload));
  if (out.kind != kind) return error("this is a statement of {}, not of {}", name(out.kind), name(kind));
  if (out.subject != subject) return error("the subject is {}, not {}", in_quotes(out.subject), in_quotes(subject));
  return out;
}

OrderedJson json_of(const SeenTree& seen) { return {{"size", seen.size}, {"root", to_hex(seen.root)}}; }

Result<SeenTree> seen_in(JsonObject& object, const std::string& key) {
  ZKAPEX_TRY(JsonObject tree, object.object(key));
  SeenTree out;
  ZKAPEX_TRY(out.size, tree.number("size"));
  ZKAPEX_TRY(out.root, tree.digest("root"));
  ZKAPEX_CHECK(tree.finish());
  return out;
}

Result<uint64_t> file_bytes_in(JsonObject& object, const std::string& key) {
  ZKAPEX_TRY(const uint64_t out, object.number(key));
  if (out == 0 || out > FileReference::kMaxBytes)
    return error("\"{}\" of {} is no length of a file from 1 to 2^40 bytes", key, object.what());
  return out;
}

Result<std::string> pseudonym_in(JsonObject& object) {
  ZKAPEX_TRY(std::string out, object.text("client", kMaxName));
  ZKAPEX_CHECK(check_pseudonym(out));
  return out;
}

Result<Operator> operator_in(JsonObject& object, const std::string& key) {
  ZKAPEX_TRY(const std::string text, object.name(key));
  return operator_named(text);
}

Result<PublicKey> public_key_in(JsonObject& object) {
  ZKAPEX_TRY(const std::string text, object.text("publicKey", 256));
  ZKAPEX_TRY(const Bytes der, from_base64(text));
  ZKAPEX_TRY(PublicKey out, PublicKey::from_spki(der));
  ZKAPEX_TRY(const std::string algorithm, object.text("algorithm", kMaxName));
  if (algorithm != name(out.algorithm())) return error("the key is not one of {}", in_quotes(algorithm));
  return out;
}

void put_public_key(const PublicKey& key, OrderedJson& out) {
  out["algorithm"] = name(key.algorithm());
  out["publicKey"] = to_base64(key.spki());
}

}  // namespace zkapex
