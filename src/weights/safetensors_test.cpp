#include "weights/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace zkapex {
namespace {

Bytes file(std::string_view json, size_t data_bytes) {
  ByteWriter writer;
  writer.u64(json.size());
  writer.raw(view(json));
  Bytes out = writer.take();
  out.resize(out.size() + data_bytes, 0x5a);
  return out;
}

void expect_error(std::string_view json, size_t data_bytes, std::string_view reason) {
  const auto parsed = parse_safetensors(file(json, data_bytes));
  ASSERT_FALSE(parsed.ok()) << json;
  EXPECT_NE(parsed.error().message.find(reason), std::string::npos) << json << "\n" << parsed.error().message;
}

constexpr std::string_view kTwo =
    R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[3],"data_offsets":[8,14]},)"
    R"("a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"none":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}}   )";

TEST(Safetensors, ReadsAWellFormedFile) {
  const auto header = parse_safetensors(file(kTwo, 14));
  ASSERT_TRUE(header.ok()) << header.error().message;
  ASSERT_EQ(header->tensors.size(), 3U);
  const uint64_t start = 8 + kTwo.size();
  EXPECT_EQ(header->tensors[0].info, (TensorInfo{"a", Dtype::kF32, {1, 2}}));
  EXPECT_EQ(header->tensors[0].begin, start);
  EXPECT_EQ(header->tensors[1].info.name, "none");
  EXPECT_EQ(header->tensors[2].info, (TensorInfo{"b", Dtype::kF16, {3}}));
  EXPECT_EQ(header->tensors[2].end, start + 14);
  EXPECT_EQ(header->metadata, (Metadata{{"format", "pt"}}));
}

TEST(Safetensors, AcceptsTheEmptyAndTheScalar) {
  EXPECT_TRUE(parse_safetensors(file("{}", 0)).ok());
  EXPECT_TRUE(parse_safetensors(file(R"({"s":{"dtype":"I64","shape":[],"data_offsets":[0,8]}})", 8)).ok());
}

TEST(Safetensors, RefusesBadFraming) {
  for (size_t size = 0; size < 8; ++size) EXPECT_FALSE(parse_safetensors(Bytes(size)).ok());
  Bytes good = file(kTwo, 14);
  for (size_t size = 8; size < good.size(); ++size) {
    const auto parsed = parse_safetensors(ByteView(good).first(size));
    ASSERT_FALSE(parsed.ok()) << size;
    const bool header_is_cut = size < good.size() - 14;
    EXPECT_EQ(parsed.error().message.find("truncated: the header") == 0, header_is_cut) << size;
  }
  good.push_back(0);
  EXPECT_FALSE(parse_safetensors(good).ok());
  ByteWriter huge;
  huge.u64(SafetensorsHeader::kMaxLength + 1);
  EXPECT_NE(parse_safetensors(huge.bytes()).error().message.find("limit"), std::string::npos);
  ByteWriter longest;
  longest.u64(~uint64_t{0});
  EXPECT_FALSE(parse_safetensors(longest.bytes()).ok());
}

TEST(Safetensors, RefusesTextThatIsNotTheObject) {
  expect_error("", 0, "start with '{'");
  expect_error(" {}", 0, "start with '{'");
  expect_error("[]", 0, "start with '{'");
  expect_error("{}\n", 0, "end with '}'");
  expect_error("{} {}", 0, "not valid JSON");
  expect_error("{", 0, "end with '}'");
  expect_error(std::string_view("{}\0}", 4), 0, "NUL at byte 2");
  expect_error("{\"a\":}", 0, "not valid JSON");
  expect_error("{\"\xff\":{}}", 0, "not valid JSON");
  expect_error("{/**/}", 0, "not valid JSON");
  expect_error(R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},})", 1, "not valid JSON");
}

TEST(Safetensors, RefusesDuplicateKeysAtEveryLevel) {
  expect_error(
      R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
      0, "'a' appears twice");
  expect_error(R"({"__metadata__":{},"__metadata__":{}})", 0, "'__metadata__' appears twice");
  expect_error(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "'k' appears twice");
  expect_error(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0, "'dtype' twice");
  expect_error(R"({"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}})", 0, "'shape' twice");
}

TEST(Safetensors, RefusesWrongFields) {
  const auto tensor = [](std::string_view fields) { return fmt::format(R"({{"a":{{{}}}}})", fields); };
  expect_error(tensor(""), 0, "no 'dtype'");
  expect_error(tensor(R"("dtype":"U8","shape":[0])"), 0, "no 'data_offsets'");
  expect_error(tensor(R"("dtype":"U8","data_offsets":[0,0])"), 0, "no 'shape'");
  expect_error(tensor(R"("dtype":"U8","shape":[0],"data_offsets":[0,0],"extra":1)"), 0, "unknown field 'extra'");
  expect_error(tensor(R"("dtype":"F31","shape":[0],"data_offsets":[0,0])"), 0, "unknown element type 'F31'");
  expect_error(tensor(R"("dtype":8,"shape":[0],"data_offsets":[0,0])"), 0, "tensor 'a': a number where none belongs");
  expect_error(tensor(R"("dtype":null,"shape":[0],"data_offsets":[0,0])"), 0, "null");
  expect_error(tensor(R"("dtype":"U8","shape":0,"data_offsets":[0,0])"), 0, "a number where none");
  expect_error(tensor(R"("dtype":"U8","shape":[[0]],"data_offsets":[0,0])"), 0, "an array where none");
  expect_error(tensor(R"("dtype":"U8","shape":["0"],"data_offsets":[0,0])"), 0, "a string where none");
  expect_error(tensor(R"("dtype":"U8","shape":[-1],"data_offsets":[0,0])"), 0, "negative");
  expect_error(tensor(R"("dtype":"U8","shape":[1.0],"data_offsets":[0,1])"), 1, "not an unsigned");
  expect_error(tensor(R"("dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1])"), 1, "not an unsigned");
  expect_error(tensor(R"("dtype":"U8","shape":[true],"data_offsets":[0,1])"), 1, "a boolean");
  expect_error(tensor(R"("dtype":"U8","shape":[0],"data_offsets":[0])"), 0, "two numbers");
  expect_error(tensor(R"("dtype":"U8","shape":[0],"data_offsets":[0,0,0])"), 0, "a number where none");
  expect_error(tensor(R"("dtype":"U8","shape":[0],"data_offsets":{"a":0})"), 0, "an object where none");
  expect_error(R"({"a":[]})", 0, "an array where none");
  expect_error(R"({"a":"text"})", 0, "a string where none");
  expect_error(R"({"__metadata__":[]})", 0, "__metadata__: an array");
  expect_error(R"({"__metadata__":{"k":1}})", 0, "__metadata__: a number");
  expect_error(R"({"__metadata__":{"k":{}}})", 0, "__metadata__: an object");
}

TEST(Safetensors, RefusesDeepNestingAtOnce) {
  expect_error(R"({"a":)" + std::string(1'000'000, '[') + "}", 0, "an array where none");
  std::string objects = "{";
  for (int k = 0; k < 100'000; ++k) objects += "\"a\":{";
  expect_error(objects + "}", 0, "unknown field");
}

TEST(Safetensors, RefusesHolesOverlapsAndWrongSizes) {
  const auto two = [](std::string_view a, std::string_view b) {
    return fmt::format(
        R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},"b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
        a, b);
  };
  EXPECT_TRUE(parse_safetensors(file(two("[4,8]", "[0,4]"), 8)).ok());
  expect_error(two("[0,4]", "[5,9]"), 9, "hole");
  expect_error(two("[1,5]", "[5,9]"), 9, "hole");
  expect_error(two("[0,4]", "[3,7]"), 8, "overlap");
  expect_error(two("[0,4]", "[0,4]"), 4, "overlap");
  expect_error(two("[0,4]", "[4,8]"), 9, "the file has 9");
  expect_error(two("[0,4]", "[4,8]"), 7, "the file has 7");
  expect_error(two("[0,4]", "[4,9]"), 9, "need 4 bytes");
  expect_error(two("[4,0]", "[4,8]"), 8, "before it begins");
  expect_error(R"({"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0, "overflows");
  expect_error(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0, "overflows");
}

TEST(Safetensors, PlansSortedAlignedAndReadable) {
  const std::vector<TensorInfo> tensors = {
      {"z", Dtype::kF16, {3}}, {"b", Dtype::kF32, {2, 2}}, {"a\"\n", Dtype::kF32, {1}}, {"i", Dtype::kI64, {2}}};
  const auto plan = plan_safetensors(tensors, {{"made by", "test"}, {"a", ""}});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->order, (std::vector<size_t>{3, 2, 1, 0}));
  EXPECT_EQ(plan->data_bytes, 16U + 4 + 16 + 6);
  EXPECT_EQ(plan->header.size() % 8, 0U);
  Bytes whole = plan->header;
  whole.resize(whole.size() + plan->data_bytes);
  const auto header = parse_safetensors(whole);
  ASSERT_TRUE(header.ok()) << header.error().message;
  for (size_t k = 0; k < 4; ++k) EXPECT_EQ(header->tensors[k].info, tensors[plan->order[k]]);
  EXPECT_EQ(header->metadata, (Metadata{{"made by", "test"}, {"a", ""}}));

  std::vector<TensorInfo> shuffled = tensors;
  std::reverse(shuffled.begin(), shuffled.end());
  EXPECT_EQ(plan_safetensors(shuffled, {{"made by", "test"}, {"a", ""}})->header, plan->header);
}

TEST(Safetensors, PlanRefusesWhatCannotBeRead) {
  EXPECT_FALSE(plan_safetensors({{"a", Dtype::kU8, {1}}, {"a", Dtype::kF32, {1}}}, {}).ok());
  EXPECT_FALSE(plan_safetensors({{"__metadata__", Dtype::kU8, {1}}}, {}).ok());
  EXPECT_FALSE(plan_safetensors({{"\xff", Dtype::kU8, {1}}}, {}).ok());
  EXPECT_FALSE(plan_safetensors({{"a", Dtype::kU8, {1ULL << 63}}, {"b", Dtype::kU8, {1ULL << 63}}}, {}).ok());
  EXPECT_TRUE(plan_safetensors({}, {}).ok());
}

// Any changed byte of a header is refused or means other tensors: never the same file twice.
TEST(Safetensors, EveryByteOfTheHeaderMatters) {
  const Bytes good = file(kTwo, 14);
  const auto original = parse_safetensors(good);
  ASSERT_TRUE(original.ok());
  for (size_t at = 0; at < 8 + kTwo.size() - 3; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = good;
      changed[at] = static_cast<uint8_t>(changed[at] ^ (1 << bit));
      const auto parsed = parse_safetensors(changed);
      if (!parsed.ok()) continue;
      bool same = parsed->metadata == original->metadata && parsed->tensors.size() == original->tensors.size();
      for (size_t k = 0; same && k < parsed->tensors.size(); ++k)
        same = parsed->tensors[k].info == original->tensors[k].info;
      EXPECT_FALSE(same) << at << " " << bit;
    }
  }
}

}  // namespace
}  // namespace zkapex
