// SPDX-License-Identifier: BSD-3-Clause
// Between the arrays of a near field's caller and those of its plan: checked copies in, sums out, and no two
// of them in one place.
#pragma once

#include "backend/executor.hpp"
#include "core/buffer.hpp"
#include "particles/array_view.hpp"

#include <span>
#include <string>

namespace graft::near {

/// What an array is called in messages: "charge", or "charge[2]". No text is made before it is needed.
struct ArrayName {
    const char* what = "";
    int32_t index = -1;
    std::string text() const;
};
/// Of a component's potential, output 0, or gradient, 1 to 3.
ArrayName sum_name(int32_t output, int32_t component);

/// out[i] = scale times item i, as T (float or double); out NULL: only the check. Throws Error(value) naming
/// the first item that is not finite or larger in magnitude than `most`. One pass, threads.
template <typename T>
void import_values(const backend::Executor& executor, const particles::ArrayView& view, ArrayName name,
                   double most, T* out, double scale = 1);

/// view[p] = (view.add: +=) scale times value[p] for the points p in `index` (each once), or for all n where it is
/// empty.
template <typename T>
void export_values(const backend::Executor& executor, const T* value, double scale,
                   std::span<const int64_t> index, const particles::ArrayView& view);

/// Throws Error(value) naming the first point that export_values() would give no finite number. Reads only.
template <typename T>
void check_values(const backend::Executor& executor, const T* value, double scale,
                  std::span<const int64_t> index, const particles::ArrayView& view, ArrayName name);

/// Where a view can be read on the host: itself, or a copy of all its reach in `bytes`, which comes from the
/// device as it is now. Throws Error(device, memory).
particles::ArrayView on_host(const particles::ArrayView& view, core::Buffer<char>& bytes);

/// Widens [least, most] to the items of a view; what is no number does not count.
void widen(const backend::Executor& executor, const particles::ArrayView& view, double& least, double& most);

struct NamedView {
    particles::ArrayView view; // one component
    ArrayName name;
    bool written = false;
};

/// Throws Error(array) when an element of an array that is written is part of another array, too. Arrays
/// whose items interleave without touching (members of one struct) are fine. Cost O(arrays^2), and O(n) for
/// two arrays of different strides in one range of memory.
void refuse_overlaps(std::span<const NamedView> views);

} // namespace graft::near
