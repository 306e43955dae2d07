// zkapex inspect: what a file is and says.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "attestation/inputs.h"
#include "base/file_kind.h"
#include "cli/inspect_opens.h"
#include "cli/work.h"
#include "parties/describe.h"
#include "parties/pending.h"
#include "parties/secret_file.h"
#include "weights/checkpoint.h"

namespace zkapex::cli {

namespace {

struct InspectOptions {
  CommonFlags common;
  Path file, opens;
  bool tensors = false;
};

using Values = nlohmann::ordered_json;

Values tensor_entry(const std::string& tensor, const std::vector<uint64_t>& shape) {
  return {{"name", tensor}, {"shape", fmt::format("{}", fmt::join(shape, "x"))}};
}

Status inspect_deployment(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.file));
  describe(deployment, values);
  if (!options.tensors) return Done{};
  auto list = Values::array();
  for (const LayoutTensor& tensor : deployment.layout().tensors()) {
    Values entry = tensor_entry(tensor.name, tensor.shape);
    entry["covered"] = tensor.covered;
    list.push_back(std::move(entry));
  }
  values["tensor_list"] = std::move(list);
  return Done{};
}

Status inspect_mask(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const Bytes bytes, read_file(options.file, Mask::kMaxFileBytes));
  const Result<Mask> mask = Mask::parse(bytes);
  if (!mask) return mask.error().within(options.file.string());
  values["mask"] = to_hex(mask->digest());
  values["deployment"] = to_hex(mask->deployment);
  values["window"] = mask->window;
  values["operator"] = name(mask->op);
  values["nonce"] = to_hex(mask->nonce);
  if (mask->predecessor != Sha256::Digest{}) values["predecessor"] = to_hex(mask->predecessor);
  values["masked"] = mask->support.size();
  describe(mask->guidance, values);
  return Done{};
}

Status inspect_registration(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<RegistrationFile>(options.file));
  values["registration"] = to_hex(file.digest());
  values["client"] = file.client;
  values["deployment"] = to_hex(file.deployment);
  values["parts"] = file.cut.size();
  values["proof_bytes"] = file.proof.size();
  return Done{};
}

// The provider's record of a registration that it admitted.
Status inspect_registered(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<Registered>(options.file));
  values["registration"] = to_hex(file.digest);
  values["client"] = file.client;
  values["unchanged_rows"] = file.unchanged.size();
  values["rows"] = file.model.rows.size();
  return Done{};
}

Status inspect_proof(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<ProofFile>(options.file));
  values["proof"] = to_hex(ByteView(file.encode()).last(Sha256::Digest().size()));
  values["client"] = file.client;
  values["window"] = file.window;
  values["deployment"] = to_hex(file.deployment);
  values["registration"] = to_hex(file.registration);
  values["mask"] = to_hex(file.mask);
  values["starts_from"] = to_hex(file.model);
  values["segments"] = file.segmentation.size();
  values["proof_bytes"] = file.proof.size();
  return Done{};
}

Status inspect_update(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<UpdateFile>(options.file));
  values["update"] = to_hex(file.digest());
  values["client"] = file.client;
  values["deployment"] = to_hex(file.deployment);
  values["registration"] = to_hex(file.registration);
  values["starts_from"] = to_hex(file.model);
  values["curvature"] = file.curvature ? "new" : "as before";
  values["parts"] = file.cut.size();
  values["proof_bytes"] = file.proof.size();
  return Done{};
}

// What a state has behind it, where it has an update.
void put_update(const Sha256::Digest& update, Values& values) {
  if (update != Sha256::Digest{}) values["last_update"] = to_hex(update);
}

Status inspect_commitment(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<ModelCommitment>(options.file));
  values["commitment"] = to_hex(file.digest());
  values["registration"] = to_hex(file.registration);
  put_update(file.update, values);
  values["windows"] = history_as_json(file.windows);
  values["rows"] = file.rows.size();
  return Done{};
}

Status list_pending(const Path& client, Values& values) {
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(ClientFolder{client}));
  values["pending"] = Values::array();
  for (const Attempt& attempt : attempts)
    values["pending"].push_back({{"window", attempt.window}, {"attempt", attempt.id}});
  ZKAPEX_TRY(const std::vector<std::string> updates, pending_updates(ClientFolder{client}));
  if (!updates.empty()) values["pending_updates"] = updates;
  return Done{};
}

// Nothing secret is shown.
Status inspect_secret(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const ClientSecret secret, read_secret_header(options.file));
  values["client"] = secret.client;
  values["deployment"] = to_hex(secret.deployment);
  values["registration"] = to_hex(secret.registration);
  put_update(secret.update, values);
  values["windows"] = history_as_json(secret.windows);
  values["rows"] = secret.rows.size();
  values["model"] = secret.model_file;
  values["curvature"] = secret.store_file;
  return list_pending(options.file.has_parent_path() ? options.file.parent_path() : Path("."), values);
}

Status inspect_store(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const FileReader file, FileReader::open(options.file));
  Bytes start(std::min<uint64_t>(StoreHeader::kBytes, file.size()));
  ZKAPEX_CHECK(file.read_at(0, start));
  const Result<StoreHeader> header = StoreHeader::parse(start);
  if (!header) return header.error().within(options.file.string());
  const uint64_t whole = (file.size() - StoreHeader::kBytes) / header->record_bytes();
  values["deployment"] = to_hex(header->deployment);
  values["block"] = header->block;
  values["bits"] = header->bits;
  values["floor"] = header->floor;
  values["blocks"] = header->blocks;
  values["blocks_there"] = std::min(whole, header->blocks);
  return Done{};
}

Status inspect_checkpoint(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const Checkpoint checkpoint, Checkpoint::open(options.file));
  uint64_t parameters = 0;
  std::map<std::string, uint64_t> types;
  auto list = Values::array();
  for (const TensorView& tensor : checkpoint.tensors()) {
    parameters += tensor.count();
    types[std::string(dtype_name(tensor.dtype()))] += tensor.count();
    Values entry = tensor_entry(tensor.name(), tensor.shape());
    entry["type"] = dtype_name(tensor.dtype());
    list.push_back(std::move(entry));
  }
  values["tensors"] = checkpoint.tensors().size();
  values["parameters"] = parameters;
  values["types"] = types;
  if (!checkpoint.metadata().empty()) values["metadata"] = checkpoint.metadata();
  if (options.tensors) values["tensor_list"] = std::move(list);
  return Done{};
}

Status inspect_splits(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const Bytes text, read_file(options.file, size_t{1} << 30));
  const auto document = nlohmann::json::parse(text, nullptr, false);
  const auto damaged = [&] { return error("{}: a split file that is damaged", options.file.string()); };
  if (!document.is_object() || !document.contains("sets") || !document["sets"].is_object()) return damaged();
  for (const char* key : {"version", "seed", "forget"}) values[key] = document.value(key, nlohmann::json());
  auto sets = Values::object();
  for (const auto& [name, set] : document["sets"].items()) {
    if (!set.is_object() || !set.contains("indices") || !set["indices"].is_array()) return damaged();
    sets[name] = {{"samples", set["indices"].size()}, {"source", set.value("source", nlohmann::json())}};
  }
  values["sets"] = std::move(sets);
  return Done{};
}

Status inspect_client_folder(const InspectOptions& options, Values& values) {
  const ClientFolder folder{options.file};
  auto files = Values::array();
  for (const Path& path : {folder.deployment(), folder.registration(), folder.secret(), folder.mask()}) {
    if (std::filesystem::exists(path)) files.push_back(path.filename().string());
  }
  values["files"] = std::move(files);
  InspectOptions of_file = options;
  of_file.file = std::filesystem::exists(folder.secret()) ? folder.secret() : folder.registration();
  return of_file.file == folder.secret() ? inspect_secret(of_file, values) : inspect_registration(of_file, values);
}

Status inspect_ledger(const InspectOptions& options, Values& values) {
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.file / "deployment.zka"));
  values["deployment"] = to_hex(deployment.digest());
  auto clients = Values::array();
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(options.file / "clients", failed)) {
    if (!std::filesystem::exists(entry.path() / "model.zka")) continue;
    ZKAPEX_TRY(const auto registered, read_public_file<Registered>(entry.path() / "registered.zka"));
    ZKAPEX_TRY(const auto model, read_public_file<ModelCommitment>(entry.path() / "model.zka"));
    clients.push_back({{"client", registered.client}, {"windows", history_as_json(model.windows)}});
  }
  if (failed) return error("cannot read {}: {}", (options.file / "clients").string(), failed.message());
  std::sort(clients.begin(), clients.end());
  values["clients"] = std::move(clients);
  return Done{};
}

struct Inspector {
  std::string_view magic, kind;
  Status (*inspect)(const InspectOptions&, Values&);
};
constexpr Inspector kInspectors[] = {
    {Deployment::kKind.magic, "deployment", inspect_deployment},
    {Mask::kKind.magic, "mask", inspect_mask},
    {RegistrationFile::kKind.magic, "registration", inspect_registration},
    {Registered::kKind.magic, "verified registration", inspect_registered},
    {ProofFile::kKind.magic, "proof", inspect_proof},
    {UpdateFile::kKind.magic, "update", inspect_update},
    {ModelCommitment::kKind.magic, "model commitment", inspect_commitment},
    {ClientSecret::kKind.magic, "client secret", inspect_secret},
    {"ZKAPEXCV", "curvature store", inspect_store},
};
constexpr Inspector kCheckpoint{"", "checkpoint", inspect_checkpoint};
constexpr Inspector kSplits{"", "split file", inspect_splits};
constexpr Inspector kLedger{"", "ledger", inspect_ledger};
constexpr Inspector kClientFolder{"", "client's folder", inspect_client_folder};

Result<Inspector> inspector_for_folder(const Path& path) {
  const auto has = [&](const char* name) { return std::filesystem::exists(path / name); };
  if (has("model.safetensors") || has("model.safetensors.index.json")) return kCheckpoint;
  if (has("deployment.zka") && has("clients")) return kLedger;
  if (has("registration.zka") || has("secret.zka")) return kClientFolder;
  if (has("config.json"))
    return error("{} is the folder of a model without weights: config.json, but no model.safetensors", path.string());
  return error(
      "{} is a folder, but no model (model.safetensors, or its index), no client (registration.zka), no ledger",
      path.string());
}

Result<Inspector> inspector_for(const Path& path) {
  if (std::filesystem::is_directory(path)) return inspector_for_folder(path);
  ZKAPEX_TRY(const FileReader file, FileReader::open(path));
  if (file.size() == 0) return error("{} is empty", path.string());
  Bytes start(std::min<uint64_t>(file.size(), 4096));
  ZKAPEX_CHECK(file.read_at(0, start));
  for (const Inspector& inspector : kInspectors) {
    if (std::ranges::equal(view(inspector.magic), ByteView(start).first(std::min<size_t>(start.size(), 8))))
      return inspector;
  }
  const std::string_view kind = kind_of_file(start);
  if (kind == "a split file") return kSplits;
  const bool index = path.filename().string().ends_with(".index.json");
  if (kind == "a checkpoint" || path.extension() == ".safetensors" || index) return kCheckpoint;
  if (kind.empty())
    return error("{}: no kind of file that zkapex knows; it begins with the bytes {}", path.string(),
                 to_hex(ByteView(start).first(std::min<size_t>(start.size(), 8))));
  return error("{}: this is {}, not a file of zkapex, a checkpoint or a split file", path.string(), kind);
}

Result<std::string> file_digest(const Path& path, ProgressStyle style) {
  ZKAPEX_TRY(const FileReader file, FileReader::open(path));
  Progress progress(style, "reading", "bytes", file.size());
  Sha256 hash;
  Bytes piece(size_t{1} << 20);
  for (uint64_t at = 0; at < file.size(); at += piece.size()) {
    const auto part = std::span(piece).first(std::min<uint64_t>(piece.size(), file.size() - at));
    ZKAPEX_CHECK(file.read_at(at, part));
    hash.update(part);
    progress.advance(part.size());
  }
  return to_hex(hash.finish());
}

Result<Outcome> inspect(const InspectOptions& options) {
  ZKAPEX_TRY(const Inspector inspector, inspector_for(options.file));
  Report report{.headline = fmt::format("{}: {}", options.file.string(), inspector.kind)};
  report.values["kind"] = inspector.kind;
  if (std::filesystem::is_regular_file(options.file))
    report.values["file_bytes"] = std::filesystem::file_size(options.file);
  ZKAPEX_CHECK(inspector.inspect(options, report.values));
  Outcome outcome = Outcome::kDone;
  if (!options.opens.empty()) {
    if (inspector.kind != kCheckpoint.kind) return error("{}: --opens is for checkpoints", options.file.string());
    ZKAPEX_TRY(outcome, inspect_opens(options.common, options.file, options.opens, report));
  }
  if (std::filesystem::is_regular_file(options.file)) {
    ZKAPEX_TRY(report.values["sha256"], file_digest(options.file, options.common.progress_style()));
  }
  if (options.common.json) {
    report.print(true);
    return outcome;
  }
  const Values tensors = report.values.value("tensor_list", Values::array());
  report.values.erase("kind");  // it is in the first line
  report.values.erase("tensor_list");
  report.print(false);
  for (const Values& tensor : tensors) {
    const bool covered = tensor.value("covered", false);
    fmt::print("  {:<60}  {}{}\n", tensor["name"].get<std::string>(), tensor["shape"].get<std::string>(),
               covered ? "  covered" : "");
  }
  return outcome;
}

}  // namespace

void add_inspect(Command parent, Action& action) {
  const auto options = std::make_shared<InspectOptions>();
  const Command command = parent.add_command("inspect", "Say what a file is: any of zkapex's, or safetensors");
  command.add_option("file", options->file, "The file; also the folder of a model or a client, or a ledger").required();
  command.add_flag("--tensors", options->tensors, "List the tensors of a deployment or a checkpoint");
  command.add_option("--opens", options->opens,
                     "A client's folder: is this checkpoint the model that it is committed to? Exit status 1 if not");
  options->common.offer_json(command);
  options->common.offer_quiet(command);
  options->common.offer_threads(command);
  options->common.offer_memory(command);
  command.footer(
      "A file of zkapex has two digests. The one under its kind (deployment, mask, registration, proof, commitment) is "
      "its\n"
      "last 32 bytes, by which other files name it; sha256 is that of the whole file, as sha256sum prints it. Of a "
      "client's\n"
      "secret nothing secret is shown. One thread and little memory are enough: --threads and --memory are there for\n"
      "scripts that give them to every command.\n\n"
      "Examples:\n"
      "  zkapex inspect deployment.zka\n"
      "  zkapex inspect --tensors model.safetensors\n"
      "  zkapex inspect --json proof.zka\n"
      "  zkapex inspect unlearned.safetensors --opens client");
  command.runs(action, [options] { return inspect(*options); });
}

}  // namespace zkapex::cli
