// A tensor as a checkpoint stores it: name, element type, shape, and bytes that belong to someone else.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace zkapex {

// The element types of the safetensors format. Only the floating-point ones up to F64 convert to numbers.
enum class Dtype : uint8_t {
  kBool,
  kU8,
  kI8,
  kF8E4M3,
  kF8E5M2,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};

[[nodiscard]] std::string_view dtype_name(Dtype dtype);
[[nodiscard]] std::optional<Dtype> dtype_from_name(std::string_view name);
[[nodiscard]] uint64_t dtype_size(Dtype dtype);
[[nodiscard]] bool holds_weights(Dtype dtype);  // F16, BF16, F32 or F64

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<uint64_t> shape;  // row-major; empty for a scalar

  bool operator==(const TensorInfo&) const = default;
};

// Number of elements and of bytes; an error that names the tensor when it does not fit 64 bits.
[[nodiscard]] Result<uint64_t> element_count(const TensorInfo& info);
[[nodiscard]] Result<uint64_t> byte_count(const TensorInfo& info);

// A tensor of an open checkpoint. The bytes live as long as the checkpoint does, and need not be aligned.
class TensorView {
 public:
  // Only with data.size() == byte_count(info): what the readers of this room guarantee. `mapped`: of a MappedFile.
  TensorView(TensorInfo info, ByteView data, bool mapped = false)
      : info_(std::move(info)), data_(data), mapped_(mapped) {}

  [[nodiscard]] const TensorInfo& info() const { return info_; }
  [[nodiscard]] const std::string& name() const { return info_.name; }
  [[nodiscard]] Dtype dtype() const { return info_.dtype; }
  [[nodiscard]] const std::vector<uint64_t>& shape() const { return info_.shape; }
  [[nodiscard]] uint64_t count() const { return data_.size() / dtype_size(info_.dtype); }
  [[nodiscard]] ByteView data() const { return data_; }

  // Elements first .. first + out.size() - 1, exactly. F16, BF16 and F32 convert to either type, F64 to double only
  // (a rounded weight would be another model); other types are an error.
  Status read(uint64_t first, std::span<float> out) const;
  Status read(uint64_t first, std::span<double> out) const;
  // The integer types and BOOL; a U64 above the range of int64 is an error.
  Status read(uint64_t first, std::span<int64_t> out) const;

  // These elements are not read again soon: see forget_mapped.
  void forget(uint64_t first, uint64_t count) const;
  // All bytes in order, some at a time, none of which stays in memory.
  Status for_pieces(const std::function<Status(ByteView)>& visit) const;

  Result<std::vector<float>> floats() const { return all<float>(); }
  Result<std::vector<double>> doubles() const { return all<double>(); }
  Result<std::vector<int64_t>> integers() const { return all<int64_t>(); }

 private:
  template <class T>
  Result<std::vector<T>> all() const {
    std::vector<T> out(count());
    ZKAPEX_CHECK(read(0, std::span<T>(out)));
    return out;
  }
  Status check_range(uint64_t first, uint64_t length) const;
  Error no_conversion(std::string_view target) const;

  TensorInfo info_;
  ByteView data_;
  bool mapped_;
};

// Numbers as elements of a floating-point type, little-endian, rounded to nearest, ties to even; beyond the type's
// range they become infinite, as IEEE 754 says. An error for other types. Appends to `out`.
Status append_elements(Dtype dtype, std::span<const double> values, Bytes& out);

}  // namespace zkapex
