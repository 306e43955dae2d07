// The names of the commands that talk to others, or read what was signed by them.
#pragma once

#include <array>

#include "cli/command_name.h"

namespace zkapex::cli {

inline constexpr CommandName kAgent{"agent", "Do a provider's requests, one window after the other (client)"};
inline constexpr CommandName kAudit{"audit", "Check a receipt, or a provider's whole log"};

// Where the service is built.
inline constexpr CommandName kProvider{"provider", "Run the provider's service (provider)"};
inline constexpr CommandName kBenchService{"service",
                                           "Simulated clients with real small proofs against the provider's service"};
inline constexpr CommandName kBenchCapacity{"capacity", "What a window of 10^6 and of 10^8 clients costs a provider"};
inline constexpr std::array kServiceBenches{kBenchService, kBenchCapacity};  // of bench

}  // namespace zkapex::cli
