// Two implementations, one format: this program and the reference verifier in reference/ give the same answer to the
// same files, and derive the same commitments from them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <optional>

#include "attestation/registration_prover.h"
#include "attestation/window_testing.h"
#include "base/files.h"
#include "parties/base_model.h"
#include "parties/provider.h"

namespace zkapex {
namespace {

using testing::TestWindow;
using testing::WindowOptions;

// What a verifier is given.
struct PublicFiles {
  Bytes deployment, registration, mask, proof;
  std::optional<Bytes> commitment, last_mask;  // before the window, where there was one already
  std::optional<Bytes> base;                   // where the deployment has an anchor
};

struct ClientOptions {
  std::string name = "client 1";
  bool false_registration = false;  // its range proof does not hold, though windows go on from it
  Path base_file = {};              // where the base model of an anchored deployment is written
};

// A registered client whose windows follow each other.
class WindowClient {
 public:
  WindowClient(const WindowOptions& window, const ClientOptions& options, ThreadPool& pool)
      : window_(window, pool), pool_(pool) {
    if (window.anchored) anchor_at_file(options.base_file);
    const Deployment& deployment = *window_.deployment;
    const Segmentation cut = cut_rows(deployment.layout().rows(), 2);
    const RegistrationPlan plan = *RegistrationPlan::make(deployment, cut);
    ProvedRegistration proved = prove_registration({&deployment, options.name, &base_}, plan,
                                                   TestWindow::Before(window_), 1 << 12, window_.generators(), pool)
                                    .value();
    Bytes proof = proved.proof.encode();
    if (options.false_registration) proof[proof.size() - 32] ^= 1;
    registration_ = {deployment.digest(), options.name, cut, proof};
    registered_ = *assume_registration(deployment, registration_);
    current_ = registered_.model;
    blindings_ = std::move(proved.model_blindings);
    curvature_blindings_ = std::move(proved.curvature_blindings);
  }

  // Applies the window and returns its files.
  PublicFiles unlearn(const std::string& window) {
    window_.mask.window = window;
    window_.solve();
    const WindowPlan plan = window_.plan();
    const TestWindow::Before before(window_);
    const TestWindow::After after(window_);
    const WindowBits bits = *WindowBits::make(*window_.deployment, window_.mask, plan, before, after, pool_);
    const WindowStatement statement = window_statement(*window_.deployment, registered_, current_, window_.mask);
    const ModelOpenings openings{{blindings_.data(), blindings_.size()},
                                 {curvature_blindings_.data(), curvature_blindings_.size()}};
    WindowProof proved = *prove_window(statement, plan, bits, before, openings, window_.generators(), pool_);
    const ProofFile file{window_.deployment->digest(), registered_.digest,
                         window_.mask.digest(),        current_.digest(),
                         registered_.client,           window,
                         plan.segmentation(),          proved.proof.encode()};
    PublicFiles out{window_.deployment->serialize(),
                    registration_.encode(),
                    window_.mask.serialize(),
                    file.encode(),
                    std::nullopt,
                    last_mask_,
                    base_bytes_};
    if (!current_.windows.empty()) out.commitment = current_.encode();
    const std::optional<Mask> previous = last_mask_ ? std::optional(*Mask::parse(*last_mask_)) : std::nullopt;
    last_mask_ = window_.mask.serialize();
    current_ =
        check_window_file(*window_.deployment, {registered_, current_, previous}, window_.mask, file, pool_)->next;
    blindings_ = std::move(proved.blindings);
    window_.theta_p = window_.theta_u;
    std::vector<uint64_t>& support = window_.mask.support;  // the next window's: one coordinate more
    uint64_t added = 0;
    while (added < support.size() && support[added] == added) ++added;
    support.insert(support.begin() + static_cast<ptrdiff_t>(added), added);
    return out;
  }

  [[nodiscard]] const ModelCommitment& current() const { return current_; }
  [[nodiscard]] const Generators& generators() const { return window_.generators(); }

 private:
  // θ0 is the window's, as weights that are rounded to just these integers.
  void anchor_at_file(const Path& file) {
    const Layout& layout = window_.deployment->layout();
    std::vector<Bytes> bytes(layout.tensors().size());
    std::vector<TensorSource> sources;
    for (size_t k = 0; k < bytes.size(); ++k) {
      const LayoutTensor& tensor = layout.tensors()[k];
      std::vector<double> values(tensor.count);
      for (uint64_t i = 0; i < tensor.count; ++i) {
        const int64_t integer = tensor.covered ? window_.base[layout.padded_index(tensor.first_coordinate + i)]
                                               : window_.base_others[tensor.first_row * layout.geometry().row + i];
        values[i] = window_.deployment->parameters().weights.to_double(integer);
      }
      EXPECT_TRUE(append_elements(Dtype::kF64, values, bytes[k]).ok());
      sources.push_back(TensorSource::of({tensor.name, Dtype::kF64, tensor.shape}, bytes[k]));
    }
    EXPECT_TRUE(write_checkpoint(file, sources, {}, {.overwrite = true}).ok());
    window_.deployment = *anchor_deployment(*window_.deployment, *Checkpoint::open(file), {}, {}, pool_);
    window_.mask.deployment = window_.deployment->digest();
    base_ = *open_base(file, *window_.deployment, pool_);
    base_bytes_ = *read_file(file, 1 << 20);
  }

  TestWindow window_;
  ThreadPool& pool_;
  BaseRows base_;
  std::optional<Bytes> base_bytes_;
  RegistrationFile registration_;
  Registered registered_;
  ModelCommitment current_;
  std::optional<Bytes> last_mask_;
  SecretVector<Scalar> blindings_, curvature_blindings_;
};

class ReferenceTest : public ::testing::Test {
 protected:
  ReferenceTest() { std::filesystem::create_directories(folder_); }
  ~ReferenceTest() override { std::filesystem::remove_all(folder_); }

  // Both verifiers give this answer: "accepted", the name of a reason, or "error" for files of the provider's own.
  void expect_answer(const PublicFiles& files, const Generators& generators, std::string_view answer) {
    EXPECT_EQ(program_answer(files, generators), answer);
    EXPECT_EQ(reference_answer(files), answer);
  }

  std::string program_answer(const PublicFiles& files, const Generators& generators) {
    const auto deployment = Deployment::parse(files.deployment);
    const auto mask = Mask::parse(files.mask);
    if (!deployment || !mask || !mask->check_for(*deployment)) return "error";
    BaseRows base;
    if (deployment->anchor()) {
      if (!files.base) return "error";
      EXPECT_TRUE(write_file(base_file(), *files.base, {.overwrite = true}).ok());
      Result<BaseRows> opened = open_base(base_file(), *deployment, pool_);
      if (!opened) return "error";
      base = *std::move(opened);
    }
    const Verdict verdict = program_verdict(files, *deployment, base, *mask, generators);
    return verdict ? "accepted" : std::string(name(verdict.error().reason));
  }

  // The window is judged before the proof of the registration that it names.
  Verdict program_verdict(const PublicFiles& files, const Deployment& deployment, const BaseRows& base,
                          const Mask& mask, const Generators& generators) {
    ZKAPEX_TRY(const auto registration, submitted<RegistrationFile>(files.registration));
    ZKAPEX_TRY(const auto proof, submitted<ProofFile>(files.proof));
    ZKAPEX_TRY(const Registered registered, assume_registration(deployment, registration));
    ClientRecord client{registered, registered.model, {}};
    if (files.commitment) {
      ZKAPEX_TRY(client.current, submitted<ModelCommitment>(*files.commitment));
    }
    if (files.last_mask) client.last_mask = *Mask::parse(*files.last_mask);
    ZKAPEX_TRY(const CheckedWindow window, check_window_file(deployment, client, mask, proof, pool_));
    ZKAPEX_CHECK(verify_registration_file(deployment, &base, registration, generators, pool_));
    return verdict_var(window.sum, generators, pool_);
  }

  template <class File>
  static Result<File, Rejection> submitted(const Bytes& bytes) {
    Result<File> file = File::decode(bytes);
    if (!file) return Rejection{Reason::kFile, file.error().message};
    return *std::move(file);
  }

  // The model commitment that the reference verifier derives from an accepted window is in next().
  std::string reference_answer(const PublicFiles& files) {
    std::filesystem::remove(next());
    const auto put = [&](const char* file, const Bytes& bytes) {
      EXPECT_TRUE(write_file(folder_ / file, bytes, {.overwrite = true}).ok());
      return (folder_ / file).string();
    };
    std::string command =
        fmt::format("python3 reference/verify.py --deployment {} --registration {} --mask {} --proof {} -o {}",
                    put("deployment.zka", files.deployment), put("registration.zka", files.registration),
                    put("mask.zka", files.mask), put("proof.zka", files.proof), next().string());
    if (files.commitment) command += " --commitment " + put("commitment.zka", *files.commitment);
    if (files.last_mask) command += " --last-mask " + put("last.zka", *files.last_mask);
    if (files.base) command += " --base " + put("base.safetensors", *files.base);
    std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    std::string output;
    std::array<char, 256> buffer;
    while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
    const int status = pclose(pipe);
    return answer_of(WIFEXITED(status) ? WEXITSTATUS(status) : -1, output);
  }

  // Exit status and output must fit together; all of the output otherwise, for the test's message.
  static std::string answer_of(int status, const std::string& output) {
    constexpr std::string_view kRejected = "rejected (";
    if (status == 0 && output.starts_with("accepted")) return "accepted";
    if (status == 1 && output.starts_with(kRejected))
      return output.substr(kRejected.size(), output.find(')') - kRejected.size());
    if (status == 2 && output.starts_with("verify.py: ")) return "error";
    return fmt::format("exit status {}: {}", status, output);
  }

  // Makes a framed file anew, its content changed.
  static Bytes reframed(Bytes file, const std::function<void(Bytes&)>& change) {
    file.erase(file.end() - 32, file.end());
    change(file);
    const auto digest = sha256(file);
    file.insert(file.end(), digest.begin(), digest.end());
    return file;
  }

  [[nodiscard]] Path next() const { return folder_ / "next.zka"; }
  [[nodiscard]] Path base_file() const { return folder_ / "base.safetensors"; }

  const Path folder_ = std::filesystem::temp_directory_path() / fmt::format("zkapex-reference-{}", getpid());
  ThreadPool pool_{2};
};

TEST_F(ReferenceTest, AWindowAndTheNextAreAcceptedByBoth) {
  WindowClient client({}, {}, pool_);
  for (const char* window : {"window 1", "window 2"}) {
    const PublicFiles files = client.unlearn(window);
    expect_answer(files, client.generators(), "accepted");
    EXPECT_EQ(read_file(next(), 1 << 20).value(), client.current().encode());
  }
}

TEST_F(ReferenceTest, OtherShapesAreAcceptedByBoth) {
  const std::vector<WindowOptions> shapes = {
      {.op = Operator::kMaskOnly},
      {.op = Operator::kGuided},
      {.tensors = {40, 77, 9}, .rows_per_segment = 4, .op = Operator::kGuided},
      {.row = 256, .rows_per_segment = 2, .density = 0, .op = Operator::kGuided},
      {.block = 7, .tensors = {7, 50}, .rows_per_segment = 2, .seed = 3},
      {.block = 16, .row = 256, .tensors = {300}, .rows_per_segment = 2, .seed = 4},
      {.block = 16, .row = 64, .tensors = {300}, .rows_per_segment = 2, .seed = 5},
  };
  for (const WindowOptions& options : shapes) {
    WindowClient client(options, {}, pool_);
    expect_answer(client.unlearn("window 1"), client.generators(), "accepted");
  }
}

TEST_F(ReferenceTest, BothKnowTheBaseModel) {
  WindowClient anchored({.block = 7, .tensors = {7, 50, 9}, .anchored = true}, {.base_file = base_file()}, pool_);
  PublicFiles files = anchored.unlearn("window 1");
  expect_answer(files, anchored.generators(), "accepted");
  PublicFiles without = files, other = files;
  without.base.reset();
  expect_answer(without, anchored.generators(), "error");
  other.base->back() ^= 1;
  expect_answer(other, anchored.generators(), "error");
  // Registered without an anchor, and handed in where there is one: counts differ.
  WindowClient free({.block = 7, .tensors = {7, 50, 9}}, {}, pool_);
  RegistrationFile any_model = *RegistrationFile::decode(free.unlearn("window 1").registration);
  any_model.deployment = RegistrationFile::decode(files.registration)->deployment;
  files.registration = any_model.encode();
  expect_answer(files, anchored.generators(), "length");
}

// The request says what is due: the same proof under one that asks for the other operator.
TEST_F(ReferenceTest, BothAskForWhatIsDue) {
  WindowClient masked({.tensors = {20}, .op = Operator::kMaskOnly}, {}, pool_);
  PublicFiles files = masked.unlearn("window 1");
  Mask due = *Mask::parse(files.mask);
  due.op = Operator::kGroupObs;
  files.mask = due.serialize();
  expect_answer(files, masked.generators(), "mask");
  ProofFile proof = *ProofFile::decode(files.proof);
  proof.mask = due.digest();
  files.proof = proof.encode();
  expect_answer(files, masked.generators(), "length");
}

// The same proof under a request with another guide, and requests whose guides do not fit.
TEST_F(ReferenceTest, BothAskForTheGuideThatIsDue) {
  WindowClient guided({.tensors = {20, 30}, .op = Operator::kGuided}, {}, pool_);
  const PublicFiles honest = guided.unlearn("window 1");
  const auto answer = [&](const auto& change, std::string_view expected) {
    PublicFiles files = honest;
    Mask due = *Mask::parse(files.mask);
    change(*due.guidance);
    files.mask = due.serialize();
    ProofFile proof = *ProofFile::decode(files.proof);
    proof.mask = due.digest();
    files.proof = proof.encode();
    expect_answer(files, guided.generators(), expected);
  };
  answer([](Guidance&) {}, "accepted");
  answer([](Guidance& g) { g.guide.scales[1] -= 1; }, "equation");
  answer([](Guidance& g) { g.guide.trits[0] = g.guide.trits[0] == 0 ? 1 : 0; }, "equation");
  answer([](Guidance& g) { g.pull += 1; }, "equation");
  answer([](Guidance& g) { g.progress += 1; }, "equation");
  answer([](Guidance& g) { g.guide.scales[1] = 1 << 20; }, "error");
  answer([](Guidance& g) { g.guide.scales.pop_back(); }, "error");
  answer([](Guidance& g) { g.guide.levels.push_back(0); }, "error");
  answer([](Guidance& g) { g.guide.trits.push_back(0); }, "error");
  answer([](Guidance& g) { g.guide.trits[0] = 243; }, "error");
  answer([](Guidance& g) { g.pull = Guidance::kMaxPull; }, "error");
  answer([](Guidance& g) { g.progress = 1001; }, "error");
}

TEST_F(ReferenceTest, ASoundWindowDoesNotSaveAFalseRegistration) {
  WindowClient client({.tensors = {20}}, {.false_registration = true}, pool_);
  expect_answer(client.unlearn("window 1"), client.generators(), "equation");
}

TEST_F(ReferenceTest, BothRefuseForTheSameReason) {
  const WindowOptions small{.tensors = {20}};
  WindowClient client(small, {}, pool_), other(small, {.name = "client 2"}, pool_);
  const PublicFiles first = client.unlearn("window 1"), second = client.unlearn("window 2"),
                    foreign = other.unlearn("window 1");
  const auto expect = [&](const PublicFiles& files, std::string_view answer) {
    expect_answer(files, client.generators(), answer);
  };
  const auto proof_with = [&](const std::function<void(Bytes&)>& change) {
    PublicFiles files = first;
    files.proof = reframed(files.proof, change);
    return files;
  };
  const auto with = [&](auto member, const Bytes& bytes) {
    PublicFiles files = first;
    files.*member = bytes;
    return files;
  };

  expect(with(&PublicFiles::registration, foreign.registration), "client");
  expect(with(&PublicFiles::mask, second.mask), "mask");
  PublicFiles skipped = second, replayed = first, forgetful = second, forgotten = second;
  skipped.commitment.reset();
  expect(skipped, "model");
  replayed.commitment = client.current().encode();
  expect(replayed, "window");
  forgetful.last_mask.reset();
  expect(forgetful, "mask");
  // The same rows under another history.
  forgotten.commitment = reframed(*second.commitment, [](Bytes& file) { file[84] ^= 1; });
  forgotten.proof = reframed(second.proof, [&](Bytes& file) {
    const Bytes& start = *forgotten.commitment;
    std::copy(start.end() - 32, start.end(), file.begin() + 108);
  });
  expect(forgotten, "equation");

  const size_t proof_bytes = ProofFile::decode(first.proof)->proof.size();
  const auto at = [&](Bytes& file, size_t offset) -> uint8_t& { return file[file.size() - proof_bytes + offset]; };
  expect(proof_with([&](Bytes& file) { at(file, 0) ^= 1; }), "version");
  expect(proof_with([&](Bytes& file) { at(file, 8) ^= 1; }), "point");  // an odd encoding
  expect(proof_with([&](Bytes& file) { at(file, proof_bytes - 1) |= 0x80; }), "scalar");
  expect(proof_with([&](Bytes& file) { at(file, proof_bytes - 32) ^= 1; }), "equation");
  expect(proof_with([](Bytes& file) { file.push_back(0); }), "file");
  expect(proof_with([](Bytes& file) { file[12] ^= 1; }), "deployment");
  expect(proof_with([](Bytes& file) { file[44] ^= 1; }), "registration");

  Bytes damaged = first.mask;
  ASSERT_FALSE(damaged.empty());
  damaged.back() ^= 1;
  expect(with(&PublicFiles::mask, damaged), "error");
}

}  // namespace
}  // namespace zkapex
