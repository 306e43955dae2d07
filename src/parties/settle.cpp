#include "parties/settle.h"

#include <algorithm>

#include "attestation/inputs.h"
#include "base/outputs.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

using Between = std::function<void()>;

Status rename_if_there(const Path& from, const Path& to) {
  std::error_code failed;
  if (!fs::exists(from, failed)) return Done{};
  fs::rename(from, to, failed);
  if (failed) return error("cannot rename {} to {}: {}", from.string(), to.string(), failed.message());
  return flush_folder_of(to);
}

// At once under its name, then piece by piece: half a folder is never taken for an attempt.
Status remove_folder(const Path& folder) {
  std::error_code failed;
  if (!fs::exists(folder, failed)) return Done{};
  ZKAPEX_TRY(TemporaryName doomed, TemporaryName::beside(folder));
  ZKAPEX_CHECK(rename_if_there(folder, doomed.path()));
  fs::remove_all(doomed.path(), failed);
  if (failed) return error("cannot remove {}: {}", doomed.path().string(), failed.message());
  doomed.release();
  return Done{};
}

std::string list_of(const std::vector<Attempt>& attempts) {
  std::string out;
  for (const Attempt& attempt : attempts) {
    out += fmt::format("{}window '{}' attempt {}", out.empty() ? "" : ", ", attempt.window, attempt.id);
  }
  return out;
}

bool one_window(const std::vector<Attempt>& attempts) {
  return std::ranges::all_of(attempts, [&](const Attempt& a) { return a.window == attempts.front().window; });
}

// Of the proof that the request names; empty where it names none.
Result<std::string> named_id(const SettleRequest& request) {
  if (request.proof.empty()) return std::string();
  ZKAPEX_TRY(const Bytes proof, read_file(request.proof, kMaxPublicFile));
  return attempt_id(proof);
}

// Of a window that was settled before: the proof that is named now must be the one that was accepted then.
Result<SettleReport> settled_before(const ClientFolder& client, const std::string& window, const std::string& id,
                                    const History& done) {
  if (!id.empty() && window == done.back().window) {
    ZKAPEX_TRY(const Bytes proof, read_file(client.settled_proof(), kMaxPublicFile));
    if (attempt_id(proof) != id)
      return error("the window '{}' was settled with another proof, attempt {}", window, attempt_id(proof));
  }
  return SettleReport{window, true, {}, {}, done};
}

// Whether an earlier call, stopped before it could say so, has settled the last window: nothing waits, and the proof
// that was kept is that window's.
bool was_settled(const ClientFolder& client, const History& done, const std::vector<Attempt>& pending) {
  if (done.empty() || !pending.empty()) return false;
  const auto proof = read_public_file<ProofFile>(client.settled_proof());
  return proof.ok() && proof->window == done.back().window;
}

// Those that the request is about.
Result<std::vector<Attempt>> named_attempts(const SettleRequest& request, const std::string& id,
                                            std::vector<Attempt> attempts) {
  const std::string all = list_of(attempts);
  std::erase_if(attempts, [&](const Attempt& a) {
    return (!id.empty() && a.id != id) || (!request.window.empty() && a.window != request.window);
  });
  if (attempts.empty()) {
    return error("{}: no such window is pending{}{}", request.client.string(), all.empty() ? "" : "; pending: ", all);
  }
  return attempts;
}

// Keeps what updates have to show of the window that is being settled: its mask, and the state before it if the window
// had a guide. The secret is still that state.
Status keep_past(const ClientFolder& client) {
  const Path applied = client.settling() / "mask.zka";
  std::error_code failed;
  if (!fs::exists(applied, failed)) return Done{};
  ZKAPEX_TRY(const Bytes bytes, read_file(applied, Mask::kMaxFileBytes));
  ZKAPEX_TRY(const Mask mask, Mask::parse(bytes));
  const Path past = client.past(mask.digest());
  ZKAPEX_CHECK(make_private_folder(client.past()));
  ZKAPEX_CHECK(make_private_folder(past));
  ZKAPEX_CHECK(write_file(past / "mask.zka", bytes, {.overwrite = true, .secret = true}));
  if (!mask.guidance || fs::exists(past / "secret.zka", failed)) return Done{};
  fs::create_hard_link(client.secret(), past / "secret.zka", failed);
  if (failed) return error("cannot keep {} in {}: {}", client.secret().string(), past.string(), failed.message());
  return flush_folder_of(past / "secret.zka");
}

// The attempt's secret is whole, this client's, and follows its state.
Status check_successor(const Attempt& attempt, const Deployment& deployment, const ClientSecret& current) {
  ZKAPEX_TRY(const OpenSecret next, OpenSecret::open(attempt.secret(), deployment));
  ZKAPEX_TRY(const Mask mask, read_mask(attempt.mask(), deployment));
  History windows = current.windows;
  windows.push_back({attempt.window, mask.digest()});
  if (next.secret().registration != current.registration || next.secret().windows != windows)
    return error("{} does not follow the state of this client", attempt.folder.string());
  return Done{};
}

Status accept(const SettleRequest& request, const Attempt& attempt) {
  const ClientFolder client{request.client};
  ZKAPEX_CHECK(rename_if_there(attempt.folder, client.settling()));  // from here on it is decided
  if (request.between_changes) request.between_changes();
  return recover(client, request.between_changes);
}

Status reject(const SettleRequest& request, const std::vector<Attempt>& attempts) {
  for (const Attempt& attempt : attempts) {
    ZKAPEX_CHECK(remove_folder(attempt.folder));
    std::error_code not_empty;
    fs::remove(attempt.folder.parent_path(), not_empty);
    if (request.between_changes) request.between_changes();
  }
  return Done{};
}

}  // namespace

Status recover(const ClientFolder& client, const std::function<void()>& between_changes) {
  const auto next_change = [&] {
    if (between_changes) between_changes();
  };
  remove_stale_temporaries(client.folder);
  remove_stale_temporaries(client.pending_updates());
  std::error_code failed;
  for (fs::directory_iterator at(client.pending(), failed), end; !failed && at != end; at.increment(failed)) {
    remove_stale_temporaries(at->path());
  }
  if (!fs::exists(client.settling(), failed)) return Done{};
  ZKAPEX_CHECK(keep_past(client));
  next_change();
  ZKAPEX_CHECK(rename_if_there(client.settling() / "mask.zka", client.mask()));
  next_change();
  ZKAPEX_CHECK(rename_if_there(client.settling() / "proof.zka", client.settled_proof()));
  next_change();
  ZKAPEX_CHECK(rename_if_there(client.settling() / "updated.zka", client.updated()));
  next_change();
  ZKAPEX_CHECK(rename_if_there(client.settling() / "secret.zka", client.secret()));
  next_change();
  ZKAPEX_CHECK(remove_folder(client.pending()));
  next_change();
  ZKAPEX_CHECK(remove_folder(client.pending_updates()));
  next_change();
  return remove_folder(client.settling());
}

Result<SettleReport> settle(const SettleRequest& request) {
  const ClientFolder client{request.client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(client.folder));
  ZKAPEX_CHECK(recover(client, request.between_changes));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(client.deployment()));
  ZKAPEX_TRY(const ClientSecret current, read_secret_header(client.secret()));
  const History& done = current.windows;
  ZKAPEX_TRY(const std::string id, named_id(request));
  if (has_applied(done, request.window)) {
    if (request.accepted) return settled_before(client, request.window, id, done);
    return error("the window '{}' was accepted and settled before", request.window);
  }
  ZKAPEX_TRY(const std::vector<Attempt> pending, pending_attempts(client));
  if (request.accepted && request.window.empty() && was_settled(client, done, pending))
    return settled_before(client, done.back().window, id, done);
  ZKAPEX_TRY(const std::vector<Attempt> attempts, named_attempts(request, id, pending));
  if (!one_window(attempts)) return error("several windows are pending; say which by --window: {}", list_of(attempts));
  if (attempts.size() > 1 && (request.accepted || !request.all))
    return error("the window was computed more than once; say which proof was meant by --proof: {}", list_of(attempts));
  SettleReport report{attempts.front().window, false, {}, {}, current.windows};
  for (const Attempt& attempt : attempts) report.attempts.push_back(attempt.id);
  if (!request.accepted) {
    ZKAPEX_CHECK(reject(request, attempts));
    return report;
  }
  ZKAPEX_CHECK(check_successor(attempts.front(), deployment, current));
  ZKAPEX_CHECK(accept(request, attempts.front()));
  for (const Attempt& attempt : pending) {
    if (attempt.window != report.window && std::ranges::find(report.dropped, attempt.window) == report.dropped.end())
      report.dropped.push_back(attempt.window);
  }
  ZKAPEX_TRY(const ClientSecret moved, read_secret_header(client.secret()));
  report.windows = moved.windows;
  return report;
}

Result<SettleUpdateReport> settle_update(const SettleUpdateRequest& request) {
  const ClientFolder client{request.client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(client.folder));
  std::error_code failed;
  bool before = fs::exists(client.settling() / "update.zka", failed);
  ZKAPEX_CHECK(recover(client, request.between_changes));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(client.deployment()));
  ZKAPEX_TRY(const ClientSecret current, read_secret_header(client.secret()));
  std::string id;
  if (!request.update.empty()) {
    ZKAPEX_TRY(const Bytes bytes, read_file(request.update, kMaxPublicFile));
    const Result<UpdateFile> sent = UpdateFile::decode(bytes);
    if (!sent) return sent.error().within(request.update.string());
    id = attempt_id(bytes);
    before = sent->digest() == current.update;
  }
  ZKAPEX_TRY(std::vector<std::string> attempts, pending_updates(client));
  std::erase_if(attempts, [&](const std::string& attempt) { return !id.empty() && attempt != id; });
  if (attempts.empty() && before && request.accepted) return SettleUpdateReport{{}, current.update, true};
  if (attempts.empty()) return error("{}: no such update is pending", client.folder.string());
  if (attempts.size() > 1 && request.accepted)
    return error("{} updates are pending; say which was meant by --proof", attempts.size());
  SettleUpdateReport report{attempts, current.update, false};
  if (!request.accepted) {
    for (const std::string& attempt : attempts) {
      ZKAPEX_CHECK(remove_folder(client.pending_updates() / attempt));
      if (request.between_changes) request.between_changes();
    }
    return report;
  }
  const Path folder = client.pending_updates() / attempts.front();
  ZKAPEX_TRY(const UpdateFile file, read_public_file<UpdateFile>(folder / "update.zka"));
  ZKAPEX_TRY(const OpenSecret next, OpenSecret::open(folder / "secret.zka", deployment));
  const ModelCommitment state{current.registration, current.update, current.windows, current.rows};
  if (file.model != state.digest() || next.secret().update != file.digest() ||
      next.secret().windows != current.windows || next.secret().registration != current.registration)
    return error("{} does not follow the state of this client", folder.string());
  ZKAPEX_CHECK(rename_if_there(folder, client.settling()));  // from here on it is decided
  if (request.between_changes) request.between_changes();
  ZKAPEX_CHECK(recover(client, request.between_changes));
  report.update = file.digest();
  return report;
}

Status check_no_client_state(const ClientFolder& client, const Path& out) {
  std::error_code failed;
  const Path target = fs::weakly_canonical(out, failed), folder = fs::weakly_canonical(client.folder, failed);
  const Path inside = target.lexically_relative(folder);
  const bool in_state_folder =
      !inside.empty() &&
      (*inside.begin() == client.pending().filename() || *inside.begin() == client.pending_updates().filename() ||
       *inside.begin() == client.past().filename() || *inside.begin() == "settling");
  const Status replaced = check_outputs({out},
                                        {client.deployment(), client.registration(), client.secret(), client.mask(),
                                         client.settled_proof(), client.updated()},
                                        true);
  if (replaced.ok() && !in_state_folder) return Done{};
  return error("{} is part of the client's state; choose another name for the output", out.string());
}

}  // namespace zkapex
