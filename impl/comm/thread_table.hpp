// One thread rank's graft_comm_v1.
#pragma once

#include "comm/thread_group.hpp"

#include <graft/comm.h>
#include <graft/types.h>

namespace graft::comm {

/// The table of `rank` in `group`; freed by its own free().
graft_comm_v1* make_thread_table(const std::shared_ptr<ThreadGroup>& group, int rank, double deadline_s);

} // namespace graft::comm
