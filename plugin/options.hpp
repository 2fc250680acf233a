// SPDX-License-Identifier: BSD-3-Clause
// The table's entries about options and tools: what plugin/ implements itself, as it knows the keys. Documented in graft/api.h.
#pragma once

#include <graft/api.h>

namespace graft::plugin {

int32_t options_create(graft_options** options) noexcept;
int32_t options_destroy(graft_options** options) noexcept;
int32_t options_set(graft_options* options, const char* key, const char* value) noexcept;
int32_t options_get(const graft_options* options, const char* key, char* buffer, int64_t capacity,
                    int64_t* needed) noexcept;
int32_t options_set_int64(graft_options* options, const char* key, int64_t value) noexcept;
int32_t options_set_double(graft_options* options, const char* key, double value) noexcept;
int32_t options_get_int64(const graft_options* options, const char* key, int64_t* value) noexcept;
int32_t options_get_double(const graft_options* options, const char* key, double* value) noexcept;
int32_t options_read_file(graft_options* options, const char* path) noexcept;
int32_t options_read_text(graft_options* options, const char* text, int64_t bytes, const char* name) noexcept;
int32_t options_explain(int32_t format, graft_sink sink, void* user) noexcept;
int32_t context_create(const graft_options* options, const graft_allocator* allocator,
                       graft_context** context) noexcept;
int32_t context_set(graft_context* context, const char* key, const char* value) noexcept;
int32_t context_get(graft_context* context, const char* key, char* buffer, int64_t capacity,
                    int64_t* needed) noexcept;
int32_t run_tool(const char* name, const char* yaml, graft_sink sink, void* user) noexcept;

} // namespace graft::plugin
