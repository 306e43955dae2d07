#include "log/receipt.h"

#include "log/lines.h"

namespace zkapex {

namespace {

constexpr std::string_view kReceiptHeader = "c2sp.org/tlog-proof@v1";
constexpr std::string_view kExtraMark = "extra ", kIndexMark = "index ";

}  // namespace

std::string Receipt::encode() const {
  std::string out = fmt::format("{}\n", kReceiptHeader);
  if (entry) out += fmt::format("{}{}\n", kExtraMark, to_base64(*entry));
  out += fmt::format("{}{}\n", kIndexMark, index);
  for (const TreeHash& hash : proof) out += to_base64(hash) + "\n";
  return out + "\n" + checkpoint.encode();
}

Result<Receipt> Receipt::parse(std::string_view bytes) {
  if (bytes.size() > kMaxFileBytes) return error("a receipt has at most {} bytes", kMaxFileBytes);
  if (take_line(bytes) != kReceiptHeader) return error("this is no receipt: it does not begin with {}", kReceiptHeader);
  Receipt out;
  std::optional<std::string_view> line = take_line(bytes);
  if (line && line->starts_with(kExtraMark)) {
    Result<Bytes> entry = from_base64(line->substr(kExtraMark.size()));
    if (!entry) return entry.error().within("the extra line of the receipt");
    if (entry->size() > kMaxEntryBytes) return error("the entry in the receipt has more than {} bytes", kMaxEntryBytes);
    out.entry = *std::move(entry);
    line = take_line(bytes);
  }
  const std::optional<uint64_t> index =
      line && line->starts_with(kIndexMark) ? plain_decimal(line->substr(kIndexMark.size())) : std::nullopt;
  if (!index) return error("the receipt has no index");
  out.index = *index;
  for (line = take_line(bytes); line && !line->empty(); line = take_line(bytes)) {
    const std::optional<TreeHash> hash = hash_in_base64(*line);
    if (!hash) return error("a line of the receipt's proof is no hash in base64");
    if (out.proof.size() == kMaxProofHashes)
      return error("the receipt's proof has more than {} hashes", kMaxProofHashes);
    out.proof.push_back(*hash);
  }
  if (!line) return error("the receipt has no checkpoint");
  ZKAPEX_TRY(out.checkpoint, Note::parse(bytes));
  return out;
}

Result<Receipt> make_receipt(TileSource& source, uint64_t index, const Note& checkpoint) {
  ZKAPEX_TRY(const TreeHead head, TreeHead::parse(checkpoint.text));
  Receipt out{.entry = std::nullopt, .index = index, .proof = {}, .checkpoint = checkpoint};
  ZKAPEX_TRY(out.proof, inclusion_proof(source, index, head.size));
  ZKAPEX_TRY(out.entry, read_entry(source, index, head.size, head.root));
  return out;
}

Result<Policy::Opened> check_receipt(const Receipt& receipt, ByteView entry, const Policy& policy) {
  ZKAPEX_TRY(Policy::Opened out, policy.open(receipt.checkpoint));
  ZKAPEX_CHECK(
      check_inclusion(leaf_hash(entry), receipt.index, out.checkpoint.size, out.checkpoint.root, receipt.proof));
  return out;
}

}  // namespace zkapex
