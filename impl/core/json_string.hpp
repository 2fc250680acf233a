// SPDX-License-Identifier: BSD-3-Clause
// Text in the JSON answers of the tools.
#pragma once

#include <string>
#include <string_view>

namespace graft::core {

/// "..." with everything JSON wants escaped.
std::string json_string(std::string_view text);

} // namespace graft::core
