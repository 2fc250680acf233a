// SPDX-License-Identifier: BSD-3-Clause
// Between the host's arrays and the engine's: contiguous doubles in, results out in the host's layout and
// order.
#pragma once

#include "backend/executor.hpp"
#include "particles/array_view.hpp"

#include <limits>

namespace graft::particles {

/// out[i] = view item i (F32 or F64) for all n items. Throws Error(value) naming the first item that is not
/// finite, or outside [least, most]. `name` is the array's name in the message. One pass, threads.
void import_reals(const backend::Executor& executor, const ArrayView& view, const char* name, double least,
                  double most, double* out);

/// One array to be imported: view items to out[0 ... view.n).
struct RealImport {
    ArrayView view;
    const char* name;
    double* out;
};
inline constexpr int most_imports = 3;

/// The same for up to most_imports arrays of equal n (the axes of a position), block by block: where they
/// share a struct the memory is read once. The first bad item of the first array that has one is named.
void import_reals(const backend::Executor& executor, int count, const RealImport* imports, double least,
                  double most);

/// Throws the Error(value) of import_reals for item `bad`, which is `value`.
[[noreturn]] void refuse_real(const char* name, int64_t bad, double value, double least, double most);

/// out[k] = value of item k of an integer view (I32, I64, U64).
int64_t integer_at(const ArrayView& view, int64_t item) noexcept;

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
