// What a provider that keeps digests only asks of its clients: the files that their windows and updates are verified
// against, made from the client's own folder.
#pragma once

#include "base/bytes.h"
#include "parties/client_folder.h"

namespace zkapex {

// The registration in its short form, or as the last update left it (Registered); the commitment to the current model;
// and those to the models before each window with a guide, which updates are held against. None of it is secret.
[[nodiscard]] Result<std::vector<Bytes>> carried_state(const ClientFolder& folder);

}  // namespace zkapex
