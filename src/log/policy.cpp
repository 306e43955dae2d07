#include "log/policy.h"

#include <algorithm>
#include <set>

#include "base/names.h"
#include "log/lines.h"

namespace zkapex {

// Line by line. Names are those of witnesses and groups.
class PolicyReader {
 public:
  Status read_line(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty() || words[0].starts_with('#')) return Done{};
    if (words[0] == "log") return read_log(words);
    if (words[0] == "witness") return read_witness(words);
    if (words[0] == "group") return read_group(words);
    if (words[0] == "quorum") return read_quorum(words);
    return error("a line begins with {}, not with log, witness, group or quorum", in_quotes(words[0]));
  }

  Result<Policy> finish() {
    if (!quorum_seen_) return error("there is no quorum line ('quorum none' asks for no witness)");
    return std::move(policy_);
  }

 private:
  static std::vector<std::string_view> words_of(std::string_view line) {
    constexpr std::string_view kBlank = " \t";
    std::vector<std::string_view> out;
    for (size_t at = line.find_first_not_of(kBlank); at != line.npos;) {
      const size_t end = std::min(line.find_first_of(kBlank, at), line.size());
      out.push_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBlank, end);
    }
    return out;
  }

  Result<NoteKey> new_key(std::string_view vkey, NoteKeyType type, std::string_view who) {
    ZKAPEX_TRY(NoteKey out, NoteKey::parse(vkey));
    if (out.type != type) return error("the key of {} is not one of a {}", in_quotes(out.name), who);
    if (!keys_.insert(out.key.spki()).second) return error("the key of {} is there twice", in_quotes(out.name));
    return out;
  }

  Status read_log(const std::vector<std::string_view>& words) {
    if (words.size() < 2 || words.size() > 3) return error("a log's line is 'log VKEY [URL]'");
    if (policy_.logs_.size() == Policy::kMaxItems) return error("there are more than {} logs", Policy::kMaxItems);
    ZKAPEX_TRY(NoteKey key, new_key(words[1], NoteKeyType::kLog, "log"));
    policy_.logs_.push_back({std::move(key), std::string(words.size() == 3 ? words[2] : "")});
    return Done{};
  }

  Status read_witness(const std::vector<std::string_view>& words) {
    if (words.size() < 3 || words.size() > 4) return error("a witness's line is 'witness NAME VKEY [URL]'");
    ZKAPEX_CHECK(check_new_name(words[1]));
    ZKAPEX_TRY(NoteKey key, new_key(words[2], NoteKeyType::kWitness, "witness"));
    policy_.members_.push_back(
        {.name = std::string(words[1]), .witness = policy_.witnesses_.size(), .threshold = 0, .members = {}});
    policy_.witnesses_.push_back(
        {std::string(words[1]), std::move(key), std::string(words.size() == 4 ? words[3] : "")});
    return Done{};
  }

  Status read_group(const std::vector<std::string_view>& words) {
    if (words.size() < 4) return error("a group's line is 'group NAME all|any|K MEMBER…'");
    ZKAPEX_CHECK(check_new_name(words[1]));
    Policy::Member group{.name = std::string(words[1]), .witness = std::nullopt, .threshold = 0, .members = {}};
    for (size_t k = 3; k < words.size(); ++k) {
      ZKAPEX_TRY(const size_t member, named(words[k]));
      if (!used_.insert(member).second) return error("{} is a member twice", in_quotes(words[k]));
      group.members.push_back(member);
    }
    const std::optional<uint64_t> threshold = words[2] == "all"   ? group.members.size()
                                              : words[2] == "any" ? 1
                                                                  : plain_decimal(words[2]);
    if (!threshold || *threshold == 0 || *threshold > group.members.size())
      return error("the group {} needs all, any, or a number from 1 to {}", in_quotes(group.name),
                   group.members.size());
    group.threshold = *threshold;
    policy_.members_.push_back(std::move(group));
    return Done{};
  }

  Status read_quorum(const std::vector<std::string_view>& words) {
    if (words.size() != 2) return error("the quorum's line is 'quorum NAME' or 'quorum none'");
    if (quorum_seen_) return error("there are two quorum lines");
    quorum_seen_ = true;
    if (words[1] == kNone) return Done{};
    ZKAPEX_TRY(policy_.quorum_, named(words[1]));
    return Done{};
  }

  Status check_new_name(std::string_view name) const {
    if (name == kNone || named(name).ok()) return error("the name {} is taken", in_quotes(name));
    if (policy_.members_.size() == 2 * Policy::kMaxItems)
      return error("there are more than {} witnesses and groups", 2 * Policy::kMaxItems);
    return Done{};
  }

  [[nodiscard]] Result<size_t> named(std::string_view name) const {
    for (size_t k = 0; k < policy_.members_.size(); ++k) {
      if (policy_.members_[k].name == name) return k;
    }
    return error("no witness and no group before this line is named {}", in_quotes(name));
  }

  static constexpr std::string_view kNone = "none";
  Policy policy_;
  std::set<Bytes> keys_;
  std::set<size_t> used_;
  bool quorum_seen_ = false;
};

Result<Policy> Policy::parse(std::string_view text) {
  if (text.size() > kMaxFileBytes) return error("a policy has at most {} bytes", kMaxFileBytes);
  PolicyReader reader;
  for (size_t number = 1; !text.empty(); ++number) {
    const std::optional<std::string_view> line = take_line(text);
    if (!line) return error("line {} of the policy does not end", number);
    for (const char c : *line) {
      if ((static_cast<uint8_t>(c) < 0x20 && c != '\t') || c == 0x7f)
        return error("line {} of the policy has a control character", number);
    }
    if (const Status read = reader.read_line(*line); !read)
      return read.error().within(fmt::format("line {} of the policy", number));
  }
  return reader.finish();
}

Result<Policy> Policy::read(const Path& file) {
  ZKAPEX_TRY(const Bytes bytes, read_file(file, kMaxFileBytes));
  Result<Policy> out = parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!out) return out.error().within(file.string());
  return out;
}

Policy Policy::of_log(const NoteKey& log, std::string url) {
  Policy out;
  out.logs_.push_back({log, std::move(url)});
  return out;
}

std::string Policy::text() const {
  const auto with_url = [](const std::string& url) { return url.empty() ? "" : " " + url; };
  std::string out;
  for (const Log& log : logs_) out += fmt::format("log {}{}\n", log.key.vkey(), with_url(log.url));
  for (const Member& member : members_) {
    if (member.witness) {
      const Witness& witness = witnesses_[*member.witness];
      out += fmt::format("witness {} {}{}\n", witness.name, witness.key.vkey(), with_url(witness.url));
      continue;
    }
    out += fmt::format("group {} {}", member.name, member.threshold);
    for (const size_t k : member.members) out += " " + members_[k].name;
    out += "\n";
  }
  return out + fmt::format("quorum {}\n", quorum_ ? members_[*quorum_].name : "none");
}

bool Policy::enough(std::span<const VerifiedSignature> seen_by) const {
  if (!quorum_) return true;
  std::vector<bool> saw(members_.size());  // members come after those that they are made of
  for (size_t k = 0; k < members_.size(); ++k) {
    const Member& member = members_[k];
    if (member.witness) {
      saw[k] = std::any_of(seen_by.begin(), seen_by.end(), [&](const auto& s) { return s.key == *member.witness; });
    } else {
      const auto count = std::count_if(member.members.begin(), member.members.end(), [&](size_t m) { return saw[m]; });
      saw[k] = static_cast<size_t>(count) >= member.threshold;
    }
  }
  return saw[*quorum_];
}

Result<Policy::Opened> Policy::open(const Note& note) const {
  ZKAPEX_TRY(TreeHead head, TreeHead::parse(note.text));
  std::vector<NoteKey> keys;
  for (const Witness& witness : witnesses_) keys.push_back(witness.key);
  ZKAPEX_TRY(std::vector<VerifiedSignature> seen_by, verify_note(note, keys));
  for (size_t k = 0; k < logs_.size(); ++k) {
    if (logs_[k].key.name != head.origin) continue;
    ZKAPEX_TRY(const auto signatures, verify_note(note, {&logs_[k].key, 1}));
    if (signatures.empty()) continue;
    if (!enough(seen_by))
      return error("too few witnesses of the policy have cosigned the checkpoint of {} ({} of {})",
                   in_quotes(head.origin), seen_by.size(), witnesses_.size());
    return Opened{.checkpoint = std::move(head), .log = k, .seen_by = std::move(seen_by)};
  }
  return error("no log of the policy has signed this checkpoint of {}", in_quotes(head.origin));
}

}  // namespace zkapex
