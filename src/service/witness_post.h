// How the log asks its witnesses: by libcurl, for ten seconds at most.
#pragma once

#include "log/witness.h"

namespace zkapex {

[[nodiscard]] Result<HttpAnswer> post_to_witness(const std::string& url, const std::string& body);

}  // namespace zkapex
