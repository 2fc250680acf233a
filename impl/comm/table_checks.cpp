// SPDX-License-Identifier: BSD-3-Clause
// The checks of a table of communication functions, each with a message that says what to do.
#include "comm/table_checks.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>

namespace graft::comm {

using core::Status;

namespace {

void require_functions(const graft_comm_v1& table) {
    const struct {
        bool present;
        const char* name;
    } functions[] = {
        {table.comm_barrier != nullptr, "comm_barrier"},     {table.comm_bcast != nullptr, "comm_bcast"},
        {table.comm_allreduce != nullptr, "comm_allreduce"}, {table.comm_allgatherv != nullptr, "comm_allgatherv"},
        {table.comm_alltoallv != nullptr, "comm_alltoallv"}, {table.comm_isend != nullptr, "comm_isend"},
        {table.comm_irecv != nullptr, "comm_irecv"},         {table.comm_waitall != nullptr, "comm_waitall"},
        {table.comm_split != nullptr, "comm_split"},         {table.comm_free != nullptr, "comm_free"},
    };
    std::string missing;
    for (const auto& function : functions)
        if (!function.present)
            missing += std::string(missing.empty() ? "" : ", ") + function.name;
    if (!missing.empty())
        core::fail(Status::argument,
                   "graft_comm_v1: the function pointer %s is NULL; only comm_error_text, comm_set_deadline, "
                   "comm_fail, comm_time_s and comm_failed_call may be. Pass no communicator at all for a single rank",
                   missing.c_str());
}

constexpr uint32_t first_size = sizeof(graft_comm_v1); // of version 1.0: a number when the struct has grown

graft_comm_v1 copy_of(const graft_comm_v1& given) {
    constexpr uint32_t largest = 1u << 16u; // a larger struct_size is not a size but garbage
    if (given.struct_size < first_size || given.struct_size > largest || given.struct_size % 8 != 0)
        core::fail(Status::abi,
                   "graft_comm_v1: struct_size is %u; expected sizeof(graft_comm_v1), %u here and at least %u. Set "
                   "it before the call, and compile the host against the library's own <graft/comm.h>",
                   given.struct_size, static_cast<uint32_t>(sizeof(graft_comm_v1)), first_size);
    graft_comm_v1 table{};
    std::memcpy(&table, &given, std::min<size_t>(given.struct_size, sizeof table));
    return table;
}

void require_layout(const graft_comm_v1& table) {
    if ((table.flags & ~GRAFT_COMM_DEVICE_AWARE) != 0)
        core::fail(Status::abi, "graft_comm_v1: flags is 0x%x; known are 0x%x (GRAFT_COMM_DEVICE_AWARE)",
                   table.flags, GRAFT_COMM_DEVICE_AWARE);
    for (const uint64_t word : table.reserved)
        if (word != 0)
            core::fail(Status::abi,
                       "graft_comm_v1: a reserved word is not zero; zero the struct before filling it");
}

void require_ranks(const graft_comm_v1& table) {
    if (table.size < 1)
        core::fail(Status::argument, "graft_comm_v1: size is %d; expected at least 1", table.size);
    if (table.rank < 0 || table.rank >= table.size)
        core::fail(Status::argument, "graft_comm_v1: rank is %d; expected 0 ... %d (size is %d)", table.rank,
                   table.size - 1, table.size);
}

} // namespace

graft_comm_v1 read_table(const graft_comm_v1& given) {
    const graft_comm_v1 table = copy_of(given);
    require_layout(table);
    require_functions(table);
    require_ranks(table);
    return table;
}

} // namespace graft::comm
