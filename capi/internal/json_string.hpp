// SPDX-License-Identifier: BSD-3-Clause
// Text in the JSON answers that the plugin makes.
#pragma once

#include "core/json_string.hpp" // IWYU pragma: export

namespace graft::capi {

using core::json_string;

} // namespace graft::capi
