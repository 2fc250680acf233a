// SPDX-License-Identifier: BSD-3-Clause
// The near field's pair: plain numbers' arithmetic, on the host and in a CUDA thread, and the constants that every
// form of it reads. The formulas are in radial.hpp; a backend with a faster root or exponential gives its own
// Ops.
//
// Pairs at distance zero: see zero_distance. Range: 1/r^3 must be a number of the type, so distances between
// 1e-12 and 1e12 in float and 1e-100 and 1e100 in double.
#pragma once

#include "core/host_device.hpp"
#include "near/near_field.hpp"

#include <cmath>

namespace graft::near {

/// Kernel with softening told apart: the two have different inner loops.
enum class Form : int32_t { laplace, softened, logarithm, yukawa, helmholtz, table };

/// Squares of distances up to this count as zero: the smallest normal number (roots of smaller ones are
/// inexact).
template <typename T>
inline constexpr T least_normal = sizeof(T) == 4 ? T(1.17549435e-38) : T(2.2250738585072014e-308);

template <typename T>
struct Constants {
    T softening_square = 0; // softened
    T wave_number = 0;      // yukawa, helmholtz
    T table_begin = 0, table_inverse_step = 0;
    T table_last = 0;         // intervals, as a number
    T least_square = T(-1);   // table: pairs with r^2 up to this add nothing
    T third_axis = T(1);      // 0: what stands in z is not counted (vector loops in two dimensions)
    const T* table = nullptr; // 4 coefficients an interval, in u = 0...1, lowest power first
};

/// Softening whose square is no normal number of the precision counts as none.
inline Form form_of(const KernelOptions& kernel, bool single) {
    switch (kernel.kernel) {
    case Kernel::laplace: {
        const double square = kernel.softening * kernel.softening;
        return square > (single ? 1.17549435e-38 : 2.2250738585072014e-308) ? Form::softened : Form::laplace;
    }
    case Kernel::logarithm:
        return Form::logarithm;
    case Kernel::yukawa:
        return Form::yukawa;
    case Kernel::helmholtz:
        return Form::helmholtz;
    default:
        return Form::table;
    }
}

/// What happens to a pair at distance zero. singular: it adds nothing. regular: it adds K(0) (softened; a
/// table that begins at 0 or before), unless it is a point and itself, which then has to be told by its
/// index.
constexpr bool may_be_regular(Form form) {
    return form == Form::softened || form == Form::table;
}

/// Plain numbers, exact roots, the C library's functions.
template <typename T>
struct PlainOps {
    using Real = T;
    static constexpr double value_factor = 1, slope_factor = 1;
    GRAFT_HD static T set(double v) { return static_cast<T>(v); }
    GRAFT_HD static T add(T a, T b) { return a + b; }
    GRAFT_HD static T sub(T a, T b) { return a - b; }
    GRAFT_HD static T mul(T a, T b) { return a * b; }
    GRAFT_HD static T fma(T a, T b, T c) { return a * b + c; }
    GRAFT_HD static T fnma(T a, T b, T c) { return c - a * b; }
    GRAFT_HD static T min(T a, T b) { return a < b ? a : b; }
    GRAFT_HD static T max(T a, T b) { return a < b ? b : a; }
    GRAFT_HD static bool less(T a, T b) { return a < b; }
    GRAFT_HD static bool both(bool a, bool b) { return a && b; }
    GRAFT_HD static T select(bool mask, T a, T b) { return mask ? a : b; }
    GRAFT_HD static T zero_unless(bool mask, T a) { return mask ? a : T(0); }
    GRAFT_HD static T inverse_root(T r2) { return r2 >= least_normal<T> ? T(1) / std::sqrt(r2) : T(0); }
    template <bool value, bool slope>
    GRAFT_HD static void powers(T r2, T& first, T& third) {
        const T y = inverse_root(r2);
        first = y, third = y * y * y;
    }
    template <bool value, bool slope>
    GRAFT_HD static void softened_powers(T r2, T& first, T& third) {
        const T y = T(1) / std::sqrt(r2);
        first = y, third = y * y * y;
    }
    GRAFT_HD static T exp(T a) { return std::exp(a); }
    GRAFT_HD static T log(T a) { return std::log(a); }
    GRAFT_HD static void sine_cosine(T a, T& sine, T& cosine) { sine = std::sin(a), cosine = std::cos(a); }
    GRAFT_HD static int32_t floor_index(T a) { return static_cast<int32_t>(a); } // a >= 0
    GRAFT_HD static T real_of(int32_t index) { return static_cast<T>(index); }
    GRAFT_HD static T knot(const T* table, int32_t index, int k) { return table[4 * index + k]; }
};

} // namespace graft::near
