// SPDX-License-Identifier: BSD-3-Clause
// Where communication broke: the call of the table on the rank where the failure began, as data for whoever must
// know what the other ranks have behind them.
#pragma once

#include "core/error.hpp"

#include <graft/comm.h>

#include <string>
#include <utility>

namespace graft::comm {

enum class Call : int32_t {
    unknown = GRAFT_COMM_CALL_UNKNOWN,
    barrier = GRAFT_COMM_CALL_BARRIER,
    bcast = GRAFT_COMM_CALL_BCAST,
    allreduce = GRAFT_COMM_CALL_ALLREDUCE,
    allgatherv = GRAFT_COMM_CALL_ALLGATHERV,
    alltoallv = GRAFT_COMM_CALL_ALLTOALLV,
    isend = GRAFT_COMM_CALL_ISEND,
    irecv = GRAFT_COMM_CALL_IRECV,
    waitall = GRAFT_COMM_CALL_WAITALL,
    split = GRAFT_COMM_CALL_SPLIT,
};

/// As graft_comm_v1 calls it.
inline const char* name_of(Call call) {
    static constexpr const char* names[] = {"a call",    "barrier", "bcast", "allreduce", "allgatherv",
                                            "alltoallv", "isend",   "irecv", "waitall",   "split"};
    return names[static_cast<int32_t>(call)];
}

/// An Error(communication) that knows the call it began in.
class Failure : public core::Error {
  public:
    Failure(std::string message, Call began_in)
        : Error(core::Status::communication, std::move(message)), began_in_(began_in) {}
    Call began_in() const noexcept { return began_in_; }

  private:
    Call began_in_;
};

} // namespace graft::comm
