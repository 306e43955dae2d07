#include "weights/safetensors.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/json.h"

namespace zkapex {

namespace {

// Accepts exactly {"__metadata__": {text: text}, name: {"dtype": text, "shape": [u64], "data_offsets": [u64, u64]}}.
// The first event that does not fit stops the parser, so nesting never grows. nlohmann's own tree would silently
// keep the last of two equal keys.
class HeaderHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderHandler(SafetensorsHeader& out) : out_(out) {}
  [[nodiscard]] const std::string& problem() const { return problem_; }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a boolean"); }
  bool number_integer(int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) override {
    return unexpected("a number that is not an unsigned 64-bit integer");
  }
  bool binary(nlohmann::json::binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(uint64_t v) override {
    if (at_ == At::kShape) {
      entry_.info.shape.push_back(v);
    } else if (at_ == At::kOffsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry_.begin : entry_.end) = v;
    } else {
      return unexpected("a number");
    }
    return true;
  }

  bool string(std::string& v) override {
    if (at_ == At::kMetadata) {
      out_.metadata[key_] = v;
      return true;
    }
    if (at_ != At::kDtype) return unexpected("a string");
    const auto dtype = dtype_from_name(v);
    if (!dtype) return fail(fmt::format("{} has the unknown element type '{}'", where(), v));
    entry_.info.dtype = *dtype;
    at_ = At::kTensor;
    return true;
  }

  bool start_object(size_t) override {
    if (at_ == At::kStart) return enter(At::kTop);
    if (at_ == At::kMetadataValue) return enter(At::kMetadata);
    if (at_ == At::kTensorValue) return enter(At::kTensor);
    return unexpected("an object");
  }

  bool key(std::string& v) override {
    if (at_ == At::kTop) {
      if (!names_.insert(v).second) return fail(fmt::format("the key '{}' appears twice", v));
      entry_ = {};
      entry_.info.name = v;
      fields_.clear();
      return enter(v == "__metadata__" ? At::kMetadataValue : At::kTensorValue);
    }
    if (at_ == At::kMetadata) {
      if (out_.metadata.contains(v)) return fail(fmt::format("the metadata key '{}' appears twice", v));
      key_ = v;
      out_.metadata[v];  // so that a repeated key is seen whatever its first value was
      return true;
    }
    if (!fields_.insert(v).second) return fail(fmt::format("{} has '{}' twice", where(), v));
    if (v == "dtype") return enter(At::kDtype);
    if (v == "shape") return enter(At::kShapeValue);
    if (v == "data_offsets") return enter(At::kOffsetsValue);
    return fail(fmt::format("{} has the unknown field '{}'", where(), v));
  }

  bool end_object() override {
    if (at_ == At::kTensor) {
      for (const char* field : {"dtype", "shape", "data_offsets"})
        if (!fields_.contains(field)) return fail(fmt::format("{} has no '{}'", where(), field));
      out_.tensors.push_back(std::move(entry_));
    }
    return enter(at_ == At::kTop ? At::kEnd : At::kTop);
  }

  bool start_array(size_t) override {
    offsets_ = 0;
    if (at_ == At::kShapeValue) return enter(At::kShape);
    if (at_ == At::kOffsetsValue) return enter(At::kOffsets);
    return unexpected("an array");
  }

  bool end_array() override {
    if (at_ == At::kOffsets && offsets_ != 2)
      return fail(fmt::format("{}: data_offsets must hold two numbers", where()));
    return enter(At::kTensor);
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) override {
    return fail(fmt::format("not valid JSON near byte {} of the header", position));
  }

 private:
  // Where in the grammar; a "Value" state waits for the object or array that belongs to the key just read.
  enum class At {
    kStart,
    kTop,
    kMetadataValue,
    kMetadata,
    kTensorValue,
    kTensor,
    kDtype,
    kShapeValue,
    kShape,
    kOffsetsValue,
    kOffsets,
    kEnd,
  };

  bool enter(At at) {
    at_ = at;
    return true;
  }
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  [[nodiscard]] std::string where() const {
    if (at_ == At::kMetadata || at_ == At::kMetadataValue) return "__metadata__";
    return entry_.info.name.empty() && names_.empty() ? "the header" : fmt::format("tensor '{}'", entry_.info.name);
  }
  bool unexpected(std::string_view what) { return fail(fmt::format("{}: {} where none belongs", where(), what)); }

  SafetensorsHeader& out_;
  At at_ = At::kStart;
  SafetensorsHeader::Entry entry_;
  std::set<std::string> names_, fields_;
  std::string key_, problem_;
  int offsets_ = 0;
};

// The bytes between header and end of file, each used exactly once. Turns data offsets into file offsets.
Status place_tensors(SafetensorsHeader& header, uint64_t data_start, uint64_t file_size) {
  using Entry = SafetensorsHeader::Entry;
  std::sort(header.tensors.begin(), header.tensors.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.info.name) < std::tie(b.begin, b.end, b.info.name);
  });
  uint64_t next = 0;
  for (Entry& t : header.tensors) {
    if (t.end < t.begin) return error("tensor '{}': it ends at {} before it begins at {}", t.info.name, t.end, t.begin);
    if (t.begin != next)
      return error("tensor '{}' begins at data offset {}, but the one before it ends at {}: {}", t.info.name, t.begin,
                   next, t.begin < next ? "they overlap" : "there is a hole");
    ZKAPEX_TRY(const uint64_t bytes, byte_count(t.info));
    if (t.end - t.begin != bytes)
      return error("tensor '{}': shape and type need {} bytes, data_offsets give {}", t.info.name, bytes,
                   t.end - t.begin);
    next = t.end;
  }
  const uint64_t present = file_size - data_start;
  if (next != present) return error("the tensors take {} bytes after the header, the file has {}", next, present);
  for (Entry& t : header.tensors) {
    t.begin += data_start;
    t.end += data_start;
  }
  return Done{};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors(ByteView file) {
  if (file.size() < 8) return error("not a safetensors file: {} bytes, the header length alone takes 8", file.size());
  ByteReader reader(file);
  ZKAPEX_TRY(const uint64_t length, reader.u64());
  if (length > SafetensorsHeader::kMaxLength)
    return error("not a safetensors file: a header of {} bytes is over the limit of {}", length,
                 SafetensorsHeader::kMaxLength);
  if (length > reader.left()) return error("truncated: the header takes {} bytes, {} are left", length, reader.left());
  const ByteView text = file.subspan(8, length);
  if (text.empty() || text.front() != '{') return error("the header does not start with '{{'");
  // nlohmann's lexer takes a NUL for the end of its input, and would not look at what follows.
  if (const auto nul = std::find(text.begin(), text.end(), uint8_t{0}); nul != text.end())
    return error("a NUL at byte {} of the header", nul - text.begin());
  const auto last = std::find_if(text.rbegin(), text.rend(), [](uint8_t c) { return c != ' '; });
  if (*last != '}') return error("the header does not end with '}}' and spaces");

  SafetensorsHeader header;
  HeaderHandler handler(header);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) return error("{}", handler.problem());
  ZKAPEX_CHECK(place_tensors(header, 8 + length, file.size()));
  return header;
}

namespace {

// JSON text of a string; an error when it is not UTF-8.
Result<std::string> quoted(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    return error("a tensor name or metadata entry is not UTF-8");
  }
}

}  // namespace

Result<SafetensorsPlan> plan_safetensors(const std::vector<TensorInfo>& tensors, const Metadata& metadata) {
  SafetensorsPlan plan;
  plan.order.resize(tensors.size());
  std::iota(plan.order.begin(), plan.order.end(), size_t{0});
  std::sort(plan.order.begin(), plan.order.end(), [&](size_t a, size_t b) {
    const uint64_t size_a = dtype_size(tensors[a].dtype), size_b = dtype_size(tensors[b].dtype);
    return size_a != size_b ? size_a > size_b : tensors[a].name < tensors[b].name;
  });

  std::string json = "{";
  if (!metadata.empty()) {
    json += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      ZKAPEX_TRY(const std::string key_text, quoted(key));
      ZKAPEX_TRY(const std::string value_text, quoted(value));
      json += fmt::format("{}{}:{}", json.ends_with('{') ? "" : ",", key_text, value_text);
    }
    json += '}';
  }
  std::set<std::string> names = {"__metadata__"};
  for (const size_t k : plan.order) {
    const TensorInfo& info = tensors[k];
    if (!names.insert(info.name).second) return error("two tensors are named '{}'", info.name);
    ZKAPEX_TRY(const std::string name, quoted(info.name));
    ZKAPEX_TRY(const uint64_t bytes, byte_count(info));
    const uint64_t begin = plan.data_bytes;
    if (__builtin_add_overflow(begin, bytes, &plan.data_bytes)) return error("the tensors overflow 64 bits in size");
    json += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", json.size() > 1 ? "," : "",
                        name, dtype_name(info.dtype), fmt::join(info.shape, ","), begin, plan.data_bytes);
  }
  json += '}';
  json.resize((json.size() + 7) / 8 * 8, ' ');
  if (json.size() > SafetensorsHeader::kMaxLength) return error("the header would take {} bytes", json.size());

  ByteWriter writer;
  writer.u64(json.size());
  writer.raw(view(json));
  plan.header = writer.take();
  return plan;
}

}  // namespace zkapex
