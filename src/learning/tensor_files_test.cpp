#include "learning/tensor_files.h"
#include "learning/torch.h"

#include "base/result_testing.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(TensorFiles, TypesThatAreRefused) {
  const TemporaryDirectory directory("tensor_files");
  EXPECT_NE(refusal(write_tensors(directory.path() / "t.safetensors", {{"t", at::zeros({2}, at::kHalf)}}))
                .find("'t' has a type that is not written"),
            std::string::npos);
  const Bytes bytes(2);
  EXPECT_NE(refusal(read_tensor({{"t", Dtype::kF8E4M3, {2}}, bytes})).find("tensor 't'"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
