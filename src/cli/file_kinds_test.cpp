// What base/file_kind.h calls our files is what their own rooms call them.
#include <gtest/gtest.h>

#include "attestation/files.h"
#include "base/file_kind.h"
#include "curvature/store.h"
#include "parties/secret_file.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex {
namespace {

TEST(FileKinds, AreCalledTheSameEverywhere) {
  for (const FileKind& kind : {Deployment::kKind, Mask::kKind, RegistrationFile::kKind, ProofFile::kKind,
                               UpdateFile::kKind, ModelCommitment::kKind, Registered::kKind, ClientSecret::kKind})
    EXPECT_EQ(kind_of_file(view(kind.magic)), kind.name);
  const StoreHeader header{.deployment = {}, .block = 4, .bits = 8, .floor = 4, .blocks = 1};
  EXPECT_EQ(kind_of_file(header.serialize()), "a curvature store");
}

}  // namespace
}  // namespace zkapex
