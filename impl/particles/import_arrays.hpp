// SPDX-License-Identifier: BSD-3-Clause
// From the host's arrays, in any layout, to the engine's contiguous doubles. The way back: export_arrays.hpp.
#pragma once

#include "backend/executor.hpp"
#include "particles/array_view.hpp"

#include <cstdint>

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

} // namespace graft::particles
