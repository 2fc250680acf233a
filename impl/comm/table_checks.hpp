// SPDX-License-Identifier: BSD-3-Clause
// Is this a table that can be called?
#pragma once

#include <graft/comm.h>

namespace graft::comm {

/// An own copy of a host's table: members that a shorter one (an older host's) lacks are NULL, later ones of a
/// longer one are not looked at. Throws Error(abi) for a struct_size below the first version's or inside a
/// member, for flags or reserved words that this library does not know, and Error(argument) for missing functions
/// (all are named) or an impossible rank or size. Not collective.
graft_comm_v1 read_table(const graft_comm_v1& given);

} // namespace graft::comm
