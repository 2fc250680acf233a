// SPDX-License-Identifier: BSD-3-Clause
// Points and charges in the order of the boxes' slots, an array a coordinate, as vectors read them.
//
// Mixed precision (T double, V float): a coordinate becomes high + low, two floats, about `centre`; that is
// 48 bits of the set's extent. Else centre is not used and high is the caller's number. Behind the end stand
// record_step zeros.
#pragma once

#include "backend/executor.hpp"
#include "near/near_field.hpp"
#include "near/exact_array.hpp"

#include <algorithm>

namespace graft::near {

/// A coordinate in V, and what V leaves of it.
template <typename T, typename V>
inline void split(T value, double centre, V& high, V& rest) {
    if constexpr (sizeof(T) != sizeof(V)) {
        const double local = value - centre;
        high = static_cast<V>(local);
        rest = static_cast<V>(local - static_cast<double>(high));
    } else {
        high = value;
    }
}

template <typename T, typename V>
struct SortedPoints {
    static constexpr bool low = sizeof(T) != sizeof(V);
    Store<V> x, y, z, x_low, y_low, z_low;

    explicit SortedPoints(core::Memory& memory)
        : x(memory, "near field: x"), y(memory, "near field: y"), z(memory, "near field: z"),
          x_low(memory, "near field: low part of x"), y_low(memory, "near field: low part of y"),
          z_low(memory, "near field: low part of z") {}

    Store<V>& high(int axis) { return axis == 0 ? x : axis == 1 ? y : z; }
    Store<V>& rest(int axis) { return axis == 0 ? x_low : axis == 1 ? y_low : z_low; }
    /// Where axis begins; an axis that is not there reads x (its differences are not counted).
    const V* place(int axis, int dimension) { return high(axis < dimension ? axis : 0).data(); }
    const V* place_low(int axis, int dimension) { return rest(axis < dimension ? axis : 0).data(); }
    int64_t bytes() const {
        return x.bytes() + y.bytes() + z.bytes() + x_low.bytes() + y_low.bytes() + z_low.bytes();
    }
    static double bytes_for(int64_t count, int dimension) {
        return static_cast<double>((count + record_step) * dimension * (low ? 2 : 1)) * sizeof(V);
    }
    void reserve(int64_t count, int dimension, const backend::Executor& executor) {
        for (int axis = 0; axis < dimension; ++axis) {
            high(axis).reserve(count + record_step, executor);
            if constexpr (low)
                rest(axis).reserve(count + record_step, executor);
        }
    }
    /// Slots [first, first + count) to the places from `to` on.
    void fill_part(const Coordinates<T>& points, std::span<const int64_t> index, int64_t first, int64_t count,
                   int64_t to, int dimension, const std::array<double, 3>& centre) {
        const T* from[3] = {points.x, points.y, points.z};
        for (int axis = 0; axis < dimension; ++axis) {
            V *out = high(axis).data() + to, *rests = low ? rest(axis).data() + to : nullptr;
            V none;
            for (int64_t s = 0; s < count; ++s)
                split(from[axis][index.empty() ? first + s : index[static_cast<size_t>(first + s)]],
                      centre[axis], out[s], low ? rests[s] : none);
        }
    }
    /// index: empty, or the point of each slot.
    void fill(const Coordinates<T>& points, std::span<const int64_t> index, int64_t count, int dimension,
              const std::array<double, 3>& centre, const backend::Executor& executor) {
        executor.for_blocks(count, 16384, [&](int64_t begin, int64_t end, int) {
            fill_part(points, index, begin, end - begin, begin, dimension, centre);
        });
    }
};

/// Middle of the box around all points that slots name; only mixed precision asks.
template <typename T>
std::array<double, 3> centre_of(const Coordinates<T>& points, std::span<const int64_t> index, int64_t count,
                                int dimension) {
    std::array<double, 3> centre{};
    const T* from[3] = {points.x, points.y, points.z};
    for (int axis = 0; axis < dimension && count > 0; ++axis) {
        double least = 1e300, most = -1e300;
        for (int64_t s = 0; s < count; ++s) {
            const double value = from[axis][index.empty() ? s : index[static_cast<size_t>(s)]];
            least = std::min(least, value);
            most = std::max(most, value);
        }
        centre[axis] = least + 0.5 * (most - least);
    }
    return centre;
}

} // namespace graft::near
