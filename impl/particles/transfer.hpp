// Between the host's arrays and the engine's: contiguous doubles in, results out in the host's layout and
// order.
#pragma once

#include "backend/executor.hpp"
#include "particles/array_view.hpp"

namespace graft::particles {

/// out[i] = view item i (F32 or F64) for all n items. Throws Error(value) naming the first item that is not
/// finite, or outside [least, most]. `name` is the array's name in the message. One pass, threads.
void import_reals(const backend::Executor& executor, const ArrayView& view, const char* name, double least,
                  double most, double* out);

/// out[k] = value of item k of an integer view (I32, I64, U64).
int64_t integer_at(const ArrayView& view, int64_t item) noexcept;

/// view[index[k]] (=|+=) factor * value[k] for k < count; index NULL: k itself. The view is F32 or F64.
void export_reals(const backend::Executor& executor, const double* value, const int32_t* index, int64_t count,
                  double factor, bool add, const ArrayView& view);

/// The same with a factor per target: factor * weight[index[k]] * value[k].
void export_weighted_reals(const backend::Executor& executor, const double* value, const int32_t* index,
                           int64_t count, double factor, const double* weight, bool add,
                           const ArrayView& view);

} // namespace graft::particles
