// SPDX-License-Identifier: BSD-3-Clause
// The table's entries that capi implements, in C terms, for plugin/ to put in the table. Each is documented
// in graft/api.h; options arrive here as values, since decks and keys are the plugin's business.
#pragma once

#include "option_values.hpp"

#include <graft/api.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace graft::capi {

int32_t context_create(const Options& options, const graft_allocator* allocator, graft_context** context) noexcept;
int32_t context_destroy(graft_context** context) noexcept;
/// context_set: `change` sets live keys, and may throw: then nothing has changed.
int32_t context_change(graft_context* context, const std::function<void(Options&)>& change) noexcept;
/// context_get.
int32_t context_read(graft_context* context, const std::function<void(const Options&)>& read) noexcept;
int32_t context_error(graft_context* context, char* buffer, int64_t capacity, int64_t* needed) noexcept;
int32_t context_set_device_allocator(graft_context* context, const graft_device_allocator* allocator) noexcept;
int32_t context_release_memory(graft_context* context) noexcept;
int32_t context_set_log(graft_context* context, graft_log_function function, void* user,
                        int32_t level) noexcept;
int32_t context_set_box(graft_context* context, const graft_box* box) noexcept;
int32_t context_set_units(graft_context* context, const graft_units* units) noexcept;
int32_t compute(graft_context* context, const graft_particles* particles,
                const graft_results* results) noexcept;
int32_t field_at(graft_context* context, const graft_particles* sources, const graft_particles* points,
                 const graft_results* results) noexcept;
int32_t compute_begin(graft_context* context, const graft_particles* particles,
                      const graft_results* results) noexcept;
int32_t compute_end(graft_context* context) noexcept;
int32_t context_set_stream(graft_context* context, void* stream) noexcept;
int32_t compute_poll(graft_context* context, int32_t* done) noexcept;
int32_t compute_event(graft_context* context, void** event) noexcept;
int32_t context_set_communicator(graft_context* context, const graft_comm_v1* communicator) noexcept;
int32_t comm_create_threads(int32_t size, graft_comm_v1** comms) noexcept;
int32_t decompose(graft_context* context, const graft_particles* particles,
                  const graft_decomposition* decomposition) noexcept;
int32_t owner_of(graft_context* context, const graft_particles* points, const graft_array* owner) noexcept;
int32_t balance(graft_context* context, const graft_particles* particles,
                const graft_balancing* balancing) noexcept;
int32_t balance_objects(graft_context* context, const graft_objects* objects) noexcept;
int32_t migrate_plan(graft_context* context, const graft_array* owner, int64_t* n_after) noexcept;
int32_t migrate(graft_context* context, int32_t count, const graft_array* const* from,
                const graft_array* const* to) noexcept;
int32_t migrate_back(graft_context* context, int32_t count, const graft_array* const* from,
                     const graft_array* const* to) noexcept;
int32_t near_field_create(graft_context* context, const graft_near_field* description,
                          graft_near_plan** plan) noexcept;
int32_t near_field_update(graft_context* context, graft_near_plan* plan,
                          const graft_near_field* description) noexcept;
int32_t near_field_execute(graft_context* context, graft_near_plan* plan,
                           const graft_near_sums* sums) noexcept;
int32_t near_field_begin(graft_context* context, graft_near_plan* plan, const graft_near_sums* sums) noexcept;
int32_t near_field_end(graft_context* context, graft_near_plan* plan) noexcept;
int32_t near_field_destroy(graft_context* context, graft_near_plan** plan) noexcept;
int32_t query(graft_context* context, const char* key, double* value) noexcept;
int32_t query_text(graft_context* context, const char* key, graft_sink sink, void* user) noexcept;

/// The answer of run_tool("info"): SIMD, threads, GPUs. Looks for CUDA, once a process.
std::string info_json();

/// Keys of a machine file ('#' stands for an index), and the check of one value: throws core::Error deck_key,
/// deck_type or deck_range.
std::vector<std::string> machine_key_names();
void check_machine_key(const std::string& key, const std::string& text);

} // namespace graft::capi
