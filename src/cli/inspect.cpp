// zkapex inspect: what a file is and says.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "attestation/inputs.h"
#include "attestation/secret_file.h"
#include "cli/inspect_opens.h"
#include "cli/work.h"
#include "parties/pending.h"
#include "weights/checkpoint.h"

namespace zkapex::cli {

namespace {

struct Options {
  CommonFlags common;
  Path file, opens;
  bool tensors = false;
};

using Values = nlohmann::ordered_json;

Values tensor_entry(const std::string& tensor, const std::vector<uint64_t>& shape) {
  return {{"name", tensor}, {"shape", fmt::format("{}", fmt::join(shape, "x"))}};
}

Status inspect_deployment(const Options& options, Values& values) {
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

Status inspect_mask(const Options& options, Values& values) {
  ZKAPEX_TRY(const Bytes bytes, read_file(options.file, Mask::kMaxFileBytes));
  const Result<Mask> mask = Mask::parse(bytes);
  if (!mask) return mask.error().within(options.file.string());
  values["mask"] = to_hex(mask->digest());
  values["deployment"] = to_hex(mask->deployment);
  values["window"] = mask->window;
  values["nonce"] = to_hex(mask->nonce);
  values["masked"] = mask->support.size();
  return Done{};
}

Status inspect_registration(const Options& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<RegistrationFile>(options.file));
  values["registration"] = to_hex(file.digest());
  values["client"] = file.client;
  values["deployment"] = to_hex(file.deployment);
  values["curvature"] = file.certificate ? "proved" : "assumed, not proved";
  values["unchanged_rows"] = file.unchanged.size();
  values["parts"] = file.cut.model.size() + file.cut.curvature.size();
  values["proof_bytes"] = file.proof.size();
  return Done{};
}

Status inspect_proof(const Options& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<ProofFile>(options.file));
  values["client"] = file.client;
  values["window"] = file.window;
  values["operator"] = name(file.op);
  values["deployment"] = to_hex(file.deployment);
  values["registration"] = to_hex(file.registration);
  values["mask"] = to_hex(file.mask);
  values["starts_from"] = to_hex(file.model);
  values["segments"] = file.segmentation.size();
  values["proof_bytes"] = file.proof.size();
  return Done{};
}

Status inspect_commitment(const Options& options, Values& values) {
  ZKAPEX_TRY(const auto file, read_public_file<ModelCommitment>(options.file));
  values["commitment"] = to_hex(file.digest());
  values["registration"] = to_hex(file.registration);
  values["windows"] = file.windows;
  values["rows"] = file.rows.size();
  return Done{};
}

Status list_pending(const Path& client, Values& values) {
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(ClientFolder{client}));
  values["pending"] = Values::array();
  for (const Attempt& attempt : attempts)
    values["pending"].push_back({{"window", attempt.window}, {"attempt", attempt.id}});
  return Done{};
}

// Nothing secret is shown.
Status inspect_secret(const Options& options, Values& values) {
  ZKAPEX_TRY(const ClientSecret secret, read_secret_header(options.file));
  values["client"] = secret.client;
  values["deployment"] = to_hex(secret.deployment);
  values["registration"] = to_hex(secret.registration);
  values["windows"] = secret.windows;
  values["rows"] = secret.rows.size();
  values["model"] = secret.model_file;
  values["curvature"] = secret.store_file;
  return list_pending(options.file.has_parent_path() ? options.file.parent_path() : Path("."), values);
}

Status inspect_client(const Options& options, Values& values) {
  Options of_secret = options;
  of_secret.file = ClientFolder{options.file}.secret();
  return inspect_secret(of_secret, values);
}

Status inspect_store(const Options& options, Values& values) {
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

Status inspect_checkpoint(const Options& options, Values& values) {
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

struct Inspector {
  std::string_view magic, kind;
  Status (*inspect)(const Options&, Values&);
};
constexpr Inspector kInspectors[] = {
    {Deployment::kKind.magic, "deployment", inspect_deployment},
    {Mask::kKind.magic, "mask", inspect_mask},
    {RegistrationFile::kKind.magic, "registration", inspect_registration},
    {ProofFile::kKind.magic, "proof", inspect_proof},
    {ModelCommitment::kKind.magic, "model commitment", inspect_commitment},
    {ClientSecret::kKind.magic, "client secret", inspect_secret},
    {"ZKAPEXCV", "curvature store", inspect_store},
};
constexpr Inspector kClient{"", "client folder", inspect_client};
constexpr Inspector kCheckpoint{"", "checkpoint", inspect_checkpoint};

Result<Inspector> inspector_for(const Path& path) {
  if (std::filesystem::exists(ClientFolder{path}.secret())) return kClient;
  if (std::filesystem::is_directory(path)) return kCheckpoint;
  ZKAPEX_TRY(const FileReader file, FileReader::open(path));
  std::array<uint8_t, 8> magic{};
  if (file.size() < magic.size()) return error("{}: too short to be any file that zkapex knows", path.string());
  ZKAPEX_CHECK(file.read_at(0, magic));
  for (const Inspector& inspector : kInspectors) {
    if (std::ranges::equal(view(inspector.magic), magic)) return inspector;
  }
  return kCheckpoint;
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

Result<Verdict> inspect(const Options& options) {
  ZKAPEX_TRY(const Inspector inspector, inspector_for(options.file));
  Report report{.headline = fmt::format("{}: {}", options.file.string(), inspector.kind)};
  report.values["kind"] = inspector.kind;
  if (std::filesystem::is_regular_file(options.file))
    report.values["file_bytes"] = std::filesystem::file_size(options.file);
  ZKAPEX_CHECK(inspector.inspect(options, report.values));
  Verdict verdict = Verdict::kDone;
  if (!options.opens.empty()) {
    if (inspector.kind != kCheckpoint.kind) return error("{}: --opens is for checkpoints", options.file.string());
    ZKAPEX_TRY(verdict, inspect_opens(options.common, options.file, options.opens, report));
  }
  if (inspector.kind == kCheckpoint.kind && std::filesystem::is_regular_file(options.file)) {
    ZKAPEX_TRY(report.values["sha256"], file_digest(options.file, options.common.progress_style()));
  }
  if (options.common.json) {
    report.print(true);
    return verdict;
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
  return verdict;
}

}  // namespace

void add_inspect(CLI::App& parent, Action& action) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = parent.add_subcommand("inspect", "Say what a file is: any of zkapex's, or safetensors");
  command->add_option("file", options->file, "The file; for a checkpoint also its folder or index")->required();
  command->add_flag("--tensors", options->tensors, "List the tensors of a deployment or a checkpoint");
  command->add_option("--opens", options->opens,
                      "A client's folder: is this checkpoint the model that it is committed to? Exit status 1 if not");
  options->common.offer_json(*command);
  options->common.offer_quiet(*command);
  options->common.offer_threads(*command);
  options->common.offer_memory(*command);
  command->footer(
      "The digests are those by which files name each other. Of a client's secret nothing secret is shown. One thread "
      "and\n"
      "little memory are enough: --threads and --memory are there for scripts that give them to every command.\n\n"
      "Examples:\n"
      "  zkapex inspect deployment.zka\n"
      "  zkapex inspect --tensors model.safetensors\n"
      "  zkapex inspect --json proof.zka\n"
      "  zkapex inspect unlearned.safetensors --opens client");
  command->callback([options, &action] { action = [options] { return inspect(*options); }; });
}

}  // namespace zkapex::cli
