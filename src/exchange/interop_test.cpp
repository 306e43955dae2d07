// A log for other people's tools to check, and what they made of it: `make interop` (scripts/interop) runs this with
// ZKAPEX_INTEROP set to a folder. Without it the log is written into a temporary folder and checked here alone.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/result_testing.h"
#include "exchange/audit_log.h"
#include "exchange/exchange_testing.h"
#include "log/receipt.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::log_key;
using testing::MemoryLogStore;
using testing::refusal;
using testing::TestFolder;
using testing::TestWitness;

constexpr const char* kOrigin = "example.com/log";
constexpr uint8_t kProvider = 2;
constexpr size_t kLater = 30;  // clients that come after the window

class InteropTest : public ::testing::Test {
 protected:
  static void write(const Path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    ASSERT_TRUE(write_file(path, view(text), {.overwrite = true}).ok()) << path;
  }

  static std::optional<Path> others_folder() {
    const char* folder = std::getenv("ZKAPEX_INTEROP");
    return folder == nullptr ? std::nullopt : std::optional<Path>(folder);
  }

  TestFolder temporary_{"interop"};
  Path folder_ = others_folder().value_or(temporary_.path());
};

// What a log of many clients has: who they are, what they registered, and the verdicts.
class InteropLog {
 public:
  explicit InteropLog(MemoryLogStore& store) : store_(store) {
    put(testing::sample_deployment(), fixed_key(kProvider));
  }

  void add_client(size_t number) {
    const std::string client = to_hex(sha256(view(fmt::format("client {}", number)))).substr(0, 32);
    const bool p256 = number % 10 == 9;
    const SigningKey key =
        p256 ? *SigningKey::generate(KeyAlgorithm::kP256) : *SigningKey::from_seed(sha256(view(client)));
    Envelope enrolment = *sign_envelope(testing::sample_client(key, client).encode(), key);
    EXPECT_TRUE(add_signature(enrolment, fixed_key(kProvider)).ok());
    put(enrolment);
    RegistrationNotice registration = testing::sample_registration(client);
    registration.seen = {tree_.size(), tree_.root(tree_.size())};
    put(registration, key);
    put(testing::sample_verdict(registration), fixed_key(kProvider));
    if (number == 0) first_key_ = key.public_key().pem();
    if (p256) p256_key_ = key.public_key().pem();
    if (p256) p256_envelope_ = sign_envelope(registration.encode(), key)->encode();
  }
  void add_window() {
    WindowNotice window = testing::sample_window();
    window.seen = {tree_.size(), tree_.root(tree_.size())};
    put(window, fixed_key(kProvider));
  }

  [[nodiscard]] const std::string& first_key() const { return first_key_; }
  [[nodiscard]] const std::string& p256_key() const { return p256_key_; }
  [[nodiscard]] const std::string& p256_envelope() const { return p256_envelope_; }

 private:
  void put(const auto& notice, const SigningKey& key) { put(*sign_envelope(notice.encode(), key)); }
  void put(const Envelope& envelope) {
    const std::string entry = envelope.encode();
    tree_.add(leaf_hash(view(entry)));
    store_.queue(entry);
  }
  MemoryLogStore& store_;
  GrowingTree tree_;
  std::string first_key_, p256_key_, p256_envelope_;
};

TEST_F(InteropTest, WritesALogThatOthersCheck) {
  MemoryLogStore store;
  InteropLog log(store);
  TestWitness one("w1.example", 11, log_key(kOrigin, fixed_key(1))),
      two("w2.example", 12, log_key(kOrigin, fixed_key(1)));
  Result<Sequencer> sequencer = Sequencer::open(store, fixed_key(1),
                                                {.folder = folder_ / "log",
                                                 .origin = kOrigin,
                                                 .witnesses = {one.address(), two.address()},
                                                 .cosignatures = 2,
                                                 .post = testing::post_to({&one, &two})});
  ASSERT_TRUE(sequencer.ok()) << refusal(sequencer);
  const auto note = [&] {
    TileFolder tiles(folder_ / "log");
    return *read_checkpoint(tiles);
  };
  // For others 600 entries and more: two full tiles, and one above them.
  const size_t clients = others_folder() ? 170 : 60;
  for (size_t k = 0; k < clients; ++k) log.add_client(k);
  ASSERT_TRUE(sequencer->run().ok());
  const Note before = note();
  write(folder_ / "checkpoint.before", before.encode());
  log.add_window();
  for (size_t k = clients; k < clients + kLater; ++k) log.add_client(k);
  ASSERT_TRUE(sequencer->run().ok());

  const Policy policy = *Policy::parse(
      fmt::format("log {}\nwitness one {}\nwitness two {}\ngroup both all one two\nquorum both\n",
                  log_key(kOrigin, fixed_key(1)).vkey(), one.address().key.vkey(), two.address().key.vkey()));
  write(folder_ / "policy", policy.text());
  TileFolder tiles(folder_ / "log");
  const Result<LogReading> reading = read_log(tiles, policy, &before);
  ASSERT_TRUE(reading.ok()) << refusal(reading);
  EXPECT_EQ(reading->broken, "");
  EXPECT_EQ(reading->audit->finding_count(), 0U) << reading->audit->findings()[0].what;
  EXPECT_EQ(reading->opened->checkpoint.size, 1 + 3 * (clients + kLater) + 1);

  for (const uint64_t index :
       {uint64_t{0}, uint64_t{1}, uint64_t{255}, uint64_t{256}, reading->opened->checkpoint.size - 1}) {
    const Receipt receipt = *make_receipt(tiles, index, note());
    EXPECT_TRUE(check_receipt(receipt, *receipt.entry, policy).ok());
    write(folder_ / fmt::format("receipts/{}.tlog-proof", index), receipt.encode());
  }
  const auto entry = [&](uint64_t index) {
    const Bytes bytes = *make_receipt(tiles, index, note())->entry;
    return std::string(bytes.begin(), bytes.end());
  };
  write(folder_ / "envelopes/deployment.json", entry(0));
  write(folder_ / "envelopes/client.json", entry(1));
  write(folder_ / "envelopes/registration.json", entry(2));
  write(folder_ / "envelopes/verdict.json", entry(3));
  write(folder_ / "envelopes/window.json", entry(1 + 3 * clients));
  write(folder_ / "envelopes/p256.json", log.p256_envelope());
  write(folder_ / "keys/provider.pem", fixed_key(kProvider).public_key().pem());
  write(folder_ / "keys/client.pem", log.first_key());
  write(folder_ / "keys/p256.pem", log.p256_key());
}

TEST_F(InteropTest, AcceptsWhatAnotherWitnessCosigned) {
  const auto folder = others_folder();
  if (!folder || !std::filesystem::exists(*folder / "cosigned")) GTEST_SKIP() << "scripts/interop runs this";
  const Policy policy = *Policy::read(*folder / "cosigned/policy");
  const Bytes bytes = *read_file(*folder / "cosigned/checkpoint", kMaxNoteBytes);
  const Note note = *Note::parse(std::string(bytes.begin(), bytes.end()));
  const auto opened = policy.open(note);
  ASSERT_TRUE(opened.ok()) << refusal(opened);
  EXPECT_EQ(opened->seen_by.size(), 1U);
  TileFolder tiles(*folder / "log");
  const Receipt receipt = *make_receipt(tiles, 256, note);
  EXPECT_TRUE(check_receipt(receipt, *receipt.entry, policy).ok());
}

}  // namespace
}  // namespace zkapex
