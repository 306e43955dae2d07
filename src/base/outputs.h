// What a command is going to write, looked at before it does any work.
#pragma once

#include <vector>

#include "base/files.h"

namespace zkapex {

// An error where an output is an input, or two outputs are one file, by whatever names, whether or not it may be
// replaced; and where one exists and `force` is not given. A folder or an index as an input stands for the
// checkpoint in it. Empty paths are none.
[[nodiscard]] Status check_outputs(const std::vector<Path>& outputs, const std::vector<Path>& inputs, bool force);

// An error where `output` is a record that a client or a provider keeps, also of another one: their secrets,
// registrations and commitments, and whatever lies beside them.
[[nodiscard]] Status check_no_record(const Path& output);

}  // namespace zkapex
