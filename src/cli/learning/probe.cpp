// zkapex probe
#include <fmt/format.h>

#include "cli/learning/common.h"
#include "learning/probe.h"
#include "learning/runtime.h"
#include "learning/tensor_files.h"

namespace zkapex::cli {

namespace {

struct ProbeFlags {
  path model, input, mask_from, output;
  ProbeOptions options;
  std::string device = "cpu";
  CommonFlags common;
};

Result<Outcome> run_probe(const ProbeFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.common.force));
  start_libtorch(flags.common.threads);
  ProbeOptions options = flags.options;
  ZKAPEX_TRY(const Placement placement, placement_on(flags.device));
  options.device = placement.device;
  if (!flags.mask_from.empty()) options.mask_from = flags.mask_from;
  ZKAPEX_TRY(const std::vector<Parameter> tensors, probe(flags.model, flags.input, options));
  ZKAPEX_CHECK(write_tensors(flags.output, tensors));
  auto told = nlohmann::ordered_json::object();
  for (const Parameter& p : tensors) {
    if (!flags.common.json) fmt::print("{} [{}]\n", p.name, fmt::join(p.value.sizes(), ", "));
    told[p.name] = p.value.sizes().vec();
  }
  if (flags.common.json) fmt::print("{}\n", told.dump(2));
  return Outcome::kDone;
}

}  // namespace

void add_probe(Command parent, Action& action) {
  const auto flags = std::make_shared<ProbeFlags>();
  const Command command = parent.add_command(kProbe.name, kProbe.about);
  command.add_option("--model", flags->model, "Directory of the model").required().type_name("DIR");
  command.add_option("--input", flags->input, "safetensors: pixel_values and labels, or input_ids")
      .required()
      .type_name("FILE");
  command.add_option("--block", flags->options.block, "Size of Fisher blocks").positive().shows_default();
  command
      .add_option("--relative-damping", flags->options.relative_damping,
                  "Damping, as a share of each block's mean diagonal")
      .shows_default();
  command.add_option("--mask-from", flags->mask_from, "safetensors with obs_mask.*: adds obs_delta.*")
      .type_name("FILE");
  command.add_option("--cover", flags->options.covered,
                     "Patterns of the covered weights; the MLPs' matrices otherwise");
  command.add_option("-o,--output", flags->output, "safetensors to write").required().type_name("FILE");
  offer_device(command, flags->device);
  flags->common.offer_threads(command);
  flags->common.offer_json(command);
  flags->common.offer_force(command);
  command.footer(
      "Examples:\n"
      "  zkapex probe --model vit-base-patch16-224 --input input.safetensors -o out.safetensors");
  command.runs(action, [flags] { return run_probe(*flags); });
}

}  // namespace zkapex::cli
