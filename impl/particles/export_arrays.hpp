// SPDX-License-Identifier: BSD-3-Clause
// Results to the host's arrays, in their layout and order. The way in: import_arrays.hpp.
#pragma once

#include "backend/executor.hpp"
#include "particles/array_view.hpp"

#include <limits>

namespace graft::particles {

/// One array of results: what item index[k] of the view (F32 or F64) gets, or has added to it (view.add), for k < count;
/// index NULL: k itself.
struct RealExport {
    ArrayView view;
    const char* name;
    const double* value; // factor * value[k] ...
    double factor;
    const double* weight = nullptr; // ... * weight[index[k]]
    int64_t first = 0;              // without an index: item k + first
};

/// The first item that would be no finite number in the view's type, and what it would be.
struct Unfinished {
    int64_t item = std::numeric_limits<int64_t>::max(); // none
    double value = 0;
    bool any() const { return item != Unfinished().item; }
};
/// Reads only.
Unfinished first_unfinished(const backend::Executor& executor, const RealExport& result, const int32_t* index,
                            int64_t count);
/// Throws Error(value) naming it. Reads only.
void check_reals(const backend::Executor& executor, const RealExport& result, const int32_t* index,
                 int64_t count);
void export_reals(const backend::Executor& executor, const RealExport& result, const int32_t* index,
                  int64_t count);

/// Throws the Error(value) of check_reals for item `bad`, which would be `value`.
[[noreturn]] void refuse_result(const char* name, int64_t bad, double value);

} // namespace graft::particles
