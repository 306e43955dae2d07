// Commands of `zkapex provider`.
#pragma once

#include <filesystem>

#include "cli/command.h"

namespace zkapex::cli {

void add_provider_init(Command provider, Action& action);
void add_provider_run(Command provider, Action& action);
void add_provider_code(Command provider, Action& action);
void add_provider_request(Command provider, Action& action);
void add_provider_status(Command provider, Action& action);
void add_provider_export(Command provider, Action& action);

// --folder, "provider" where it is not given.
void offer_provider_folder(Command command, std::filesystem::path& folder);

}  // namespace zkapex::cli
