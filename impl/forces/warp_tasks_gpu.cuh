// SPDX-License-Identifier: BSD-3-Clause
// Interaction lists divided into tasks: parts of one group's list that a warp evaluates, of about equal cost.
//
// A task is a range of the sources (or cells) of one group's list; its partial sums go to `count` slots of
// its own, one a target, and gather_slots() adds a group's slots in the list's order: the same bits every
// run, whichever warp did which task when (tasks and slots are numbered by atomics, which decides nothing but
// where numbers lie in between). Lists of outlying groups, hundred times the mean, are many tasks.
//
// Charges are worked on as q * charge_scale, a power of two near the number of particles: numbers near 1, so
// that float's range serves. Frames: as forces/frame.hpp, one a group.
#pragma once

#include "forces/evaluate_gpu.cuh"
#include "forces/evaluation_bytes.hpp"

#include <cstdint>

namespace graft::forces {

/// The tree's particles and nodes.
struct ViewSources {
    const tree::Node* nodes;
    const geometry::Box* boxes;
    const double *x, *y, *z, *charge, *softening;
    const float* size; // of sources, see size_sources(); null where no kernel wants it
    int64_t leaf;      // leaves of more particles are heaps of equal points
    const tree::DeviceTreeCounts* counts;
    const uint64_t* keys; // of an octree
    int dimension;
};

/// Of the nodes.
struct ViewExpansions {
    const double *cx, *cy, *cz, *radius, *rho, *softening_square, *magnitude, *values;
    const float* single;
    const double* full;
    int32_t terms; // moments a node
};

struct ViewTargets {
    const lists::Group* groups;
    const int32_t* group_count;
    const double *x, *y, *z, *softening;
    int64_t count;
    bool same_places; // targets are the tree's particles in the tree's order
};

struct ViewLists {
    const int64_t *node_offset, *leaf_offset;
    const int32_t *nodes, *leaves;
    int batch, batches;
};

/// Far cells (m2l_gpu.cuh); null: every cell is near.
struct ViewPolynomials {
    const int32_t* near_count; // of a group's node list, those that come first
    const int32_t* one_sign;   // 0: charges of both signs, all are near after all
    const float* expansions;   // device_local_terms a group, where it has a polynomial
    lists::DeviceSharedFar shared;
};

struct ViewSoftening {
    const double* of_nodes; // the longest below a node; null: one length for all
    double longest;         // softening length where it is one for all; 0: none
    double length;          // the one softening length, caller's units
};

/// Particles that stand outside `most`, far from all others (tree::TreeOptions::root_of_most).
struct ViewStrays {
    bool any;
    geometry::Box most;
};

/// Everything that kernels read, as plain pointers.
struct EvaluationView {
    backend::DeviceStatus* status;
    ViewSources sources;
    ViewExpansions expansions;
    ViewTargets targets;
    ViewLists lists;
    ViewPolynomials far;
    ViewSoftening softening;
    double charge_scale;          // power of two
    float charge_scale_single;    // the same
    bool heaps, single_precision; // heaps: coincident particles act as one source
    ViewStrays strays;
};

/// How a list is divided: tasks of `chunk` items, the last one shorter; the first is number `task` of its class.
struct ListTasks {
    int32_t total, chunk, tasks;
    uint32_t task;
};

/// A group's frame, its tasks, and where its partial sums are: those of the pairs' tasks, then the cells'.
struct GroupFrame {
    double centre[3]; // in units of the frame: x_frame = x * scale - centre
    double scale;
    int64_t slot;
    int32_t first, count;
    int16_t exponent; // scale = 2^exponent
    int8_t task_class;
    bool all_coarse; // single precision serves none of its targets (coarse_targets_gpu.cu)
    uint32_t coarse; // nor these: a bit for 2^coarse_shift() of them
    ListTasks pairs, cells;

    /// Whether target k's bit is set.
    __device__ bool is_coarse(int32_t k) const { return (coarse >> (k >> coarse_shift(count)) & 1) != 0; }
    __device__ static int coarse_shift(int32_t targets) { return max(0, 27 - __clz(targets - 1)); }
};

struct Task {
    int32_t group;      // of the batch
    int32_t begin, end; // sources or cells of the group's list
    int32_t entry;      // of the group's leaf list: the one that source `begin` is in
    int64_t slot;
};

/// Units stand in order of classes, the most targets a lane first: warps of one time run the same code.
inline constexpr int task_classes = 8;

struct TaskCounters {
    unsigned long long slots;
    unsigned int pair_tasks[task_classes], cell_tasks[task_classes];
    unsigned int next_pair, next_cell; // to be taken
    unsigned int large;                // groups of many tasks

    __device__ unsigned int pairs() const { return sum(pair_tasks, task_classes); }
    __device__ unsigned int cells() const { return sum(cell_tasks, task_classes); }
    __device__ static unsigned int sum(const unsigned int* of, int classes) {
        unsigned int total = 0;
        for (int c = 0; c < classes; ++c)
            total += of[c];
        return total;
    }
};

/// An entry of a group's leaf list: the sources before it in the list, and what added to a source's place in
/// the list makes its index (modulo 2^32): the particle in the tree's order, or -2 - node for a heap. One
/// more closes each list: all sources, indices from INT32_MIN on.
struct alignas(8) SourceEntry {
    uint32_t start, shift;
};

/// What the evaluating kernels get.
struct TaskView {
    const GroupFrame* frames;
    const Task *pairs, *cells;
    TaskCounters* counters;
    int32_t* large;             // groups of many tasks: gathered by a block each
    const SourceEntry* entries; // see first_entry()
    int64_t task_capacity, slot_capacity;
    void* slots; // Slot<float> or Slot<double>
};

template <typename Real>
struct alignas(4 * sizeof(Real)) Slot {
    Real x, y, z, potential;
};

static_assert(sizeof(SourceEntry) == source_entry_bytes && sizeof(Task) == task_bytes &&
              sizeof(GroupFrame) == group_frame_bytes);
static_assert(sizeof(Slot<float>) == 16 && sizeof(Slot<double>) == 32);

/// Lanes of a part: a warp is cut into parts of 4 ... 32 lanes, so that `most` targets a lane suffice.
__host__ __device__ inline int part_lanes(int targets, int most) {
    int lanes = 4;
    while (lanes < 32 && lanes * most < targets)
        lanes *= 2;
    return lanes;
}
/// Most targets a lane in the kernels that are sorted for.
inline constexpr int most_targets_a_lane = 8;

/// Groups of the batch.
__device__ inline int64_t batch_group_count(const EvaluationView& v) {
    const int64_t groups = *v.targets.group_count;
    return lists::batch_begin(groups, v.lists.batch + 1, v.lists.batches) -
           lists::batch_begin(groups, v.lists.batch, v.lists.batches);
}

__device__ inline const lists::Group& batch_group(const EvaluationView& v, int64_t g) {
    return v.targets.groups[lists::batch_begin(*v.targets.group_count, v.lists.batch, v.lists.batches) + g];
}

/// Cells of a group's list that meet its targets one by one, and all of them.
__device__ inline int64_t all_cells(const EvaluationView& v, int64_t g) {
    return v.lists.node_offset[g + 1] - v.lists.node_offset[g];
}
__device__ inline int64_t near_cells(const EvaluationView& v, int64_t g) {
    return v.far.near_count != nullptr && *v.far.one_sign != 0 ? v.far.near_count[g] : all_cells(v, g);
}

/// The super group of a group, and how many far cells it has for all its groups.
__device__ inline int64_t super_of(const EvaluationView& v, int64_t g) {
    return v.far.shared.super_of(lists::batch_begin(*v.targets.group_count, v.lists.batch, v.lists.batches),
                                 g);
}
__device__ inline int32_t shared_cells(const EvaluationView& v, int64_t g) {
    return v.far.shared.any() ? v.far.shared.count[super_of(v, g)] : 0;
}
/// Whether far cells have made a polynomial of the group: its own, those that it shares.
__device__ inline bool has_polynomial(const EvaluationView& v, int64_t g) {
    return near_cells(v, g) != all_cells(v, g) || shared_cells(v, g) > 0;
}

/// Where the entries of a group's leaf list are.
__device__ inline int64_t first_entry(const EvaluationView& v, int64_t g) {
    return v.lists.leaf_offset[g] + g;
}

/// The entry of the group's list that its source s is in.
__device__ inline int32_t find_entry(const SourceEntry* entries, int64_t count, uint32_t s) {
    int64_t low = 0, high = count; // entries[low].start <= s < entries[high].start
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        (entries[middle].start <= s ? low : high) = middle;
    }
    return static_cast<int32_t>(low);
}

/// Whether a group has so many tasks that a whole block adds them up.
__device__ inline bool is_large(const GroupFrame& frame) {
    return frame.pairs.tasks + frame.cells.tasks > 16;
}

/// The entries of the batch's leaf lists: as many as leaf entries and groups.
void find_sources(backend::Queue& queue, const EvaluationView& view, int64_t group_capacity,
                  SourceEntry* entries);
/// |q|^(-1/2) sign(q) of a scaled charge, 0 without charge: what a length is multiplied with to make the
/// charge 1.
__device__ inline float size_of(double charge) {
    constexpr double least = 1e-36; // its size is far within float, its force is nothing
    const double magnitude = fabs(charge);
    return magnitude > least ? static_cast<float>(copysign(rsqrt(magnitude), charge)) : 0.0f;
}
/// size[i] = size_of() particle i's scaled charge. Stops by one that single precision cannot sum.
void size_sources(backend::Queue& queue, const EvaluationView& view, int64_t n, float* size);
/// Stops by a stray so heavy that particles within `most` may feel it where single precision does not (frames.hpp's reach).
void check_strays(backend::Queue& queue, const EvaluationView& view, int64_t n);
/// Frames, tasks, slots; adds to status pairs, cells and far_cells.
void make_tasks(backend::Queue& queue, const EvaluationView& view, const TaskSize& size,
                int64_t group_capacity, GroupFrame* frames, Task* pairs, Task* cells, const TaskView& tasks);
/// Says in `frames` which targets single precision does not serve (coarse_targets_gpu.cu).
void find_coarse(backend::Queue& queue, const EvaluationView& view, const PairVariant& variant,
                 int64_t group_capacity, GroupFrame* frames);
/// Their pairs in double, to their fields or how.records, which gather_slots() then adds the rest to.
void sum_coarse(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                const DeviceEvaluation& how, const int32_t* origin, DeviceField& field);
/// The fields of the batch's groups, or their how.records, from their slots and polynomials; status
/// tasks_needed, slots_needed. `origin`: DeviceTargets::origin.
void gather_slots(backend::Queue& queue, const DeviceEvaluation& how, const EvaluationView& view,
                  const TaskView& tasks, int64_t group_capacity, const int32_t* origin, DeviceField& field);

} // namespace graft::forces
