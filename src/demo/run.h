// One run of the demo: where its files are, how it works and tells, and what was found so far.
#pragma once

#include "base/json.h"
#include "data/splits.h"
#include "demo/settings.h"
#include "parties/work.h"
#include "tables/folders.h"

namespace zkapex::demo {

struct DemoFiles {
  Path root;

  [[nodiscard]] Path provider() const { return root / "provider"; }
  [[nodiscard]] Path original() const { return provider() / "original"; }    // θ0
  [[nodiscard]] Path retrained() const { return provider() / "retrained"; }  // without the forgotten images
  [[nodiscard]] Path deployment() const { return provider() / "deployment.zka"; }
  [[nodiscard]] Path mask() const { return provider() / "psi.zka"; }
  [[nodiscard]] Path rehearsal() const { return provider() / "rehearsal"; }  // simulated clients, while it lasts
  [[nodiscard]] Path ledger() const { return provider() / "ledger"; }
  [[nodiscard]] Path inbox() const { return provider() / "inbox"; }
  [[nodiscard]] Path inbox(const std::string& client) const { return inbox() / client; }

  [[nodiscard]] Path client(const std::string& name) const { return root / name; }
  [[nodiscard]] Path splits(const std::string& name) const { return client(name) / "splits.json"; }
  [[nodiscard]] Path personal(const std::string& name) const { return client(name) / "personal"; }    // θ_p
  [[nodiscard]] Path unlearned(const std::string& name) const { return client(name) / "unlearned"; }  // θ_u
  [[nodiscard]] Path retrained(const std::string& name) const { return client(name) / "retrained"; }
  [[nodiscard]] Path store(const std::string& name) const { return client(name) / "curvature.zka"; }
  [[nodiscard]] Path state(const std::string& name) const { return client(name) / "state"; }
  [[nodiscard]] Path proof(const std::string& name) const { return client(name) / "proof.zka"; }

  [[nodiscard]] Path cheats() const { return root / "cheats"; }
  [[nodiscard]] Path cheat_scratch() const { return cheats() / "scratch"; }
  // A copy of the last client's state before the window, for who plays it.
  [[nodiscard]] Path registered_state() const { return cheat_scratch() / "registered"; }
  // A copy of the ledger before the window.
  [[nodiscard]] Path earlier_ledger() const { return cheat_scratch() / "ledger"; }

  [[nodiscard]] Path report_json() const { return root / "report.json"; }
  [[nodiscard]] Path report_html() const { return root / "report.html"; }
};

// Tells people what happens; silent where a program reads the output.
class Narrator {
 public:
  explicit Narrator(bool silent) : silent_(silent) {}
  void step(std::string_view who, std::string_view what);
  void say(std::string_view line) const;

 private:
  bool silent_;
  int step_ = 0;
};

struct DemoRun {
  DemoSettings settings;
  DemoFiles files;
  WorkSettings work;
  Placement placement;  // of the models
  Narrator tell;
  std::vector<Splits> splits;                                        // per client
  nlohmann::ordered_json report = nlohmann::ordered_json::object();  // all figures: what report.json will be

  [[nodiscard]] nlohmann::ordered_json& client_report(size_t k) { return report["clients"][k]; }
};

// The steps, in order. Each leaves files, and figures in the report.
[[nodiscard]] Status train_original(DemoRun& run);
[[nodiscard]] Status retrain_without_forgotten(DemoRun& run);
[[nodiscard]] Status personalize_clients(DemoRun& run);
[[nodiscard]] Status publish_deployment(DemoRun& run);
[[nodiscard]] Status register_clients(DemoRun& run);
[[nodiscard]] Status admit_clients(DemoRun& run);
[[nodiscard]] Status publish_request(DemoRun& run);
[[nodiscard]] Status unlearn_clients(DemoRun& run);
[[nodiscard]] Status verify_clients(DemoRun& run);
[[nodiscard]] Status settle_clients(DemoRun& run);
[[nodiscard]] Status catch_cheats(DemoRun& run);
[[nodiscard]] Status measure_models(DemoRun& run);

}  // namespace zkapex::demo
