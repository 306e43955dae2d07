#include "learning/simulated_client.h"

#include <algorithm>
#include <charconv>

#include "data/shuffle.h"
#include "learning/fisher_store.h"
#include "learning/model_files.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

// "2/3": the second of three parts.
struct Part {
  int64_t number, of;
};
std::optional<Part> part_named(std::string_view text) {
  Part out{};
  const char* const end = text.data() + text.size();
  const auto number = std::from_chars(text.data(), end, out.number);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != '/') return {};
  const auto of = std::from_chars(number.ptr + 1, end, out.of);
  if (of.ec != std::errc() || of.ptr != end || out.number < 1 || out.number > out.of) return {};
  return out;
}

// The samples of every so many-th file.
std::vector<int64_t> samples_of_part(const SampleSet& set, const Catalog& catalog, const Part& part) {
  std::vector<int64_t> out;
  std::ranges::copy_if(set.indices, std::back_inserter(out), [&](int64_t index) {
    return catalog.groups[static_cast<size_t>(index)] % part.of == part.number - 1;
  });
  return out;
}

Result<Samples> retained_in(const Simulation& simulation, const std::string& domain) {
  SampleSet set = simulation.retain;
  if (!domain.empty()) {
    ZKAPEX_CHECK(check_domain(set, domain));
  }
  if (set.source.kind == DataSource::Kind::kText) {
    ZKAPEX_TRY(std::shared_ptr<const Dataset> data, open_dataset(set.source, simulation.format));
    if (!domain.empty()) set.indices = samples_of_part(set, data->catalog(), *part_named(domain));
    if (set.indices.empty()) return error("part {} of the retained files is empty", domain);
    return Samples::over(std::move(data), set, simulation.original.config());
  }
  if (!domain.empty()) set.source.style = *style_named(domain);
  return Samples::open(set, simulation.format, simulation.original.config());
}

// As a folder's name.
std::string client_name(const std::string& domain) {
  if (domain.empty()) return "original";
  std::string out = domain;
  std::ranges::replace(out, '/', '-');
  return out;
}

}  // namespace

std::vector<std::string> default_domains(const SampleSet& retain) {
  if (retain.source.kind == DataSource::Kind::kText) return {"1/2", "2/2"};
  return {"inverted", "tones", "noise", "half"};
}

Status check_domain(const SampleSet& retain, const std::string& domain) {
  if (retain.source.kind == DataSource::Kind::kText) {
    if (!part_named(domain)) return error("'{}' is no part of the files, such as 1/2", domain);
  } else if (!style_named(domain)) {
    return error("there is no style '{}' (sketch, inverted, tones, noise, half)", domain);
  }
  return Done{};
}

std::string SimulationOptions::text() const {
  return fmt::format("{} fisher_samples={} damping={} absolute={} simulation_seed={}", training.text(), fisher_samples,
                     damping.value, damping.kind == Damping::Kind::kAbsolute, seed);
}

std::filesystem::path Simulation::model(const std::string& client) const { return folder / client; }
std::filesystem::path Simulation::store(const std::string& client) const { return folder / (client + ".zka"); }

Result<std::unique_ptr<Model>> Simulation::trained(const std::string& name, const Samples& samples) const {
  if (std::filesystem::exists(model(name) / "model.safetensors"))
    return load_model(model(name), {.placement = original.placement()});
  std::unique_ptr<Model> out = clone(original);
  if (name != "original") {
    Progress bar(progress, "client " + name, "samples",
                 static_cast<uint64_t>(samples.size() * options.training.epochs));
    TrainingOptions how = options.training;
    how.seed = options.seed;
    ZKAPEX_CHECK(train(*out, samples, Method::kFull, how, [&](const TrainingStep& step) -> Status {
      bar.advance(static_cast<uint64_t>(step.samples));
      return Done{};
    }));
  }
  ZKAPEX_CHECK(save_model(*out, model(name)));
  return out;
}

Result<SimulatedClient> Simulation::client(const std::string& domain) const {
  const std::string name = client_name(domain);
  ZKAPEX_TRY(Samples samples, retained_in(*this, domain));
  ZKAPEX_TRY(std::unique_ptr<Model> own, trained(name, samples));
  if (!std::filesystem::exists(store(name))) {
    Progress bar(progress, "curvature of " + name, "blocks", deployment.layout().blocks());
    const FisherStoreOptions how{.damping = options.damping, .run = options.text()};
    ZKAPEX_CHECK(write_fisher_store(*own, samples.batches(32, options.fisher_samples, options.seed), deployment, how,
                                    store(name), pool, [&](uint64_t blocks) { bar.advance(blocks); }));
  }
  ZKAPEX_TRY(const StoreReader curvature, StoreReader::open(store(name)));
  ZKAPEX_TRY(GuidedMap map, GuidedMap::make(deployment, masked, pull, curvature, *own));
  return SimulatedClient{name, std::move(own), std::move(samples), std::move(map)};
}

}  // namespace zkapex
