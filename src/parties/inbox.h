// Files that clients hand in. Nothing about them is trusted: only regular files are opened, no link is followed,
// nothing is waited for, and nothing is read that is longer than public parameters allow. Whatever is wrong is the
// client's rejection.
#pragma once

#include "argument/verdict.h"
#include "base/files.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex {

[[nodiscard]] Result<Bytes, Rejection> read_handed_in(const Path& file, size_t max_bytes);

// A folder with a folder for each client, in which clients may have put anything.
class Inbox {
 public:
  [[nodiscard]] static Result<Inbox> open(const Path& folder);

  Inbox(Inbox&& other) noexcept;
  Inbox& operator=(Inbox&& other) noexcept;
  ~Inbox();

  // Names of the folders, and of links in their place, in order.
  [[nodiscard]] Result<std::vector<std::string>> senders() const;
  [[nodiscard]] Result<Bytes, Rejection> read(const std::string& sender, const std::string& file,
                                              size_t max_bytes) const;

 private:
  Inbox(Path folder, int descriptor) : folder_(std::move(folder)), descriptor_(descriptor) {}

  Path folder_;
  int descriptor_;
};

// The longest files that a verifier has any use for: cut as finely as the format allows.
[[nodiscard]] Result<size_t> longest_proof_file(const Deployment& deployment, const Mask& mask);
[[nodiscard]] Result<size_t> longest_registration_file(const Deployment& deployment);
// Of a client that has done so many windows.
[[nodiscard]] Result<size_t> longest_update_file(const Deployment& deployment, size_t windows);

}  // namespace zkapex
