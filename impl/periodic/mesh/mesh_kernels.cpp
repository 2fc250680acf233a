// SPDX-License-Identifier: BSD-3-Clause
// See mesh_kernels.hpp.
#include "periodic/mesh/mesh_kernels.hpp"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "periodic/mesh/mesh_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "periodic/mesh/fourier_lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::periodic::HWY_NAMESPACE {

template <typename T>
using Tag = hn::CappedTag<T, spline_lanes>;

/// Weights along one axis at t, or their derivatives.
template <int order, typename T>
HWY_INLINE void weigh(const T (&table)[spline_lanes][spline_lanes], T t, T* to) {
    const Tag<T> d;
    const auto at = hn::Set(d, t);
    for (size_t lane = 0; lane < spline_lanes; lane += hn::Lanes(d)) {
        auto sum = hn::Load(d, table[order - 1] + lane);
        for (int power = order - 2; power >= 0; --power)
            sum = hn::MulAdd(sum, at, hn::Load(d, table[power] + lane));
        hn::Store(sum, d, to + lane);
    }
}

/// Where a particle meets the mesh.
template <int order, typename T>
struct Stencil {
    int64_t first[3];
    T t[3];
    int64_t row[order]; // of the second axis, in numbers of the mesh

    HWY_INLINE Stencil(const MeshShape& shape, const MeshPoints& points, int64_t p) {
        const double u[3] = {points.u1[p], points.u2[p], points.u3[p]};
        for (int a = 0; a < 3; ++a) {
            first[a] = static_cast<int64_t>(u[a]);
            t[a] = static_cast<T>(u[a] - static_cast<double>(first[a]) - 0.5);
        }
        for (int64_t b = 0; b < order; ++b) {
            const int64_t j = first[1] + b;
            row[b] = (j < shape.count[1] ? j : j - shape.count[1]) * shape.row + first[2];
        }
    }
    HWY_INLINE int64_t plane(const MeshShape& shape, int64_t a) const {
        const int64_t i = first[0] + a;
        return (i < shape.count[0] ? i : i - shape.count[0]) * shape.count[1] * shape.row;
    }
};

template <int order, typename T>
void spread_order(const MeshShape& shape, const Spline<T>& spline, const MeshPoints& points, const double* charge, T* mesh) {
    const Tag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    alignas(64) T x[spline_lanes], y[spline_lanes], z[spline_lanes];
    for (int64_t p = points.begin; p < points.end; ++p) {
        const Stencil<order, T> stencil(shape, points, p);
        weigh<order>(spline.value, stencil.t[0], x);
        weigh<order>(spline.value, stencil.t[1], y);
        weigh<order>(spline.value, stencil.t[2], z);
        const T q = static_cast<T>(charge[p]);
        for (int64_t a = 0; a < order; ++a) {
            T* const plane = mesh + stencil.plane(shape, a);
            const T qx = q * x[a];
            for (int64_t b = 0; b < order; ++b) {
                T* const to = plane + stencil.row[b];
                const auto factor = hn::Set(d, qx * y[b]);
                for (int64_t lane = 0; lane < order; lane += lanes)
                    hn::StoreU(hn::MulAdd(factor, hn::Load(d, z + lane), hn::LoadU(d, to + lane)), d, to + lane);
            }
        }
    }
}

template <int order, typename T>
void read_order(const MeshShape& shape, const Spline<T>& spline, const MeshPoints& points, const T* mesh, double* potential,
                double* d1, double* d2, double* d3) {
    const Tag<T> d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    alignas(64) T x[spline_lanes], y[spline_lanes], z[spline_lanes];
    alignas(64) T dx[spline_lanes], dy[spline_lanes], dz[spline_lanes];
    for (int64_t p = points.begin; p < points.end; ++p) {
        const Stencil<order, T> stencil(shape, points, p);
        weigh<order>(spline.value, stencil.t[0], x);
        weigh<order>(spline.slope, stencil.t[0], dx);
        weigh<order>(spline.value, stencil.t[1], y);
        weigh<order>(spline.slope, stencil.t[1], dy);
        weigh<order>(spline.value, stencil.t[2], z);
        weigh<order>(spline.slope, stencil.t[2], dz);
        double sums[4] = {0, 0, 0, 0};
        for (int64_t lane = 0; lane < order; lane += lanes) {
            auto value = hn::Zero(d), by_x = hn::Zero(d), by_y = hn::Zero(d);
            for (int64_t a = 0; a < order; ++a) {
                const T* const plane = mesh + stencil.plane(shape, a) + lane;
                auto along = hn::Zero(d), slope = hn::Zero(d);
                for (int64_t b = 0; b < order; ++b) {
                    const auto row = hn::LoadU(d, plane + stencil.row[b]);
                    along = hn::MulAdd(hn::Set(d, y[b]), row, along);
                    slope = hn::MulAdd(hn::Set(d, dy[b]), row, slope);
                }
                value = hn::MulAdd(hn::Set(d, x[a]), along, value);
                by_x = hn::MulAdd(hn::Set(d, dx[a]), along, by_x);
                by_y = hn::MulAdd(hn::Set(d, x[a]), slope, by_y);
            }
            const auto w = hn::Load(d, z + lane);
            const auto sum = [&](const auto& a, const auto& b) {
                return static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Mul(a, b))));
            };
            sums[0] += sum(value, w), sums[1] += sum(by_x, w), sums[2] += sum(by_y, w);
            sums[3] += sum(value, hn::Load(d, dz + lane));
        }
        const int64_t to = p - points.begin;
        if (potential != nullptr)
            potential[to] = sums[0];
        d1[to] = sums[1];
        d2[to] = sums[2];
        d3[to] = sums[3];
    }
}

/// Two arrays of lines in `scratch`, the second as room for the transform.
template <typename T>
struct LineBuffers {
    Lines<T> lines, other;
    LineBuffers(int64_t length, T* scratch) {
        const int64_t size = length * lines_at_once<T>;
        lines = {scratch, scratch + size};
        other = {scratch + 2 * size, scratch + 3 * size};
    }
};

/// Two rows are the real and the imaginary part of one line: its transform has those of both, as their transforms are
/// conjugate to themselves from k to -k.
template <typename T>
void rows_forward(const MeshShape& shape, const FourierPlan& plan, int64_t first, int64_t pairs, const T* mesh,
                  const Spectrum<T>& spectrum, T* scratch) {
    constexpr int64_t at_once = lines_at_once<T>;
    const int64_t rows = shape.count[0] * shape.count[1], length = shape.count[2];
    LineBuffers<T> room(length, scratch);
    for (int64_t line = 0; line < at_once; ++line)
        for (int part = 0; part < 2; ++part) {
            T* const to = (part == 0 ? room.lines.real : room.lines.imaginary) + line;
            const int64_t row = 2 * (first + line) + part;
            const T* const from = mesh + row * shape.row;
            const bool there = line < pairs && row < rows;
            for (int64_t k = 0; k < length; ++k)
                to[k * at_once] = there ? from[k] : T(0);
            for (int64_t k = 0; there && k < spline_lanes; ++k) // beyond the end; a row may be shorter than that
                to[k % length * at_once] += from[length + k];
        }
    fourier(plan, room.lines, room.other);
    for (int64_t line = 0; line < pairs; ++line) {
        const int64_t row = 2 * (first + line);
        const bool two = row + 1 < rows;
        T* const real = spectrum.real + row * shape.half_row;
        T* const imaginary = spectrum.imaginary + row * shape.half_row;
        for (int64_t k = 0; k <= length / 2; ++k) {
            const int64_t here = k * at_once + line, opposite = (k == 0 ? 0 : length - k) * at_once + line;
            const T half = T(0.5);
            const T a = half * room.lines.real[here], b = half * room.lines.imaginary[here];
            const T c = half * room.lines.real[opposite], e = half * room.lines.imaginary[opposite];
            real[k] = a + c;
            imaginary[k] = b - e;
            if (two) {
                real[shape.half_row + k] = b + e;
                imaginary[shape.half_row + k] = c - a;
            }
        }
        for (int64_t k = length / 2 + 1; k < shape.half_row; ++k) {
            real[k] = imaginary[k] = 0;
            if (two)
                real[shape.half_row + k] = imaginary[shape.half_row + k] = 0;
        }
    }
}

template <typename T>
void rows_backward(const MeshShape& shape, const FourierPlan& plan, int64_t first, int64_t pairs, T* mesh,
                   const Spectrum<T>& spectrum, T* scratch) {
    constexpr int64_t at_once = lines_at_once<T>;
    const int64_t rows = shape.count[0] * shape.count[1], length = shape.count[2];
    LineBuffers<T> room(length, scratch);
    for (int64_t line = 0; line < at_once; ++line) {
        const int64_t row = 2 * (first + std::min(line, pairs - 1));
        const bool two = row + 1 < rows;
        const T* const real = spectrum.real + row * shape.half_row;
        const T* const imaginary = spectrum.imaginary + row * shape.half_row;
        for (int64_t k = 0; k <= length / 2; ++k) {
            const T a = real[k], b = imaginary[k];
            const T c = two ? real[shape.half_row + k] : T(0), e = two ? imaginary[shape.half_row + k] : T(0);
            const int64_t opposite = (k == 0 ? 0 : length - k) * at_once + line;
            room.lines.real[opposite] = a + e, room.lines.imaginary[opposite] = c - b;
            room.lines.real[k * at_once + line] = a - e, room.lines.imaginary[k * at_once + line] = b + c;
        }
    }
    inverse_fourier(plan, room.lines, room.other);
    for (int64_t line = 0; line < pairs; ++line)
        for (int part = 0; part < 2; ++part) {
            const T* const from = (part == 0 ? room.lines.real : room.lines.imaginary) + line;
            const int64_t row = 2 * (first + line) + part;
            if (row >= rows)
                break;
            T* const to = mesh + row * shape.row;
            for (int64_t k = 0; k < length; ++k)
                to[k] = from[k * at_once];
            for (int64_t k = 0; k < spline_lanes; ++k)
                to[length + k] = to[k % length];
        }
}

/// Columns of the spectrum, `stride` apart, to lines or back.
template <typename T>
HWY_INLINE void copy_columns(int64_t count, const T* from, int64_t stride, T* to, int64_t to_stride) {
    for (int64_t k = 0; k < count; ++k)
        std::copy_n(from + k * stride, lines_at_once<T>, to + k * to_stride);
}

template <typename T>
void columns(const MeshShape& shape, const FourierPlan& plan, int64_t i, int64_t k, bool inverse, const Spectrum<T>& spectrum,
             T* scratch) {
    constexpr int64_t at_once = lines_at_once<T>;
    const int64_t count = shape.count[1], first = i * count * shape.half_row + k;
    LineBuffers<T> room(count, scratch);
    copy_columns(count, spectrum.real + first, shape.half_row, room.lines.real, at_once);
    copy_columns(count, spectrum.imaginary + first, shape.half_row, room.lines.imaginary, at_once);
    if (inverse)
        inverse_fourier(plan, room.lines, room.other);
    else
        fourier(plan, room.lines, room.other);
    copy_columns(count, room.lines.real, at_once, spectrum.real + first, shape.half_row);
    copy_columns(count, room.lines.imaginary, at_once, spectrum.imaginary + first, shape.half_row);
}

template <typename T>
void convolve(const MeshShape& shape, const FourierPlan& plan, int64_t j, int64_t k, const T* influence,
              const Spectrum<T>& spectrum, T* squares, T* scratch) {
    constexpr int64_t at_once = lines_at_once<T>;
    const int64_t count = shape.count[0], first = j * shape.half_row + k, plane = shape.count[1] * shape.half_row;
    LineBuffers<T> room(count, scratch);
    copy_columns(count, spectrum.real + first, plane, room.lines.real, at_once);
    copy_columns(count, spectrum.imaginary + first, plane, room.lines.imaginary, at_once);
    fourier(plan, room.lines, room.other);
    const hn::CappedTag<T, at_once> d;
    for (int64_t i = 0; i < count; ++i)
        for (int64_t lane = 0; lane < at_once; lane += static_cast<int64_t>(hn::Lanes(d))) {
            T* const real = room.lines.real + i * at_once + lane;
            T* const imaginary = room.lines.imaginary + i * at_once + lane;
            const auto r = hn::Load(d, real), m = hn::Load(d, imaginary);
            const auto factor = hn::Load(d, influence + first + i * plane + lane);
            if (squares != nullptr)
                hn::Store(hn::MulAdd(r, r, hn::Mul(m, m)), d, squares + i * at_once + lane);
            hn::Store(hn::Mul(r, factor), d, real);
            hn::Store(hn::Mul(m, factor), d, imaginary);
        }
    inverse_fourier(plan, room.lines, room.other);
    copy_columns(count, room.lines.real, at_once, spectrum.real + first, plane);
    copy_columns(count, room.lines.imaginary, at_once, spectrum.imaginary + first, plane);
}

template <typename T>
void spread_any(const MeshShape& shape, const Spline<T>& spline, const MeshPoints& points, const double* charge, T* mesh) {
    switch (spline.order) {
    case 4: return spread_order<4>(shape, spline, points, charge, mesh);
    case 6: return spread_order<6>(shape, spline, points, charge, mesh);
    default: return spread_order<8>(shape, spline, points, charge, mesh);
    }
}
template <typename T>
void read_any(const MeshShape& shape, const Spline<T>& spline, const MeshPoints& points, const T* mesh, double* potential,
              double* d1, double* d2, double* d3) {
    switch (spline.order) {
    case 4: return read_order<4>(shape, spline, points, mesh, potential, d1, d2, d3);
    case 6: return read_order<6>(shape, spline, points, mesh, potential, d1, d2, d3);
    default: return read_order<8>(shape, spline, points, mesh, potential, d1, d2, d3);
    }
}
template <typename T>
void rows_any(const MeshShape& shape, const FourierPlan& plan, int64_t first, int64_t pairs, bool inverse, T* mesh,
              const Spectrum<T>& spectrum, T* scratch) {
    inverse ? rows_backward(shape, plan, first, pairs, mesh, spectrum, scratch)
            : rows_forward(shape, plan, first, pairs, mesh, spectrum, scratch);
}

/// One of each for both types, by names that can be exported.
#define GRAFT_MESH_KERNELS(T, NAME)                                                                                              \
    void spread_##NAME(const MeshShape& s, const Spline<T>& b, const MeshPoints& p, const double* q, T* m) {                     \
        spread_any(s, b, p, q, m);                                                                                               \
    }                                                                                                                            \
    void read_##NAME(const MeshShape& s, const Spline<T>& b, const MeshPoints& p, const T* m, double* v, double* d1, double* d2, \
                     double* d3) {                                                                                               \
        read_any(s, b, p, m, v, d1, d2, d3);                                                                                     \
    }                                                                                                                            \
    void rows_##NAME(const MeshShape& s, const FourierPlan& f, int64_t first, int64_t pairs, bool inverse, T* m,                 \
                     const Spectrum<T>& to, T* scratch) {                                                                        \
        rows_any(s, f, first, pairs, inverse, m, to, scratch);                                                                   \
    }                                                                                                                            \
    void columns_##NAME(const MeshShape& s, const FourierPlan& f, int64_t i, int64_t k, bool inverse, const Spectrum<T>& to,     \
                        T* scratch) {                                                                                            \
        columns(s, f, i, k, inverse, to, scratch);                                                                               \
    }                                                                                                                            \
    void convolve_##NAME(const MeshShape& s, const FourierPlan& f, int64_t j, int64_t k, const T* g, const Spectrum<T>& to,      \
                         T* squares, T* scratch) {                                                                               \
        convolve(s, f, j, k, g, to, squares, scratch);                                                                           \
    }
GRAFT_MESH_KERNELS(float, float)
GRAFT_MESH_KERNELS(double, double)
#undef GRAFT_MESH_KERNELS

} // namespace graft::periodic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::periodic {

template <typename T>
MeshShape mesh_shape(const int64_t (&count)[3]) {
    constexpr int64_t at_once = 64 / sizeof(T);
    const auto whole = [](int64_t size) { return (size + at_once - 1) / at_once * at_once; };
    MeshShape shape;
    std::copy_n(count, 3, shape.count);
    shape.row = whole(count[2] + spline_lanes);
    shape.half_row = whole(count[2] / 2 + 1);
    return shape;
}

template <typename T>
int64_t fourier_scratch(const MeshShape& shape) {
    return 4 * static_cast<int64_t>(64 / sizeof(T)) * std::max({shape.count[0], shape.count[1], shape.count[2]});
}

#define GRAFT_MESH_DISPATCH(T, NAME)                                                                                             \
    HWY_EXPORT(spread_##NAME);                                                                                                   \
    HWY_EXPORT(read_##NAME);                                                                                                     \
    HWY_EXPORT(rows_##NAME);                                                                                                     \
    HWY_EXPORT(columns_##NAME);                                                                                                  \
    HWY_EXPORT(convolve_##NAME);                                                                                                 \
    template <>                                                                                                                  \
    void spread<T>(const MeshShape& s, const Spline<T>& b, const MeshPoints& p, const double* q, T* m) {                         \
        HWY_DYNAMIC_DISPATCH(spread_##NAME)(s, b, p, q, m);                                                                      \
    }                                                                                                                            \
    template <>                                                                                                                  \
    void read_mesh<T>(const MeshShape& s, const Spline<T>& b, const MeshPoints& p, const T* m, double* v, double* d1,            \
                      double* d2, double* d3) {                                                                                  \
        HWY_DYNAMIC_DISPATCH(read_##NAME)(s, b, p, m, v, d1, d2, d3);                                                            \
    }                                                                                                                            \
    template <>                                                                                                                  \
    void transform_rows<T>(const MeshShape& s, const FourierPlan& f, int64_t first, int64_t pairs, bool inverse, T* m,           \
                           const Spectrum<T>& to, T* scratch) {                                                                  \
        HWY_DYNAMIC_DISPATCH(rows_##NAME)(s, f, first, pairs, inverse, m, to, scratch);                                          \
    }                                                                                                                            \
    template <>                                                                                                                  \
    void transform_columns<T>(const MeshShape& s, const FourierPlan& f, int64_t i, int64_t k, bool inverse,                      \
                              const Spectrum<T>& to, T* scratch) {                                                               \
        HWY_DYNAMIC_DISPATCH(columns_##NAME)(s, f, i, k, inverse, to, scratch);                                                  \
    }                                                                                                                            \
    template <>                                                                                                                  \
    void convolve_columns<T>(const MeshShape& s, const FourierPlan& f, int64_t j, int64_t k, const T* g, const Spectrum<T>& to,  \
                             T* squares, T* scratch) {                                                                           \
        HWY_DYNAMIC_DISPATCH(convolve_##NAME)(s, f, j, k, g, to, squares, scratch);                                              \
    }                                                                                                                            \
    template MeshShape mesh_shape<T>(const int64_t (&)[3]);                                                                      \
    template int64_t fourier_scratch<T>(const MeshShape&);
GRAFT_MESH_DISPATCH(float, float)
GRAFT_MESH_DISPATCH(double, double)
#undef GRAFT_MESH_DISPATCH

} // namespace graft::periodic
#endif
