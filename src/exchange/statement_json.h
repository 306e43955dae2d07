// How statements are written in JSON: what all kinds share.
#pragma once

#include "exchange/statement.h"
#include "log/strict_json.h"

namespace zkapex {

using OrderedJson = nlohmann::ordered_json;

// The payload of an in-toto statement with one subject.
[[nodiscard]] Bytes write_statement(StatementKind kind, std::string_view subject, const Sha256::Digest& sha256,
                                    OrderedJson predicate);

// A statement that was read, but for its predicate.
struct StatementJson {
  StatementKind kind;
  std::string subject;
  Sha256::Digest sha256{};
  nlohmann::json predicate;  // an object
};
[[nodiscard]] Result<StatementJson> read_statement(ByteView payload);
// The same, of that kind and with that subject.
[[nodiscard]] Result<StatementJson> read_statement(ByteView payload, StatementKind kind, std::string_view subject);

// {"size": …, "root": …}
[[nodiscard]] OrderedJson json_of(const SeenTree& seen);
[[nodiscard]] Result<SeenTree> seen_in(JsonObject& object, const std::string& key);
// At most FileReference::kMaxBytes, and not nothing.
[[nodiscard]] Result<uint64_t> file_bytes_in(JsonObject& object, const std::string& key);
[[nodiscard]] Result<std::string> pseudonym_in(JsonObject& object);
[[nodiscard]] Result<Operator> operator_in(JsonObject& object, const std::string& key);
[[nodiscard]] Result<PublicKey> public_key_in(JsonObject& object);  // "publicKey" and "algorithm"
void put_public_key(const PublicKey& key, OrderedJson& out);

}  // namespace zkapex
