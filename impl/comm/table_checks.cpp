// The checks of a table of communication functions, each with a message that says what to do.
#include "comm/table_checks.hpp"

#include "core/error.hpp"

namespace graft::comm {

using core::Status;

namespace {

void require_functions(const graft_comm_v1& table) {
    const struct {
        bool present;
        const char* name;
    } functions[] = {
        {table.barrier != nullptr, "barrier"},     {table.bcast != nullptr, "bcast"},
        {table.allreduce != nullptr, "allreduce"}, {table.allgatherv != nullptr, "allgatherv"},
        {table.alltoallv != nullptr, "alltoallv"}, {table.isend != nullptr, "isend"},
        {table.irecv != nullptr, "irecv"},         {table.waitall != nullptr, "waitall"},
        {table.split != nullptr, "split"},         {table.free != nullptr, "free"},
    };
    std::string missing;
    for (const auto& function : functions)
        if (!function.present)
            missing += std::string(missing.empty() ? "" : ", ") + function.name;
    if (!missing.empty())
        core::fail(Status::argument,
                   "graft_comm_v1: the function pointer %s is NULL; only error_text, set_deadline, fail, "
                   "time_s and failed_call may be. Pass no communicator at all for a single rank",
                   missing.c_str());
}

void require_layout(const graft_comm_v1& table) {
    constexpr uint32_t own_size = sizeof(graft_comm_v1);
    constexpr uint32_t largest = 1u << 16u;
    if (table.struct_size < own_size || table.struct_size > largest)
        core::fail(Status::abi,
                   "graft_comm_v1: struct_size is %u; expected sizeof(graft_comm_v1), %u here. Set it before "
                   "the call, and compile the host against the library's own <graft/comm.h>",
                   table.struct_size, own_size);
    const unsigned char* bytes = reinterpret_cast<const unsigned char*>(&table);
    for (uint32_t i = own_size; i < table.struct_size; ++i)
        if (bytes[i] != 0)
            core::fail(
                Status::abi,
                "graft_comm_v1: struct_size is %u and byte %u is not zero, but this library knows only "
                "%u bytes of it; use a newer library or leave the new fields zero",
                table.struct_size, i, own_size);
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

void check_table(const graft_comm_v1& table) {
    require_layout(table);
    require_functions(table);
    require_ranks(table);
}

} // namespace graft::comm
