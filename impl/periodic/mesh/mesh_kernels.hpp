// SPDX-License-Identifier: BSD-3-Clause
// The loops of a mesh of waves, compiled once per SIMD target: spreading, transforms, reading. wave_mesh.hpp says of what.
//
// The mesh has count[0] x count[1] rows of count[2] points, `row` apart: what is spread beyond a row's end is folded back
// before the transform, and what is read beyond it copied there after it. The spectrum has as many rows, of the points 0 ...
// count[2] / 2 along the last axis: the others are their conjugates.
#pragma once

#include "periodic/mesh/fourier_plan.hpp"
#include "periodic/mesh/spline.hpp"

#include <cstdint>

namespace graft::periodic {

struct MeshShape {
    int64_t count[3] = {0, 0, 0};
    int64_t row = 0;      // numbers from one row of the mesh to the next
    int64_t half_row = 0; // of the spectrum
    int64_t size() const { return count[0] * count[1] * row; }
    int64_t spectrum_size() const { return count[0] * count[1] * half_row; }
};
/// T: float or double, of the mesh.
template <typename T>
MeshShape mesh_shape(const int64_t (&count)[3]);

/// Particles [begin, end) by their places in units of the spacing, 0 <= u < count.
struct MeshPoints {
    const double *u1, *u2, *u3;
    int64_t begin, end;
};

/// Adds the charges to the mesh. Cost: order^2 rows of 8 multiply-adds a particle.
template <typename T>
void spread(const MeshShape& shape, const Spline<T>& spline, const MeshPoints& points, const double* charge, T* mesh);

/// Potentials (may be NULL) and their derivatives by u1, u2, u3 at the points, from entry 0 on. Cost: 3 multiply-adds where
/// spread() has one.
template <typename T>
void read_mesh(const MeshShape& shape, const Spline<T>& spline, const MeshPoints& points, const T* mesh, double* potential,
               double* d1, double* d2, double* d3);

template <typename T>
struct Spectrum {
    T *real, *imaginary;
};

/// T values that the transforms below need as scratch, aligned to 64 bytes.
template <typename T>
int64_t fourier_scratch(const MeshShape& shape);

/// Along the last axis: of so many pairs of rows from row 2 first on, at most mesh_row_pairs; `inverse`: from the spectrum to
/// the mesh.
template <typename T>
inline constexpr int64_t mesh_row_pairs = 64 / sizeof(T);
template <typename T>
void transform_rows(const MeshShape& shape, const FourierPlan& plan, int64_t first, int64_t pairs, bool inverse, T* mesh,
                    const Spectrum<T>& spectrum, T* scratch);

/// Along the second axis: in plane `i`, of the columns from `k` on, mesh_row_pairs of them.
template <typename T>
void transform_columns(const MeshShape& shape, const FourierPlan& plan, int64_t i, int64_t k, bool inverse,
                       const Spectrum<T>& spectrum, T* scratch);

/// Along the first axis, there and back: of columns (j, k ...); between, they are multiplied by `influence`, which lies as the
/// spectrum does. squares (or NULL): the squares of the absolute values before that, count[0] times mesh_row_pairs.
template <typename T>
void convolve_columns(const MeshShape& shape, const FourierPlan& plan, int64_t j, int64_t k, const T* influence,
                      const Spectrum<T>& spectrum, T* squares, T* scratch);

} // namespace graft::periodic
