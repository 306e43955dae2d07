#include "parties/pending.h"

#include <algorithm>

#include "attestation/inputs.h"
#include "base/names.h"

namespace zkapex {

namespace {

constexpr size_t kIdBytes = 8;

// The folders in a folder; none where there is no such folder.
Result<std::vector<Path>> folders_in(const Path& folder) {
  std::vector<Path> out;
  std::error_code failed;
  if (!std::filesystem::exists(folder, failed)) return out;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->is_directory(failed)) out.push_back(at->path());
  }
  if (failed) return error("cannot read {}: {}", folder.string(), failed.message());
  return out;
}

}  // namespace

std::string attempt_id(ByteView proof_file) { return to_hex(ByteView(sha256(proof_file)).first(kIdBytes)); }

Result<std::vector<Attempt>> pending_attempts(const ClientFolder& client) {
  std::vector<Attempt> out;
  ZKAPEX_TRY(const std::vector<Path> windows, folders_in(client.pending()));
  for (const Path& window : windows) {
    ZKAPEX_TRY(const std::vector<Path> attempts, folders_in(window));
    for (const Path& folder : attempts) {
      Attempt attempt{folder, folder.filename().string(), {}};
      if (attempt.id.size() != 2 * kIdBytes) continue;  // a temporary name
      ZKAPEX_TRY(const ProofFile proof, read_public_file<ProofFile>(attempt.proof()));
      attempt.window = proof.window;
      out.push_back(std::move(attempt));
    }
  }
  std::ranges::sort(out, {}, [](const Attempt& a) { return std::pair(a.window, a.id); });
  return out;
}

Result<std::vector<std::string>> pending_updates(const ClientFolder& client) {
  std::vector<std::string> out;
  ZKAPEX_TRY(const std::vector<Path> attempts, folders_in(client.pending_updates()));
  for (const Path& folder : attempts) {
    if (folder.filename().string().size() == 2 * kIdBytes) out.push_back(folder.filename().string());
  }
  std::ranges::sort(out);
  return out;
}

Result<PendingAttempt> PendingAttempt::prepare(const ClientFolder& client, const WindowInputs& inputs,
                                               const ComputedWindow& computed) {
  const Bytes proof = computed.proof.encode();
  const Path window = client.pending() / file_name_of(inputs.mask.window);
  Attempt attempt{window / attempt_id(proof), attempt_id(proof), inputs.mask.window};
  ZKAPEX_CHECK(make_private_folder(client.pending()));
  ZKAPEX_CHECK(make_private_folder(window));
  ZKAPEX_TRY(TemporaryFolder folder, TemporaryFolder::create(attempt.folder));
  ZKAPEX_TRY(SecretWriter secret, prepare_secret(folder.file("secret.zka"), computed.next, inputs.deployment,
                                                 computed.after.reader(), false));
  ZKAPEX_CHECK(secret.commit());
  ZKAPEX_CHECK(write_file(folder.file("proof.zka"), proof, {.secret = true}));
  ZKAPEX_CHECK(write_file(folder.file("mask.zka"), inputs.mask.serialize(), {.secret = true}));
  return PendingAttempt(std::move(attempt), std::move(folder));
}

}  // namespace zkapex
