// SPDX-License-Identifier: BSD-3-Clause
// One thread rank's graft_comm_v1.
#pragma once

#include "comm/thread_group.hpp"

#include <graft/comm.h>
#include <graft/types.h>

namespace graft::comm {

/// The table of `rank` in `group`; freed by its own free().
graft_comm_v1* make_thread_table(const std::shared_ptr<ThreadGroup>& group, int rank, double deadline_s);

// Its collectives; see graft_comm_v1.
int32_t thread_barrier(void* self);
int32_t thread_bcast(void* self, void* data, int64_t bytes, int32_t root);
int32_t thread_allreduce(void* self, const void* send, void* receive, int64_t count, int32_t dtype,
                         int32_t operation);
int32_t thread_allgatherv(void* self, const void* send, int64_t send_bytes, void* receive,
                          const int64_t* receive_bytes, const int64_t* receive_offset);
int32_t thread_alltoallv(void* self, const void* send, const int64_t* send_bytes, const int64_t* send_offset,
                         void* receive, const int64_t* receive_bytes, const int64_t* receive_offset);

} // namespace graft::comm
