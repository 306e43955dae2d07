#include "weights/layout.h"

#include <gtest/gtest.h>

#include <set>

#include "weights/segments.h"

namespace zkapex {
namespace {

// Blocks of 3 at stride 4, rows of 16: tensors of 7, 12, 30, 1 covered weights and some that are not.
const std::vector<TensorInfo> kTensors = {{"head", Dtype::kF32, {17}},    {"m.1.w", Dtype::kF32, {7}},
                                          {"m.0.w", Dtype::kF16, {3, 4}}, {"m.10.w", Dtype::kF32, {5, 6}},
                                          {"m.2.w", Dtype::kF32, {1, 1}}, {"scalar", Dtype::kF32, {}},
                                          {"m.3.w", Dtype::kF32, {0, 9}}, {"embed", Dtype::kF32, {2, 4, 4}}};
const Geometry kGeometry{.block = 3, .row = 16};

Layout small() {
  auto layout = Layout::make(kTensors, {"m.{i}.w"}, kGeometry);
  EXPECT_TRUE(layout.ok());
  return *layout;
}

TEST(Layout, OrdersByNameAndCountsRows) {
  const Layout layout = small();
  std::vector<std::string> names;
  for (const LayoutTensor& t : layout.tensors()) names.push_back(t.name);
  EXPECT_EQ(names, (std::vector<std::string>{"embed", "head", "m.0.w", "m.1.w", "m.10.w", "m.2.w", "m.3.w", "scalar"}));
  EXPECT_EQ(layout.coordinates(), 12U + 7 + 30 + 1);
  EXPECT_EQ(layout.rows(), 1U + 1 + 3 + 1);        // ceil(ceil(count / 3) * 4 / 16)
  EXPECT_EQ(layout.unchanged_rows(), 2U + 2 + 1);  // embed 32, head 17, scalar 1
  EXPECT_EQ(layout.slots(), 24U);
  EXPECT_EQ(layout.blocks(), 4U + 3 + 10 + 1);
  const LayoutTensor& t = layout.tensors()[3];
  EXPECT_EQ(t.first_coordinate, 12U);
  EXPECT_EQ(t.first_slot, 4U);
  EXPECT_EQ(t.full_blocks, 2U);
  EXPECT_EQ(t.rest, 1U);
}

// 64-bit integers that are not covered take two entries each, and a reader of the layout knows it.
TEST(Layout, SplitTensorsTakeTwoEntriesAnElement) {
  const std::vector<TensorInfo> tensors = {
      {"a", Dtype::kF32, {3}}, {"i", Dtype::kI64, {9}}, {"j", Dtype::kI32, {9}}, {"u", Dtype::kU64, {8}}};
  const auto layout = Layout::make(tensors, {"a"}, kGeometry);
  ASSERT_TRUE(layout.ok());
  ByteWriter out;
  layout->serialize(out);
  ByteReader in(out.bytes());
  const auto parsed = Layout::parse(in);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->digest(), layout->digest());
  for (const Layout& each : {*layout, *parsed}) {
    EXPECT_EQ(each.unchanged_rows(), 2U + 1 + 1);
    EXPECT_TRUE(each.tensors()[1].split && !each.tensors()[2].split && each.tensors()[3].split);
    EXPECT_EQ(each.tensors()[3].first_row, 3U);
  }
}

TEST(Layout, NumberingsAgree) {
  const Layout layout = small();
  std::set<uint64_t> real;
  uint64_t coordinate = 0;
  for (const size_t k : layout.covered()) {
    const LayoutTensor& t = layout.tensors()[k];
    for (uint64_t e = 0; e < t.count; ++e, ++coordinate) {
      const uint64_t padded = t.first_row * 16 + e / 3 * 4 + e % 3;
      EXPECT_EQ(layout.place(coordinate).tensor, k);
      EXPECT_EQ(layout.place(coordinate).element, e);
      EXPECT_EQ(layout.padded_index(coordinate), padded);
      EXPECT_EQ(layout.coordinate(padded), coordinate);
      real.insert(padded);
      ASSERT_TRUE(layout.block_in_slot(padded / 4).has_value());
      const Layout::Block block = layout.block(*layout.block_in_slot(padded / 4));
      EXPECT_EQ(block.slot, padded / 4);
      EXPECT_EQ(block.tensor, k);
      EXPECT_EQ(block.first + padded % 4, e);
      EXPECT_LT(padded % 4, block.count);
    }
  }
  EXPECT_EQ(coordinate, layout.coordinates());
  for (uint64_t i = 0; i < layout.padded_size() + 5; ++i) EXPECT_EQ(layout.coordinate(i).has_value(), real.contains(i));
  uint64_t next = 0;  // Fisher blocks are numbered by slot
  for (uint64_t slot = 0; slot < layout.slots(); ++slot)
    if (const auto block = layout.block_in_slot(slot)) {
      EXPECT_EQ(*block, next++);
    }
  EXPECT_EQ(next, layout.blocks());
  EXPECT_FALSE(layout.block_in_slot(layout.slots()).has_value());
}

// Every way to cut six rows: the pieces are exactly the real coordinates.
TEST(Layout, SegmentPiecesAreTheRealCoordinates) {
  const Layout layout = small();
  for (unsigned cuts = 0; cuts < 32; ++cuts) {
    Segmentation parts = {1};
    for (unsigned k = 0; k < 5; ++k) {
      if ((cuts >> k & 1U) != 0) parts.push_back(0);
      ++parts.back();
    }
    const auto segments = make_segments(layout, parts);
    ASSERT_TRUE(segments.ok());
    std::set<uint64_t> real;
    for (const Segment& s : *segments) {
      for (const SegmentPiece& p : s.pieces) {
        for (uint64_t b = 0; b < std::max<uint64_t>(p.full_blocks, 1); ++b)
          for (uint64_t j = 0; j < (p.rest > 0 ? p.rest : 3); ++j)
            EXPECT_TRUE(real.insert((s.first_slot + p.first_slot + b) * 4 + j).second);
      }
    }
    EXPECT_EQ(real.size(), layout.coordinates());
    for (const uint64_t i : real) EXPECT_TRUE(layout.coordinate(i).has_value());
  }
}

TEST(Layout, SegmentationMustCoverEveryRowOnce) {
  const Layout layout = small();
  EXPECT_TRUE(make_segments(layout, {6}).ok());
  for (const Segmentation& bad : {Segmentation{}, {5}, {7}, {6, 1}, {3, 0, 3}, {~uint64_t{0}, 7}})
    EXPECT_FALSE(make_segments(layout, bad).ok());
  EXPECT_EQ(cut_rows(10, 4), (Segmentation{3, 3, 4}));
  EXPECT_EQ(cut_rows(6, 100), (Segmentation{6}));
  EXPECT_EQ(cut_rows(3, 0), (Segmentation{1, 1, 1}));
}

TEST(Layout, SerializationIsCanonical) {
  const Layout layout = small();
  ByteWriter out;
  layout.serialize(out);
  ByteReader in(out.bytes());
  const auto back = Layout::parse(in);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(in.finish().ok());
  EXPECT_EQ(back->digest(), layout.digest());
  EXPECT_EQ(back->rows(), layout.rows());
  // Every changed byte is refused or gives another layout; every truncation is refused.
  for (size_t at = 0; at < out.bytes().size(); ++at) {
    Bytes changed = out.bytes();
    changed[at] ^= 1;
    ByteReader reader(changed);
    const auto other = Layout::parse(reader);
    if (other.ok() && reader.finish().ok()) {
      EXPECT_NE(other->digest(), layout.digest()) << at;
    }
    ByteReader cut(ByteView(out.bytes()).first(at));
    EXPECT_FALSE(Layout::parse(cut).ok()) << at;
  }
}

// Bytes that are in the form of a layout and yet none.
TEST(Layout, RefusesOtherContents) {
  struct Tensor {
    std::string name;
    uint8_t covered;
    std::vector<uint64_t> shape;
  };
  const auto reason = [](uint32_t count, const std::vector<Tensor>& tensors) {
    ByteWriter out;
    out.u64(kGeometry.block);
    out.u64(kGeometry.row);
    out.u32(count);
    for (const Tensor& t : tensors) {
      out.text(t.name);
      out.u8(t.covered);
      out.u8(static_cast<uint8_t>(t.shape.size()));
      for (const uint64_t dim : t.shape) out.u64(dim);
    }
    ByteReader in(out.bytes());
    const auto layout = Layout::parse(in);
    return layout.ok() ? "" : layout.error().message;
  };
  const auto says = [](const std::string& message, std::string_view what) {
    return message.find(what) != std::string::npos;
  };
  EXPECT_EQ(reason(1, {{"a", 1, {5}}}), "");
  EXPECT_TRUE(says(reason(1, {{"a", 3, {5}}}), "kind is 3"));
  EXPECT_TRUE(says(reason(2, {{"a", 1, {5}}, {"a", 1, {5}}}), "does not come after"));
  EXPECT_TRUE(says(reason(2, {{"b", 1, {5}}, {"a", 1, {5}}}), "does not come after"));
  EXPECT_TRUE(says(reason(1, {{"a", 1, std::vector<uint64_t>(17, 1)}}), "dimensions"));
  EXPECT_TRUE(says(reason(1, {{"a", 1, {Layout::kMaxPadded + 1}}}), "weights, over"));
  EXPECT_TRUE(says(reason(2, {{"a", 1, {5}}, {"b", 0, {Layout::kMaxPadded + 1}}}), "weights, over"));
  EXPECT_TRUE(says(reason(2, {{"a", 1, {1ULL << 39}}, {"b", 1, {1ULL << 39}}}), "with padding"));
  EXPECT_TRUE(says(reason(1, {{"a", 1, {0}}}), "covers no weight"));
  EXPECT_TRUE(says(reason(0, {}), "covers no weight"));
  // Said before any of them is read.
  EXPECT_TRUE(says(reason(Layout::kMaxTensors + 1, {}), "over the limit"));
}

TEST(Layout, RefusesWhatIsOutsideTheSupportedSet) {
  EXPECT_FALSE(Layout::make(kTensors, {"nothing"}, kGeometry).ok());
  EXPECT_FALSE(Layout::make(kTensors, {"m.3.w"}, kGeometry).ok());  // covers an empty tensor only
  EXPECT_FALSE(Layout::make({{"a", Dtype::kF32, {1}}, {"a", Dtype::kF32, {1}}}, {"a"}, kGeometry).ok());
  EXPECT_FALSE(Layout::make({{"a", Dtype::kF32, {1ULL << 41}}}, {"a"}, kGeometry).ok());
  EXPECT_FALSE(Layout::make({{"a", Dtype::kF32, {1ULL << 33, 1ULL << 33}}}, {"a"}, kGeometry).ok());
  EXPECT_FALSE(Layout::make({{"a", Dtype::kF32, std::vector<uint64_t>(17, 1)}}, {"a"}, kGeometry).ok());
  EXPECT_FALSE(Layout::make({{std::string(70'000, 'a'), Dtype::kF32, {1}}}, {"*"}, kGeometry).ok());
  for (const Geometry& bad : {Geometry{0, 16}, {1025, 1 << 22}, {3, 2}, {3, 24}, {5, 4}, {256, 128}, {2, 1 << 23}})
    EXPECT_FALSE(bad.check().ok()) << bad.block << " " << bad.row;
  for (const Geometry& good : {Geometry{256, 1 << 16}, {256, 256}, {1, 1}, {3, 4}, {576, 1024}})
    EXPECT_TRUE(good.check().ok());
}

TEST(Layout, ChecksTheTensorsOfACheckpoint) {
  const auto layout = Layout::make({{"a", Dtype::kF32, {2}}, {"b", Dtype::kF32, {1}}}, {"a"}, kGeometry);
  ASSERT_TRUE(layout.ok());
  const Bytes data(8);
  const auto tensor = [&](const char* name, uint64_t count) {
    return TensorView({name, Dtype::kF16, {count}}, ByteView(data).first(2 * count));
  };
  const auto reason = [&](const std::vector<TensorView>& tensors) {
    const Status status = layout->check_tensors(tensors);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(reason({tensor("a", 2), tensor("b", 1)}), "");
  EXPECT_NE(reason({tensor("a", 2)}).find("lacks tensor 'b'"), std::string::npos);
  EXPECT_NE(reason({tensor("b", 1)}).find("lacks tensor 'a'"), std::string::npos);
  EXPECT_NE(reason({tensor("a", 2), tensor("aa", 1), tensor("b", 1)}).find("'aa' of the checkpoint"),
            std::string::npos);
  EXPECT_NE(reason({tensor("a", 2), tensor("b", 1), tensor("c", 1)}).find("'c' of the checkpoint"), std::string::npos);
  EXPECT_NE(reason({tensor("a", 1), tensor("b", 1)}).find("shape"), std::string::npos);
}

TEST(Layout, ChecksTheCoveredTensorsOfACheckpoint) {
  const TensorInfo tensors[] = {{"a", Dtype::kF32, {2}}, {"b", Dtype::kF32, {1}}, {"c", Dtype::kF32, {1}}};
  const auto layout = Layout::make({tensors[0], tensors[1], tensors[2]}, {"b"}, kGeometry);
  ASSERT_TRUE(layout.ok());
  const Bytes data(8);
  const auto reason = [&](const std::vector<TensorInfo>& infos) {
    std::vector<TensorView> views;
    for (const TensorInfo& info : infos) views.emplace_back(info, ByteView(data).first(4 * info.shape[0]));
    const Status status = layout->check_covered(views);
    return status.ok() ? "" : status.error().message;
  };
  EXPECT_EQ(reason({tensors[0], tensors[1], tensors[2]}), "");
  EXPECT_EQ(reason({tensors[1]}), "");
  EXPECT_EQ(reason({tensors[1], tensors[2]}), "");
  EXPECT_NE(reason({tensors[0], tensors[2]}).find("lacks tensor 'b'"), std::string::npos);
  EXPECT_NE(reason({tensors[0]}).find("lacks tensor 'b'"), std::string::npos);
  EXPECT_NE(reason({tensors[1], {"d", Dtype::kF32, {1}}}).find("'d' of the checkpoint"), std::string::npos);
  EXPECT_NE(reason({{"b", Dtype::kF32, {2}}}).find("shape"), std::string::npos);
}

TEST(Layout, VitB16HasTheKnownSize) {
  std::vector<TensorInfo> tensors;
  for (int i = 0; i < 12; ++i) {
    tensors.push_back({fmt::format("vit.encoder.layer.{}.intermediate.dense.weight", i), Dtype::kF32, {3072, 768}});
    tensors.push_back({fmt::format("vit.encoder.layer.{}.output.dense.weight", i), Dtype::kF32, {768, 3072}});
  }
  const auto layout = Layout::make(tensors, *cover_preset("vit"), {.block = 256, .row = 1 << 17});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->coordinates(), 56'623'104U);
  EXPECT_EQ(layout->blocks(), 221'184U);
  EXPECT_EQ(layout->rows(), 432U);
}

}  // namespace
}  // namespace zkapex
