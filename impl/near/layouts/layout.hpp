// SPDX-License-Identifier: BSD-3-Clause
// A layout: the arrays that one way of summing the near field wants, and the loop over them.
//
// Life: make -> set_points (collection) -> set_charges -> run, the last two any number of times, set_points
// again for new coordinates of the same structure. Steady state: no allocation. Chunks: a layout whose arrays
// would be larger than `most_bytes` works on runs of boxes, each collected, summed and dropped (nothing is
// kept between executions then).
#pragma once

#include "core/memory.hpp"
#include "near/near_field.hpp"

#include <memory>

namespace graft::near {

struct LayoutOptions {
    int64_t most_bytes = 0;       // 0: no limit
    int32_t threads = 0;          // 0: OpenMP's
    const Shape* shape = nullptr; // of the same structure and sums, where the caller has counted it already
};

/// Bytes of the arrays of `layout` for this shape, before anything is built (without the caller's arrays):
/// what HostLayout::bytes() tells where nothing is chunked. `threads`: each has a scratch of its own.
double bytes_of(Layout layout, const Shape& shape, int32_t threads = 1);
/// The least that `most_bytes` may be: what stays when the rest is made in runs of one box.
double least_bytes_of(Layout layout, const Shape& shape, int32_t threads = 1);

/// Fills the fields of Shape that walk over the neighbours, pairs to runs. O(boxes + neighbours) over the
/// threads.
void count_gathered(const Structure& structure, const Sums& sums, int32_t threads, Shape& shape);

/// The same for any number of threads. O(boxes + neighbours) over the threads.
Shape shape_of(const Structure& structure, const Sums& sums, int32_t threads = 1);

template <typename T> // double or float: the type of coordinates, charges and fields
class HostLayout {
  public:
    virtual ~HostLayout() = default;
    /// The arrays given here and to set_charges are read again by run() where chunks() > 1: they have to
    /// stay.
    virtual void set_points(const Coordinates<T>& targets, const Coordinates<T>& sources) = 0;
    virtual void set_charges(const Charges<T>& charges) = 0;
    /// Writes the fields that are not NULL (adds to nothing). Same bits every run.
    virtual void run(const Fields<T>& fields) = 0;
    virtual int64_t bytes() const = 0; // now held
    virtual int32_t chunks() const = 0;
    virtual Times times() const = 0;
};

/// Structure and sums must outlive the layout and are valid (structure.hpp checks). Throws Error(memory,
/// unsupported).
template <typename T>
std::unique_ptr<HostLayout<T>> make_layout(Layout layout, const Structure& structure, const Sums& sums,
                                           const LayoutOptions& options, core::Memory& memory);

} // namespace graft::near
