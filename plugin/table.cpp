// SPDX-License-Identifier: BSD-3-Clause
// The one exported symbol and the table behind it.
//
// Invariant: entries stand in the order of graft/api.h, which only ever grows at its end.
#include "entries.hpp"
#include "guard.hpp"
#include "options.hpp"

#include <graft/api.h>

namespace {

const char* version() noexcept {
    return GRAFT_VERSION_STRING;
}

#ifdef _OPENMP
constexpr uint64_t capabilities = GRAFT_CAPABILITY_OPENMP | GRAFT_CAPABILITY_GPU;
#else
constexpr uint64_t capabilities = GRAFT_CAPABILITY_GPU;
#endif

constexpr graft_api_v1 table = {
    sizeof(graft_api_v1),
    GRAFT_ABI_MAJOR,
    GRAFT_ABI_MINOR,
    0,
    capabilities,
    version,
    graft::capi::status_text,
    graft::capi::last_error,
    graft::plugin::options_create,
    graft::plugin::options_destroy,
    graft::plugin::options_set,
    graft::plugin::options_get,
    graft::plugin::options_set_int64,
    graft::plugin::options_set_double,
    graft::plugin::options_get_int64,
    graft::plugin::options_get_double,
    graft::plugin::options_read_file,
    graft::plugin::options_read_text,
    graft::plugin::options_explain,
    graft::plugin::context_create,
    graft::capi::context_destroy,
    graft::plugin::context_set,
    graft::plugin::context_get,
    graft::capi::context_error,
    graft::capi::context_set_log,
    graft::capi::context_set_box,
    graft::capi::context_set_units,
    graft::capi::context_set_device_allocator,
    graft::capi::context_release_memory,
    graft::capi::compute,
    graft::capi::field_at,
    graft::capi::query,
    graft::capi::query_text,
    graft::plugin::run_tool,
    graft::capi::context_set_communicator,
    graft::capi::comm_create_threads,
    graft::capi::migrate_plan,
    graft::capi::migrate,
    graft::capi::migrate_back,
    graft::capi::decompose,
    graft::capi::owner_of,
    graft::capi::balance,
    graft::capi::balance_objects,
    graft::capi::compute_begin,
    graft::capi::compute_end,
    graft::capi::context_set_stream,
    graft::capi::compute_poll,
    graft::capi::compute_event,
    graft::capi::near_field_create,
    graft::capi::near_field_update,
    graft::capi::near_field_execute,
    graft::capi::near_field_begin,
    graft::capi::near_field_end,
    graft::capi::near_field_destroy,
};

} // namespace

extern "C" const graft_api_v1* graft_get_api(uint32_t abi_major, uint32_t caller_table_size) {
    // A caller that knows a shorter table reads only its part of ours; one that knows a longer one looks at
    // struct_size.
    return abi_major == GRAFT_ABI_MAJOR && caller_table_size != 0 ? &table : nullptr;
}
