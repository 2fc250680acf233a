// SPDX-License-Identifier: BSD-3-Clause
// Parameters and launchers of a mesh's kernels on the device. For this room only.
#pragma once

#include "periodic/mesh/mesh_axis.hpp"
#include "periodic/mesh/spline.hpp"
#include "periodic/mesh/wave_mesh_gpu.cuh"

namespace graft::periodic::mesh {

inline constexpr int self_terms = mesh_self_terms, own_size = 3 * self_terms + 7;
using AxisSums = MeshAxisSums;

template <typename T>
struct alignas(2 * sizeof(T)) Pair {
    T re, im;
};

inline constexpr double pi = 3.14159265358979323846;

__device__ inline double frequency(int k, int count) {
    return 2 * k <= count ? k : k - count;
}

/// One axis' transform.
template <typename T>
struct LinePlan {
    static constexpr int most_steps = 12, inverse_bits = 20;
    int length, steps;
    int factor[most_steps];
    uint32_t inverse[most_steps]; // 2^20 over the product of the factors before, rounded up
    const Pair<T>* roots; // exp(2 pi i k / length)
};

template <typename T>
struct MeshView {
    geometry::Lattice box;
    double alpha, unit, charge_scale;
    int fixed_bits; // 2^fixed_bits: whole numbers of the mesh for a charge of 1 in T
    int count[3], half; // half: points of a row of the spectrum
    int order;
    LinePlan<T> plan[3];
    const AxisSums* axis[3];
    forces::DeviceSources sources, targets; // in an order in which neighbours stand together
    unsigned long long* whole;
    T* mesh; // rows of count[2] + spline_lanes: they begin again behind the last point
    Pair<T>* spectrum;
    T* influence;     // as the spectrum
    double* own_rows; // own_size a row
    double* own;      // own_size: what a unit charge does to itself; see wave_mesh.cpp
    struct Output {
        double* virial; // six numbers a block of convolve()
        double *charge, *field;
    } out;
    const backend::DeviceStatus* status;
    Spline<T> spline;
};

template <typename T>
void launch_tables(backend::Queue& queue, const MeshView<T>& view);
template <typename T>
void launch_sum(backend::Queue& queue, const MeshView<T>& view, bool virial);
/// Blocks of the launch that makes virials.
template <typename T>
int64_t convolve_blocks(const MeshView<T>& view);

} // namespace graft::periodic::mesh
