// What a client accepts of a request's guide: no tensor is to be drawn further than a part of its own size.
#pragma once

#include "base/decimal.h"
#include "parties/client.h"

namespace zkapex {

// √ΣΔ² <= most · √Σθ² in every covered tensor, θ being the client's weights before the window; exactly. The error names
// the first tensor where it is not so.
[[nodiscard]] Status check_guide(const Client& client, const Mask& mask, const Decimal& most);

}  // namespace zkapex
