#include "learning/tensor_files.h"

#include "learning/torch.h"

namespace zkapex {

namespace {

template <class T>
Result<Tensor> read_as(const TensorView& view, at::ScalarType dtype) {
  const std::vector<int64_t> shape(view.shape().begin(), view.shape().end());
  const Tensor out = at::empty(shape, dtype);
  ZKAPEX_CHECK(view.read(0, std::span<T>(static_cast<T*>(out.data_ptr()), view.count())));
  return out;
}

Result<Dtype> dtype_of(const Parameter& tensor) {
  switch (tensor.value.scalar_type()) {
    case at::kFloat:
      return Dtype::kF32;
    case at::kDouble:
      return Dtype::kF64;
    case at::kByte:
      return Dtype::kU8;
    case at::kLong:
      return Dtype::kI64;
    default:
      return error("tensor '{}' has a type that is not written", tensor.name);
  }
}

}  // namespace

Result<Tensor> read_tensor(const TensorView& view) {
  return catch_torch([&]() -> Result<Tensor> {
    switch (view.dtype()) {
      case Dtype::kF64:
        return read_as<double>(view, at::kDouble);
      case Dtype::kF32:
      case Dtype::kF16:
      case Dtype::kBF16:
        return read_as<float>(view, at::kFloat);
      default:
        return read_as<int64_t>(view, at::kLong);
    }
  });
}

Status write_tensors(const std::filesystem::path& path, const std::vector<Parameter>& tensors,
                     const Metadata& metadata) {
  return catch_torch([&]() -> Status {
    std::vector<TensorSource> sources;
    for (const Parameter& tensor : tensors) {
      ZKAPEX_TRY(const Dtype dtype, dtype_of(tensor));
      TensorInfo info{tensor.name, dtype, {tensor.value.sizes().begin(), tensor.value.sizes().end()}};
      const auto write = [value = tensor.value](const ByteSink& sink) {
        const Tensor local = value.detach().cpu().contiguous();
        return sink({static_cast<const uint8_t*>(local.data_ptr()), local.nbytes()});
      };
      sources.push_back({std::move(info), write});
    }
    return write_checkpoint(path, sources, metadata,
                            {.overwrite = true, .secret = true});  // trained on somebody's data
  });
}

}  // namespace zkapex
