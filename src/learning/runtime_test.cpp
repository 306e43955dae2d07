#include "learning/runtime.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Runtime, RefusesWhatIsNotThere) {
  EXPECT_NE(refusal(model_digests("/no/such/folder")).find("cannot be read"), std::string::npos);
  EXPECT_NE(refusal(placement_on("meta")).find("'meta' is not supported"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
