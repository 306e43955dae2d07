#include "tables/runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"
#include "tables/cells.h"

namespace zkapex {
namespace {

using testing::refusal;

using nlohmann::json;
using nlohmann::ordered_json;

// Counts how often each cell is computed; fails where it is told to.
struct Log {
  std::atomic<int> computed = 0;
  std::string failing;
  std::vector<std::string> variants = {"a", "b=2"};
};

class Toy final : public Experiment {
 public:
  Toy(Log& log, double factor) : log_(log), factor_(factor) {}

  [[nodiscard]] std::vector<std::string> variants() const override { return log_.variants; }
  [[nodiscard]] Result<ordered_json> run(const std::string& variant, uint64_t seed,
                                         const CellWork& work) const override {
    if (variant == log_.failing) return error("it failed");
    ++log_.computed;
    EXPECT_TRUE(std::filesystem::is_empty(work.scratch));
    EXPECT_TRUE(write_text(work.scratch / "left.txt", "behind").ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return ordered_json{{"value", factor_ * static_cast<double>(seed) + (variant == "a" ? 0 : 10)}};
  }
  [[nodiscard]] ordered_json describe() const override { return {{"data", "made up"}}; }
  [[nodiscard]] ExperimentReport report(const Results& results, const json& paper) const override {
    const std::vector<TableColumn> columns = {{"value", "value", Unit::kPlain}};
    const std::vector<TableRow> rows = {{"a", "A"}, {"b=2", "B"}};
    return {"Toy", markdown_table(results, columns, rows, paper), table_as_json(results, columns, rows, paper), {}};
  }

 private:
  Log& log_;
  double factor_;
};

class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_factor(1);
    options_.out = folder_ / "out";
    options_.config = folder_ / "toy.json";
    options_.seeds = 3;
    kind_ = {"toy", "a toy", [this](const json& settings) -> Result<std::unique_ptr<Experiment>> {
               double factor = 0;
               ConfigReader reader(settings, "settings");
               reader.read("factor", factor);
               ZKAPEX_CHECK(reader.finish());
               return std::unique_ptr<Experiment>(std::make_unique<Toy>(log_, factor));
             }};
  }
  void set_factor(double factor) {
    ASSERT_TRUE(write_json(folder_ / "toy.json", {{"experiment", "toy"},
                                                  {"settings", {{"factor", factor}}},
                                                  {"paper", {{"a", {{"value", "7"}}}}},
                                                  {"notes", {"A note."}}})
                    .ok());
  }
  Result<RunOutcome> run() {
    ThreadPool pool(1);
    WorkSettings work;
    work.pool = &pool;
    return run_experiment(kind_, options_, work, [this](const std::string& line) { lines_.push_back(line); });
  }
  [[nodiscard]] Path cell(const std::string& name) const { return options_.out / "cells" / "toy" / (name + ".json"); }

  TemporaryDirectory directory_{"runner"};
  const Path folder_ = directory_.path();
  Log log_;
  RunOptions options_;
  ExperimentKind kind_;
  std::vector<std::string> lines_;
};

TEST_F(RunnerTest, WritesCellsTableDataAndPicture) {
  const auto done = run();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(log_.computed, 6);
  EXPECT_EQ(done->cells, 6U);
  EXPECT_NE(done->text.find("| A | 2 ± 1 | 7 |"), std::string::npos);
  EXPECT_NE(done->text.find("A note."), std::string::npos);
  EXPECT_EQ(*read_text(done->markdown), done->text);
  const json data = *read_json(done->json);
  EXPECT_EQ(data["cells"].size(), 6U);
  EXPECT_EQ(data["seeds"], json({1, 2, 3}));
  EXPECT_EQ(data["settings"]["factor"], 1);
  EXPECT_EQ(data["table"]["b=2"]["value"]["mean"], 12.0);
  EXPECT_TRUE(data["machines"][0].contains("processors"));
  EXPECT_NE(read_text(done->svg)->find("<svg"), std::string::npos);
  EXPECT_NE(lines_.back().find("[6/6]"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(options_.out / ".cache" / "scratch"));
}

TEST_F(RunnerTest, GoesOnWhereItWasStopped) {
  log_.failing = "b=2";
  const auto failed = run();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "b=2, seed 1: it failed");
  EXPECT_TRUE(std::filesystem::exists(cell("a-seed1")));
  EXPECT_FALSE(std::filesystem::exists(options_.out / "toy.md"));
  log_.failing.clear();
  const auto done = run();
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->skipped, 1U);
  EXPECT_EQ(log_.computed, 6);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(log_.computed, 6);
}

TEST_F(RunnerTest, OneSeedAloneLeavesTheReportToTheLast) {
  for (const uint64_t seed : {2, 1, 3}) {
    options_.only_seed = seed;
    const auto done = run();
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_EQ(done->missing, seed == 2 ? 4U : seed == 1 ? 2U : 0U);
    EXPECT_EQ(std::filesystem::exists(options_.out / "toy.md"), seed == 3);
  }
  EXPECT_EQ(log_.computed, 6);
}

TEST_F(RunnerTest, MoreSeedsKeepTheFirstOnes) {
  options_.seeds = 1;
  ASSERT_TRUE(run().ok());
  options_.seeds = 2;
  const auto done = run();
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(done->skipped, 2U);
  EXPECT_EQ(log_.computed, 4);
}

TEST_F(RunnerTest, CellsOfAnotherConfigurationAreRefusedOrMadeAgain) {
  ASSERT_TRUE(run().ok());
  set_factor(2);
  const auto refused = run();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("other settings"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--force"), std::string::npos);
  options_.force = true;
  const auto done = run();
  ASSERT_TRUE(done.ok());
  EXPECT_NE(done->text.find("| A | 4 ± 2 |"), std::string::npos);
  options_.force = false;
  options_.measured_on = "validation";
  EXPECT_FALSE(run().ok());
}

TEST_F(RunnerTest, SettingsAreChosenWithOtherSeeds) {
  options_.measured_on = "validation";
  options_.only_seed = 2;
  EXPECT_EQ(run()->missing, 4U);
  options_.only_seed = 0;
  const auto done = run();
  ASSERT_TRUE(done.ok()) << done.error().message;
  const json data = *read_json(done->json);
  EXPECT_EQ(data["seeds"], json({1001, 1002, 1003}));
  EXPECT_EQ(data["table"]["a"]["value"]["mean"], 1002.0);
}

TEST_F(RunnerTest, DamagedCellsAreRefused) {
  ASSERT_TRUE(run().ok());
  ASSERT_TRUE(write_text(cell("a-seed2"), "{\"format\": \"zkapex-ce").ok());
  const auto damaged = run();
  ASSERT_FALSE(damaged.ok());
  EXPECT_NE(damaged.error().message.find("a-seed2.json is not a cell"), std::string::npos);
  std::filesystem::copy_file(cell("a-seed1"), cell("a-seed2"), std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(refusal(run()).find("another cell than its name says"), std::string::npos);
}

TEST_F(RunnerTest, VariantsAreNamesOfFiles) {
  log_.variants = {"a", "../b"};
  EXPECT_EQ(refusal(run()), "'../b' cannot be the name of a file");
  EXPECT_EQ(log_.computed, 0);
}

TEST_F(RunnerTest, ProcessesShareTheWork) {
  std::vector<std::thread> others;
  std::atomic<int> good = 0;
  for (int k = 0; k < 3; ++k) {
    others.emplace_back([&] {
      ThreadPool pool(1);
      WorkSettings work;
      work.pool = &pool;
      if (run_experiment(kind_, options_, work, [](const std::string&) {}).ok()) ++good;
    });
  }
  for (std::thread& other : others) other.join();
  EXPECT_EQ(good, 3);
  EXPECT_EQ(log_.computed, 6);
}

TEST_F(RunnerTest, ABadConfigurationIsNamed) {
  ASSERT_TRUE(write_json(options_.config, {{"experiment", "toy"}, {"settings", {{"factr", 1}}}}).ok());
  const auto refused = run();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("toy.json"), std::string::npos);
  EXPECT_NE(refused.error().message.find("settings.factor is missing"), std::string::npos);
}

TEST(Cells, NamesOfVariants) {
  for (const char* good : {"a", "ours-k=0.04-damping=1e-08", "neggrad+", "f2_6-ours"})
    EXPECT_TRUE(is_variant_name(good));
  for (const char* bad : {"", ".", "..", "a/b", "a b", "ü", ".hidden"}) EXPECT_FALSE(is_variant_name(bad));
}

TEST(Cells, EveryMemberIsChecked) {
  const TemporaryDirectory directory("cells");
  const CellStore store(directory.path());
  const CellKey key{"toy", "a", 2, "0123"};
  EXPECT_FALSE(store.load(key)->has_value());
  ASSERT_TRUE(store.save(key, {{"figures", {{"value", 1}}}}).ok());
  const json good = *read_json(store.file(key));
  const auto message = [&](const char* member, const json& value) {
    json changed = good;
    changed[member] = value;
    EXPECT_TRUE(write_json(store.file(key), changed).ok());
    return refusal(store.load(key));
  };
  EXPECT_EQ(message("seconds", 3), "(accepted)");
  EXPECT_NE(message("format", "zkapex-row").find("is not a cell"), std::string::npos);
  EXPECT_NE(message("version", 2).find("is not a cell"), std::string::npos);
  EXPECT_NE(message("figures", 1).find("is not a cell"), std::string::npos);
  EXPECT_NE(message("experiment", "other").find("another cell"), std::string::npos);
  EXPECT_NE(message("variant", "b").find("another cell"), std::string::npos);
  EXPECT_NE(message("seed", 3).find("another cell"), std::string::npos);
  EXPECT_NE(message("configuration", "4567").find("other settings"), std::string::npos);
}

TEST(Cells, TheDigestIsOfAllThatDecides) {
  const std::string one = configuration_digest({{"a", 1}, {"b", 2}}, "test");
  EXPECT_EQ(one, configuration_digest({{"b", 2}, {"a", 1}}, "test"));
  EXPECT_NE(one, configuration_digest({{"a", 1}, {"b", 3}}, "test"));
  EXPECT_NE(one, configuration_digest({{"a", 1}, {"b", 2}}, "validation"));
}

}  // namespace
}  // namespace zkapex
