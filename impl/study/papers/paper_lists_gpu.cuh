// SPDX-License-Identifier: BSD-3-Clause
// What the papers' list kernels read: particles, cells and sums in single precision, as their authors had
// them.
//
// Coordinates are in the frame of the root cube (gaburov2010's kernel: of the group's box), so that any units
// do; two particles closer than 1e-7 of the root's edge are not resolved by the root's frame, which is the
// papers' precision and not ours. Softening none or one Plummer length; cells of order 0 to 2.
#pragma once

#include "forces/p2p/pair_gpu.cuh"
#include "study/papers/paper_variants_gpu.cuh"
#include "forces/frame.hpp"

namespace graft::study {

/// A cell in frame units: d = centre - target, phi = q/s - D.d/s^3 + (d.T d / 2 + trace)/s^5.
struct alignas(16) PaperCell {
    float x, y, z, q;
    float dx, dy, dz, trace; // D; trace: of the softened quadrupole
    float xx, xy, xz, yy;    // T = 2 Q2, traceless
    float yz, unused[3];
};

struct PaperView {
    const float4 *sources, *targets; // x y z and charge (targets: unused)
    const PaperCell* cells;
    float4* sums; // of the targets: x y z and potential
    const forces::Frame* frame;
    const tree::Node* nodes;
    const lists::Group* groups;
    const int32_t* group_count;
    const int64_t *node_offset, *leaf_offset;
    const int32_t *node_list, *leaf_list;
    int batch, batches;
    int64_t leaf; // leaves of more particles are heaps of equal points, counted as one source each
    double length;
    bool plummer;
    backend::DeviceStatus* status;
};

/// The groups of a batch, and their targets, which are consecutive.
struct PaperBatch {
    int64_t begin, count; // groups
    int64_t first, end;   // targets
};
__device__ inline PaperBatch paper_batch(const PaperView& v) {
    const int64_t groups = *v.group_count, begin = lists::batch_begin(groups, v.batch, v.batches),
                  end = lists::batch_begin(groups, v.batch + 1, v.batches);
    if (begin >= end)
        return {begin, 0, 0, 0};
    return {begin, end - begin, v.groups[begin].first, v.groups[end - 1].first + v.groups[end - 1].count};
}

/// From a record of moments/expansion.hpp; `eps` is Plummer's length, 0 for none; all in frame units.
__device__ inline PaperCell make_paper_cell(int order, const float* record, double x, double y, double z,
                                            double rho, double eps) {
    const float r = static_cast<float>(rho), r2 = static_cast<float>(rho * rho);
    PaperCell cell{};
    cell.x = static_cast<float>(x), cell.y = static_cast<float>(y), cell.z = static_cast<float>(z);
    cell.q = record[0];
    if (order >= 1)
        cell.dx = r * record[1], cell.dy = r * record[2], cell.dz = r * record[3];
    if (order >= 2) {
        cell.xx = r2 * record[4], cell.xy = r2 * record[5], cell.xz = r2 * record[6];
        cell.yy = r2 * record[7], cell.yz = r2 * record[8];
        cell.trace = eps > 0 ? static_cast<float>(eps * eps) * r2 * record[9] : 0.0f;
    }
    return cell;
}

/// Adds a cell's field at a target: 13, 26 and 45 slots and a root at orders 0, 1 and 2.
template <int order, bool with_potential>
__device__ __forceinline__ void add_paper_cell(const PaperCell& cell, float x, float y, float z, float soft,
                                               float4& sum) {
    const float dx = cell.x - x, dy = cell.y - y, dz = cell.z - z;
    const float i = forces::root_estimate(forces::fused(dx, dx, forces::fused(dy, dy, forces::fused(dz, dz, soft))));
    const float i2 = i * i, i3 = i * i2;
    float force = cell.q * i3, potential = cell.q * i;
    if constexpr (order >= 1) {
        const float dipole = forces::fused(cell.dx, dx, forces::fused(cell.dy, dy, cell.dz * dz)), i5 = i3 * i2;
        force = forces::fused(-3.0f * dipole, i5, force);
        potential = forces::fused(-dipole, i3, potential);
        sum.x = forces::fused(cell.dx, i3, sum.x);
        sum.y = forces::fused(cell.dy, i3, sum.y);
        sum.z = forces::fused(cell.dz, i3, sum.z);
        if constexpr (order >= 2) {
            const float zz = -cell.xx - cell.yy;
            const float tx = forces::fused(cell.xx, dx, forces::fused(cell.xy, dy, cell.xz * dz));
            const float ty = forces::fused(cell.xy, dx, forces::fused(cell.yy, dy, cell.yz * dz));
            const float tz = forces::fused(cell.xz, dx, forces::fused(cell.yz, dy, zz * dz));
            const float half = forces::fused(0.5f, forces::fused(tx, dx, forces::fused(ty, dy, tz * dz)), cell.trace);
            force = forces::fused(5.0f * half, i5 * i2, force);
            potential = forces::fused(half, i5, potential);
            sum.x = forces::fused(-i5, tx, sum.x);
            sum.y = forces::fused(-i5, ty, sum.y);
            sum.z = forces::fused(-i5, tz, sum.z);
        }
    }
    sum.x = forces::fused(force, dx, sum.x);
    sum.y = forces::fused(force, dy, sum.y);
    sum.z = forces::fused(force, dz, sum.z);
    if constexpr (with_potential)
        sum.w += potential;
}

/// Adds particles sources[0 ... count) at a target.
template <bool with_potential>
__device__ __forceinline__ void add_paper_particles(const float4* sources, int64_t count, float x, float y,
                                                    float z, float soft, float4& sum) {
    forces::PairSum<float> pairs{};
    for (int64_t j = 0; j < count; ++j) {
        const float4 s = sources[j];
        forces::add_pair_of<forces::DevicePair::constant, with_potential>(s.x - x, s.y - y, s.z - z, s.w, soft, 0.0f, pairs);
    }
    sum.x += pairs.x, sum.y += pairs.y, sum.z += pairs.z, sum.w += pairs.potential;
}

template <bool with_potential>
__device__ __forceinline__ void add_atomically(float4* to, const float4& sum) {
    atomicAdd(&to->x, sum.x);
    atomicAdd(&to->y, sum.y);
    atomicAdd(&to->z, sum.z);
    if constexpr (with_potential)
        atomicAdd(&to->w, sum.w);
}

/// Throws Error(unsupported) for what the papers' kernels do not do; `mixed` where only that is asked too
/// much.
void check_paper_variant(const char* name, const forces::DeviceEvaluation& how, bool mixed);

/// liu2022's blocks: 2-D BX and BY, 1-D threads and 1; how.block_x, how.block_y, or his optimum where these
/// are 0. Throws Error(argument) for more than 1,024 threads (1-D: so many).
struct PaperBlock {
    int x, y;
};
PaperBlock paper_block(const forces::DeviceEvaluation& how);

/// Packs particles, targets and cells into work.reals and zeroes the sums. Enqueued.
PaperView prepare_paper(VariantBuffers& work, backend::Queue& queue, const forces::DeviceEvaluation& how,
                        const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                        const lists::DeviceTargets& targets, const lists::DeviceLists& lists);

/// Adds the batch's interactions to the status words.
void count_paper(backend::Queue& queue, const PaperView& view, int64_t group_capacity);

/// The batch's sums to the field, in internal units.
void finish_paper(backend::Queue& queue, const PaperView& view, bool add, bool potential, int64_t targets,
                  forces::DeviceField& field);

/// Calls body<order>() with the moments' order, 0 to 2.
template <typename Body>
void with_paper_order(int order, const Body& body) {
    order == 0   ? body.template operator()<0>()
    : order == 1 ? body.template operator()<1>()
                 : body.template operator()<2>();
}

} // namespace graft::study
