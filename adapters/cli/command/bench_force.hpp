// SPDX-License-Identifier: BSD-3-Clause
// `graft bench force`: whole force evaluations on arrays that stay on the device, or on the host.
#pragma once

#include "command/commands.hpp"

namespace graft::cli {

int bench_force_command(const Words& words);

} // namespace graft::cli
