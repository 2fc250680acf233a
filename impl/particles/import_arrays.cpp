// SPDX-License-Identifier: BSD-3-Clause
// Strided, typed loads; the type switch is outside the loops.
#include "particles/import_arrays.hpp"

#include "particles/array_items.hpp"

#include <cmath>
#include <limits>

namespace graft::particles {

using core::fail;
using core::Status;

namespace {

constexpr int64_t block = 16384;
/// Items of all arrays that share a struct stay in the second-level cache between one array and the next.
constexpr int64_t joint_block = 4096;

/// Copies one block and returns the first bad item, or -1.
template <typename T>
int64_t import_block(const ArrayView& view, double least, double most, int64_t begin, int64_t end,
                     double* out) noexcept {
    const char* source = view.at(begin);
    bool good = true;
    for (int64_t i = begin; i < end; ++i, source += view.item_stride) {
        const double value = static_cast<double>(load<T>(source));
        out[i] = value;
        good &= value >= least && value <= most; // false for NaN
    }
    if (good)
        return -1;
    for (int64_t i = begin; i < end; ++i)
        if (!(out[i] >= least && out[i] <= most))
            return i;
    return -1;
}

} // namespace

void refuse_real(const char* name, int64_t bad, double value, double least, double most) {
    if (std::isfinite(value))
        fail(Status::value, "%s: item %lld (counted from 0) is %g; expected a value from %g to %g", name,
             static_cast<long long>(bad), value, least, most);
    fail(Status::value,
         "%s: item %lld (counted from 0) is %g; expected a finite number. It is the first such item; look "
         "for an "
         "uninitialised array or a step that blew up",
         name, static_cast<long long>(bad), value);
}

void import_reals(const backend::Executor& executor, int count, const RealImport* imports, double least,
                  double most) {
    constexpr int64_t none = std::numeric_limits<int64_t>::max();
    std::atomic<int64_t> first_bad[most_imports] = {none, none, none};
    executor.for_blocks(
        imports[0].view.n, count > 1 ? joint_block : block, [&](int64_t begin, int64_t end, int) {
            for (int a = 0; a < count; ++a) {
                const ArrayView& view = imports[a].view;
                const int64_t bad = view.type == ElementType::f32
                                        ? import_block<float>(view, least, most, begin, end, imports[a].out)
                                        : import_block<double>(view, least, most, begin, end, imports[a].out);
                if (bad >= 0)
                    note_first(first_bad[a], bad);
            }
        });
    for (int a = 0; a < count; ++a)
        if (const int64_t bad = first_bad[a].load(); bad != none)
            refuse_real(imports[a].name, bad, imports[a].out[bad], least, most);
}

void import_reals(const backend::Executor& executor, const ArrayView& view, const char* name, double least,
                  double most, double* out) {
    const RealImport import{view, name, out};
    import_reals(executor, 1, &import, least, most);
}

int64_t integer_at(const ArrayView& view, int64_t item) noexcept {
    const char* address = view.at(item);
    return view.type == ElementType::i32 ? load<int32_t>(address) : load<int64_t>(address);
}

} // namespace graft::particles
