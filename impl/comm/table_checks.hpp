// Is this a table that can be called?
#pragma once

#include <graft/comm.h>

namespace graft::comm {

/// Throws Error(abi) for a struct_size, flags or reserved words that this library does not know, and
/// Error(argument) for missing functions (all are named) or an impossible rank or size. Not collective.
void check_table(const graft_comm_v1& table);

} // namespace graft::comm
