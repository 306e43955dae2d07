// The tree, its proofs, its tiles, and receipts.
#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "log/base64.h"
#include "log/growing_tree.h"
#include "log/log_testing.h"
#include "log/receipt.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::log_key;
using testing::MemoryLogStore;
using testing::refusal;
using testing::TestFolder;

std::vector<TreeHash> made_up_leaves(size_t count) {
  std::vector<TreeHash> out;
  for (size_t k = 0; k < count; ++k) out.push_back(leaf_hash(view(fmt::format("entry {}", k))));
  return out;
}

TEST(Merkle, RootsOfCertificateTransparencysTests) {
  const char* entries[] = {
      "", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"};
  const char* roots[] = {"6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
                         "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
                         "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
                         "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
                         "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
                         "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
                         "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
                         "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};
  EXPECT_EQ(to_hex(tree_hash({})), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  std::vector<TreeHash> leaves;
  for (size_t k = 0; k < 8; ++k) {
    leaves.push_back(leaf_hash(*from_hex(entries[k])));
    EXPECT_EQ(to_hex(tree_hash(leaves)), roots[k]);
  }
}

// Tiles of a tree, in memory.
class MemoryTiles : public TileSource {
 public:
  explicit MemoryTiles(std::vector<TreeHash> leaves) : leaves_(std::move(leaves)) {}
  Result<std::optional<Bytes>> read(const std::string& path, size_t) override {
    const Result<TileName> name = TileName::parse(path);
    if (!name || !name->level) return std::optional<Bytes>();
    if (gone == path) return std::optional<Bytes>();
    const uint64_t each = uint64_t{1} << (8 * *name->level);
    const uint64_t first = kTileWidth * name->index, have = leaves_.size() / each;
    if (first + name->width > have) return std::optional<Bytes>();
    std::vector<TreeHash> hashes;
    for (uint64_t k = first; k < first + name->width; ++k)
      hashes.push_back(tree_hash(std::span<const TreeHash>(leaves_).subspan(k * each, each)));
    return std::optional(encode_hashes(hashes));
  }
  std::string gone;

 private:
  std::vector<TreeHash> leaves_;
};

TEST(Tiles, ProofsFromTilesHoldAtEverySize) {
  const std::vector<TreeHash> leaves = made_up_leaves(600);
  MemoryTiles tiles(leaves);
  for (const uint64_t size : {1, 2, 3, 7, 8, 255, 256, 257, 511, 512, 513, 600}) {
    const TreeHash root = tree_hash(std::span(leaves).first(size));
    EXPECT_EQ(*tree_root(tiles, size), root);
    for (uint64_t k = 0; k < size; k += size < 20 ? 1 : 13) {
      const auto proof = inclusion_proof(tiles, k, size);
      ASSERT_TRUE(proof.ok());
      EXPECT_TRUE(check_inclusion(leaves[k], k, size, root, *proof).ok()) << k << " of " << size;
    }
    for (uint64_t old = 0; old <= size; old += size < 20 ? 1 : 17) {
      const auto proof = consistency_proof(tiles, old, size);
      ASSERT_TRUE(proof.ok());
      const TreeHash old_root = tree_hash(std::span(leaves).first(old));
      EXPECT_TRUE(check_consistency(old, old_root, size, root, *proof).ok()) << old << " to " << size;
    }
  }
  EXPECT_FALSE(inclusion_proof(tiles, 5, 5).ok());
  EXPECT_FALSE(consistency_proof(tiles, 6, 5).ok());
}

TEST(Merkle, AFalseProofOfInclusionIsRefused) {
  const std::vector<TreeHash> leaves = made_up_leaves(13);
  MemoryTiles tiles(leaves);
  const TreeHash root = tree_hash(leaves);
  for (uint64_t k = 0; k < 13; ++k) {
    const std::vector<TreeHash> good = *inclusion_proof(tiles, k, 13);
    for (size_t j = 0; j < good.size(); ++j) {
      std::vector<TreeHash> bad = good;
      bad[j][0] ^= 1;
      EXPECT_NE(refusal(check_inclusion(leaves[k], k, 13, root, bad)).find("does not lead"), std::string::npos);
    }
    std::vector<TreeHash> longer = good, shorter(good.begin(), good.end() - 1);
    longer.push_back(root);
    EXPECT_NE(refusal(check_inclusion(leaves[k], k, 13, root, longer)).find("too long"), std::string::npos);
    EXPECT_NE(refusal(check_inclusion(leaves[k], k, 13, root, shorter)).find("too short"), std::string::npos);
    EXPECT_FALSE(check_inclusion(leaves[(k + 1) % 13], k, 13, root, good).ok());
    EXPECT_FALSE(check_inclusion(leaves[k], (k + 1) % 13, 13, root, good).ok());
  }
  EXPECT_NE(refusal(check_inclusion(leaves[0], 13, 13, root, {})).find("no entry 13"), std::string::npos);
  // A node is no leaf: a proof that ends above the leaves.
  const TreeHash node = node_hash(leaves[0], leaves[1]);
  const std::vector<TreeHash> good = *inclusion_proof(tiles, 0, 13);
  EXPECT_FALSE(check_inclusion(node, 0, 13, root, std::span(good).subspan(1)).ok());
}

TEST(Merkle, AFalseProofOfConsistencyIsRefused) {
  const std::vector<TreeHash> leaves = made_up_leaves(13);
  MemoryTiles tiles(leaves);
  const TreeHash root = tree_hash(leaves);
  for (uint64_t old = 1; old < 13; ++old) {
    const TreeHash old_root = tree_hash(std::span(leaves).first(old));
    const std::vector<TreeHash> good = *consistency_proof(tiles, old, 13);
    ASSERT_FALSE(good.empty());
    for (size_t j = 0; j < good.size(); ++j) {
      std::vector<TreeHash> bad = good;
      bad[j][31] ^= 1;
      EXPECT_NE(refusal(check_consistency(old, old_root, 13, root, bad)).find("forked"), std::string::npos);
    }
    TreeHash other = old_root;
    other[3] ^= 4;
    EXPECT_FALSE(check_consistency(old, other, 13, root, good).ok());
    std::vector<TreeHash> longer = good, shorter(good.begin(), good.end() - 1);
    longer.push_back(root);
    EXPECT_NE(refusal(check_consistency(old, old_root, 13, root, longer)).find("too long"), std::string::npos);
    EXPECT_NE(refusal(check_consistency(old, old_root, 13, root, shorter)).find("too short"), std::string::npos);
  }
  EXPECT_NE(refusal(check_consistency(13, root, 12, root, {})).find("has become"), std::string::npos);
  EXPECT_TRUE(check_consistency(13, root, 13, root, {}).ok());
  EXPECT_NE(refusal(check_consistency(13, leaves[0], 13, root, {})).find("two roots"), std::string::npos);
  EXPECT_NE(refusal(check_consistency(13, root, 13, root, leaves)).find("too long"), std::string::npos);
  EXPECT_TRUE(check_consistency(0, empty_tree_hash(), 13, root, {}).ok());
  EXPECT_NE(refusal(check_consistency(0, root, 13, root, {})).find("empty log"), std::string::npos);
}

TEST(Tiles, NamesAsTheSpecificationHasThem) {
  EXPECT_EQ((TileName{.level = 0, .index = 1'234'067}.path()), "tile/0/x001/x234/067");
  std::vector<std::string> paths;
  for (const TileName& tile : tiles_of_tree(600)) paths.push_back(tile.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"tile/0/000", "tile/0/001", "tile/0/002.p/88", "tile/1/000.p/2",
                                             "tile/entries/000", "tile/entries/001", "tile/entries/002.p/88"}));
  EXPECT_TRUE(tiles_of_tree(0).empty());
  for (const std::string& path : paths) EXPECT_EQ(TileName::parse(path)->path(), path);
  EXPECT_EQ(TileName::parse("tile/0/x001/x234/067")->index, 1'234'067U);
}

TEST(Tiles, NothingElseIsAName) {
  for (const char* bad : {"",
                          "tile",
                          "tile/",
                          "tile/0",
                          "tile/0/",
                          "tile/0/0",
                          "tile/0/0000",
                          "tile/00/000",
                          "tile/8/000",
                          "tile/-1/000",
                          "tile/0/000.p/0",
                          "tile/0/000.p/256",
                          "tile/0/000.p/",
                          "tile/0/000.p/01",
                          "tile/0/x000/000",
                          "tile/0/001/000",
                          "tile/0/../000",
                          "tile/entries/../../checkpoint",
                          "tile/entries/000/",
                          "tile/0/x999/x999/x999/x999/x999/x999/999",
                          "checkpoint",
                          "/tile/0/000",
                          "tile/0/000\n",
                          "tile//000",
                          "tile/0/x001/x234/067/"})
    EXPECT_EQ(refusal(TileName::parse(bad)), "this is no tile of a log") << bad;
}

TEST(Tiles, EntriesComeBackAndNothingElseIsABundle) {
  const std::vector<Bytes> entries = {Bytes(), Bytes(300, 7), Bytes(65'535, 1)};
  const Bytes bundle = *encode_entries(entries);
  EXPECT_EQ(bundle[2], 1);
  EXPECT_EQ(bundle[3], 300 - 256);
  EXPECT_EQ(*decode_entries(bundle, 3), entries);
  EXPECT_FALSE(decode_entries(bundle, 2).ok());
  EXPECT_FALSE(decode_entries(bundle, 4).ok());
  EXPECT_FALSE(decode_entries(ByteView(bundle).first(bundle.size() - 1), 3).ok());
  EXPECT_NE(refusal(encode_entries(std::vector<Bytes>{Bytes(65'536)})).find("at most 65535"), std::string::npos);
  EXPECT_NE(refusal(decode_hashes(Bytes(33), 1)).find("has 32 bytes"), std::string::npos);
}

TEST(Tiles, AFullTileStandsForAPartialOne) {
  const std::vector<TreeHash> leaves = made_up_leaves(256);
  MemoryTiles tiles(leaves);
  tiles.gone = "tile/0/000.p/100";
  EXPECT_EQ(*tree_root(tiles, 100), tree_hash(std::span(leaves).first(100)));
  tiles.gone = "tile/0/000";
  EXPECT_EQ(refusal(tree_root(tiles, 255 + 1)), "(accepted)") << "the root of 256 is in the tile above";
  EXPECT_EQ(refusal(inclusion_proof(tiles, 3, 256)), "the log has no tile/0/000");
}

TEST(GrowingTree, HasTheRootOfEverySize) {
  GrowingTree tree;
  std::vector<TreeHash> leaves;
  EXPECT_EQ(tree.root(0), empty_tree_hash());
  for (int k = 0; k < 70; ++k) {
    leaves.push_back(leaf_hash(view(fmt::format("{}", k))));
    tree.add(leaves.back());
  }
  for (size_t size = 0; size <= 70; ++size) EXPECT_EQ(tree.root(size), tree_hash(std::span(leaves).first(size)));
}

class ReceiptTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int k = 0; k < 300; ++k) store_.queue(fmt::format("entry {}", k));
    Result<Sequencer> sequencer =
        Sequencer::open(store_, fixed_key(1), {.folder = folder_.path(), .origin = "example.com/log"});
    ASSERT_TRUE(sequencer.ok()) << refusal(sequencer);
    ASSERT_TRUE(sequencer->run().ok());
    const Bytes file = **tiles_.read("checkpoint", kMaxNoteBytes);
    checkpoint_ = *Note::parse(std::string(file.begin(), file.end()));
  }

  TestFolder folder_{"receipts"};
  MemoryLogStore store_;
  TileFolder tiles_{folder_.path()};
  Note checkpoint_;
  Policy policy_ = Policy::of_log(log_key("example.com/log", fixed_key(1)));
};

TEST_F(ReceiptTest, IsCheckedOffline) {
  const Receipt made = *make_receipt(tiles_, 270, checkpoint_);
  const std::string text = made.encode();
  EXPECT_TRUE(text.starts_with("c2sp.org/tlog-proof@v1\nextra ZW50cnkgMjcw\nindex 270\n"));
  const Receipt receipt = *Receipt::parse(text);
  EXPECT_EQ(receipt.encode(), text);
  EXPECT_EQ(*receipt.entry, Bytes({'e', 'n', 't', 'r', 'y', ' ', '2', '7', '0'}));
  EXPECT_TRUE(check_receipt(receipt, *receipt.entry, policy_).ok());
  EXPECT_FALSE(check_receipt(receipt, view("entry 271"), policy_).ok());
  Receipt moved = receipt;
  moved.index = 271;
  EXPECT_FALSE(check_receipt(moved, *receipt.entry, policy_).ok());
  const Policy stranger = Policy::of_log(log_key("example.com/log", fixed_key(2)));
  EXPECT_NE(refusal(check_receipt(receipt, *receipt.entry, stranger)).find("no log of the policy"), std::string::npos);
}

TEST_F(ReceiptTest, HasOneForm) {
  const std::string text = make_receipt(tiles_, 0, checkpoint_)->encode();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    out.replace(out.find(from), from.size(), to);
    return refusal(Receipt::parse(out));
  };
  EXPECT_NE(with("tlog-proof@v1", "tlog-proof@v2").find("no receipt"), std::string::npos);
  EXPECT_NE(with("index 0", "index 00").find("no index"), std::string::npos);
  EXPECT_NE(with("index 0\n", "").find("no index"), std::string::npos);
  EXPECT_NE(with("extra ", "extra ?").find("extra line"), std::string::npos);
  EXPECT_NE(with("index 0\n", "index 0\nAAAA\n").find("no hash"), std::string::npos);
  const std::string hash = to_base64(TreeHash{}) + "\n";
  std::string many;
  for (int k = 0; k < 64; ++k) many += hash;
  EXPECT_NE(with("index 0\n", "index 0\n" + many).find("more than 63"), std::string::npos);
  EXPECT_NE(refusal(Receipt::parse(text.substr(0, text.find("\n\n") + 1))).find("no checkpoint"), std::string::npos);
  EXPECT_NE(with("extra ", "extra " + to_base64(Bytes(65'535, 1))).find("more than 65535 bytes"), std::string::npos);
  EXPECT_NE(refusal(Receipt::parse(std::string(200'001, 'a'))).find("at most 200000"), std::string::npos);
}

TEST_F(ReceiptTest, EntriesAreThoseOfTheRoot) {
  const TreeHead head = *TreeHead::parse(checkpoint_.text);
  EXPECT_EQ(*read_entry(tiles_, 299, 300, head.root), Bytes({'e', 'n', 't', 'r', 'y', ' ', '2', '9', '9'}));
  std::vector<Bytes> entries = *read_entries(tiles_, entries_of(299, 300));
  entries[43] = Bytes({'x'});
  ASSERT_TRUE(write_file(folder_.path() / "tile/entries/001.p/44", *encode_entries(entries), {.overwrite = true}).ok());
  EXPECT_NE(refusal(read_entry(tiles_, 299, 300, head.root)).find("does not lead"), std::string::npos);
  EXPECT_FALSE(make_receipt(tiles_, 299, checkpoint_).ok());
}

}  // namespace
}  // namespace zkapex
