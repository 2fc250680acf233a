// SPDX-License-Identifier: BSD-3-Clause
// The class DeviceEvaluator: buffers, the order of launches, and which kernels serve which settings.
#include "forces/evaluate_gpu.cuh"

#include "backend/side_stream_gpu.cuh"
#include "forces/m2p/m2p_gpu.cuh"
#include "forces/m2l/m2l_gpu.cuh"
#include "forces/p2p/p2p_gpu.cuh"
#include "forces/variants_gpu.cuh"
#include "lists/far_cells_gpu.cuh"

#include <algorithm>
#include <cmath>

namespace graft::forces {

struct DeviceEvaluator::Work {
    explicit Work(backend::DeviceMemory& memory)
        : entries(memory, "entries of source lists"), sizes(memory, "sizes of sources"),
          large(memory, "groups of many tasks"), frames(memory, "group frames"),
          pairs(memory, "tasks of pairs"), cells(memory, "tasks of cells"), counters(memory, "task counters"),
          slots(memory, "partial sums"), packed(memory, "packed cells"), signs(memory, "charge signs"),
          far(memory), expansions(memory, "polynomials of groups"),
          shared_expansions(memory, "polynomials of super groups"),
          shared_frames(memory, "frames of super groups"), variants(memory), side(memory) {}
    backend::DeviceBuffer<SourceEntry> entries;
    backend::DeviceBuffer<float> sizes; // where the fast pairs serve
    backend::DeviceBuffer<int32_t> large;
    backend::DeviceBuffer<GroupFrame> frames;
    backend::DeviceBuffer<Task> pairs, cells;
    backend::DeviceBuffer<TaskCounters> counters;
    backend::DeviceBuffer<Slot<float>> slots; // two make a Slot<double>
    backend::DeviceBuffer<PackedCell> packed;
    backend::DeviceBuffer<ChargeSigns> signs;
    lists::DeviceFarLists far;
    backend::DeviceBuffer<float> expansions, shared_expansions;
    backend::DeviceBuffer<GroupFrame> shared_frames;
    VariantBuffers variants;
    EvaluatorCapacity capacity; // what set_capacity() gave; no tasks: chosen by the lists' capacities
    int64_t reserved_tasks = 0, reserved_slots = 0;
    // Cells beside pairs: each kernel's last tasks leave multiprocessors idle, which the other one fills.
    backend::SideStream side;

    void resize(const DeviceEvaluation& how, const TaskSize& size, int64_t groups, int64_t targets,
                int64_t node_entries, int64_t leaf_entries);
    void give(const EvaluatorCapacity& to);
    TaskView view(const DeviceEvaluation& how) const;
    void see_far(EvaluationView& view) const;
};

namespace {

/// 2^k near the number of particles: charges, whose sum is near 1, become numbers near 1.
double charge_scale(int64_t n) {
    return n > 0 ? std::ldexp(1.0, std::ilogb(static_cast<double>(n))) : 1.0;
}

Variants::Evaluate* variant_of(DeviceKernel kernel) {
    const Variants& all = require_variants();
    return kernel == DeviceKernel::block_per_group ? all.block_per_group
           : kernel == DeviceKernel::pairs_1d      ? all.pairs_1d
                                                   : all.tiles_2d;
}

template <typename T>
const T* pointer(const backend::DeviceBuffer<T>& buffer) {
    return buffer.empty() ? nullptr : buffer.data();
}

void view_sources(const tree::DeviceTree& tree, const moments::DeviceMoments& moments, EvaluationView& v) {
    ViewSources& s = v.sources;
    s.nodes = tree.nodes.data(), s.boxes = tree.boxes.data();
    s.x = tree.x.data(), s.y = tree.y.data(), s.z = tree.z.data(), s.charge = tree.charge.data();
    s.softening = pointer(tree.softening);
    s.leaf = tree.options.leaf;
    s.counts = tree.counts.data(), s.keys = pointer(tree.keys), s.dimension = tree.options.dimension;
    v.heaps = tree.softening.empty(); // they may differ in their lengths
    ViewExpansions& e = v.expansions;
    e.cx = moments.cx.data(), e.cy = moments.cy.data(), e.cz = moments.cz.data();
    e.radius = moments.radius.data(), e.rho = moments.rho.data(), e.magnitude = moments.magnitude.data();
    e.softening_square = pointer(moments.softening_square);
    e.values = moments.values.data();
    e.single = pointer(moments.single), e.full = pointer(moments.full);
    e.terms = moments::term_count(moments.order);
    v.charge_scale = charge_scale(tree.n);
    v.charge_scale_single = static_cast<float>(v.charge_scale);
}

EvaluationView make_view(const backend::Queue& queue, const DeviceEvaluation& how,
                         const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                         const lists::DeviceTargets& targets, const lists::DeviceLists& lists) {
    EvaluationView v{};
    v.status = queue.status();
    view_sources(tree, moments, v);
    v.targets.groups = targets.groups.data(), v.targets.group_count = targets.group_count.data();
    v.targets.x = targets.x, v.targets.y = targets.y, v.targets.z = targets.z;
    v.targets.softening = targets.softening, v.targets.count = targets.n;
    v.targets.same_places = targets.x == tree.x.data();
    v.lists.node_offset = lists.node_offset.data(), v.lists.leaf_offset = lists.leaf_offset.data();
    v.lists.nodes = lists.nodes.data(), v.lists.leaves = lists.leaves.data();
    v.lists.batch = lists.batch, v.lists.batches = lists.batches;
    v.far.shared = how.packed ? lists.shared : lists::DeviceSharedFar{};
    v.softening.length = how.softening_length;
    const bool softened = how.pairs.softening != Softening::none;
    v.softening.of_nodes = softened && how.pairs.per_particle ? pointer(moments.softening) : nullptr;
    v.softening.longest = softened && !how.pairs.per_particle ? how.softening_length : 0;
    v.single_precision = how.precision != DevicePrecision::fp64;
    v.strays.any = tree.options.root_of_most;
    for (int a = 0; a < 3 && v.strays.any; ++a) {
        const bool flat = a >= tree.options.dimension;
        v.strays.most.lower[a] = flat ? 0 : tree.options.root_lower[a];
        v.strays.most.upper[a] = flat ? 0 : tree.options.root_lower[a] + tree.options.root_edge;
    }
    return v;
}

/// Whether the fast kernel of pairs serves.
bool fast_pairs_serve(const DeviceEvaluation& how) {
    return how.precision != DevicePrecision::fp64 &&
           (how.pairs.softening == Softening::none ||
            (how.pairs.softening == Softening::plummer && !how.pairs.per_particle));
}

/// Whether the fast kernel of order 2 may serve; the charges' signs decide on the device.
bool fast_cells_serve(const DeviceEvaluation& how) {
    return how.precision != DevicePrecision::fp64 && how.order == 2 &&
           !(how.pairs.softening == Softening::plummer && how.pairs.per_particle);
}

/// Whether far cells become polynomials, as far as the settings say.
bool local_serves(const DeviceEvaluation& how) {
    return how.local && fast_cells_serve(how) && how.order == device_local_order;
}

void check(const DeviceEvaluation& how, const moments::DeviceMoments& moments) {
    if (how.order != moments.order || how.order < 0 || how.order > moments::cartesian_order)
        core::fail(core::Status::internal, "evaluation on the device: order %d, but moments of order %d",
                   how.order, moments.order);
    if ((how.precision == DevicePrecision::fp64 ? moments.full.empty() : moments.single.empty()) &&
        moments.cx.size() > 0)
        core::fail(core::Status::internal, "evaluation on the device: no expansions of this precision");
}

void sum_pairs(backend::Queue& queue, const DeviceEvaluation& how, const EvaluationView& view,
               const TaskView& tasks) {
    if (how.precision == DevicePrecision::fp64)
        sum_pairs_double(queue, view, tasks, how.pairs);
    else if (fast_pairs_serve(how))
        sum_pairs_fast(queue, view, tasks, how.pairs);
    else
        sum_pairs_float(queue, view, tasks, how.pairs);
}

void sum_cells(backend::Queue& queue, const DeviceEvaluation& how, const EvaluationView& view,
               const TaskView& tasks, const PackedCell* packed, const ChargeSigns* signs) {
    const bool softened = how.pairs.softening == Softening::plummer, potential = how.pairs.potential;
    const bool per_particle = softened && how.pairs.per_particle;
    const bool fast = fast_cells_serve(how);
    if (fast)
        sum_cells_fast(queue, view, tasks, packed, signs, softened, potential);
    const auto general = how.precision == DevicePrecision::fp64 ? sum_cells_double : sum_cells_float;
    general(queue, view, tasks, fast ? signs : nullptr, how.order, softened, per_particle, potential);
}

} // namespace

DeviceEvaluator::DeviceEvaluator(backend::DeviceMemory& memory) : work_(new Work(memory)) {}
DeviceEvaluator::~DeviceEvaluator() {
    delete work_;
}

void DeviceEvaluator::reserve(int64_t tasks, int64_t slots) {
    work_->reserved_tasks = std::max(work_->reserved_tasks, tasks + tasks / 8);
    work_->reserved_slots = std::max(work_->reserved_slots, slots + slots / 8);
}

void DeviceEvaluator::set_capacity(const EvaluatorCapacity& capacity) {
    Work& w = *work_;
    w.capacity = {};
    w.give(capacity);
    w.capacity = capacity;
}

void DeviceEvaluator::release_room() {
    Work& w = *work_;
    w.capacity = {};
    w.entries.release(), w.large.release();
    w.frames.release(), w.pairs.release(), w.cells.release(), w.slots.release();
    w.far.entries.release(), w.far.near_count.release(), w.expansions.release();
    w.shared_expansions.release(), w.shared_frames.release();
}

void DeviceEvaluator::hold_cells(const DeviceEvaluation& how, const tree::DeviceTree& tree) {
    work_->packed.resize(fast_cells_serve(how) ? tree.nodes.size() : 0);
    work_->sizes.resize(fast_pairs_serve(how) ? tree.charge.size() : 0); // a forest's n is that of all ranks
    work_->counters.resize(1), work_->signs.resize(1);
    work_->far.nodes.resize(local_serves(how) ? tree.nodes.size() : 0);
}

void DeviceEvaluator::Work::give(const EvaluatorCapacity& to) {
    entries.resize(to.leaf_entries + to.groups);
    frames.resize(to.groups), large.resize(to.groups);
    pairs.resize(to.tasks), cells.resize(to.tasks);
    slots.resize(to.in_double ? 2 * to.slots : to.slots);
    const int64_t far_groups = to.node_entries > 0 ? to.groups : 0;
    far.entries.resize(to.node_entries);
    far.near_count.resize(far_groups), expansions.resize(far_groups * device_local_terms);
    const int64_t supers = to.node_entries > 0 ? most_super_groups(to.groups) : 0;
    shared_expansions.resize(supers * device_local_terms), shared_frames.resize(supers);
}

/// Room as it was set; else for what full lists of leaves that are two thirds full make. A computation that
/// needs more says so.
void DeviceEvaluator::Work::resize(const DeviceEvaluation& how, const TaskSize& size, int64_t groups,
                                   int64_t targets, int64_t node_entries, int64_t leaf_entries) {
    EvaluatorCapacity wanted{groups,
                             leaf_entries,
                             capacity.tasks,
                             capacity.slots,
                             how.precision == DevicePrecision::fp64,
                             local_serves(how) ? node_entries : 0};
    if (capacity.tasks == 0) {
        const int64_t near = local_serves(how) ? node_entries / near_part : node_entries;
        const TaskCount count =
            count_tasks(size, groups, targets, near, leaf_entries * std::max(how.leaf, 1) * 2 / 3);
        wanted.tasks = std::max({count.tasks, reserved_tasks, int64_t{1024}});
        wanted.slots = std::max({count.slots, reserved_slots, int64_t{65536}});
    }
    give(wanted);
}

TaskView DeviceEvaluator::Work::view(const DeviceEvaluation& how) const {
    return {frames.data(), pairs.data(),
            cells.data(),  counters.data(),
            large.data(),  entries.data(),
            pairs.size(),  how.precision == DevicePrecision::fp64 ? slots.size() / 2 : slots.size(),
            slots.data()};
}

/// The lists as they are cut: near cells first.
void DeviceEvaluator::Work::see_far(EvaluationView& view) const {
    view.lists.nodes = far.entries.data();
    view.far.near_count = far.near_count.data();
    view.far.one_sign = &signs.data()->one_sign;
    view.far.expansions = expansions.data();
}

lists::DeviceFarChoice DeviceEvaluator::pack(backend::Queue& queue, const DeviceEvaluation& how,
                                             const tree::DeviceTree& tree,
                                             const moments::DeviceMoments& moments) {
    EvaluationView view{};
    view.status = queue.status();
    view_sources(tree, moments, view);
    pack_cells(queue, view, tree.counts.data(), tree.nodes.size(), how.pairs.softening == Softening::plummer,
               work_->packed.data(), work_->signs.data());
    lists::pack_far_nodes(queue, tree, moments, work_->far);
    if (!work_->sizes.empty())
        size_sources(queue, view, work_->sizes.size(), work_->sizes.data());
    return {moments.magnitude.data(), &work_->signs.data()->one_sign, how.order, device_local_degree,
            &work_->far};
}

void DeviceEvaluator::evaluate(backend::Queue& queue, const DeviceEvaluation& how,
                               const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                               const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                               DeviceField& field) {
    if (!works_by_tasks(how.kernel))
        return variant_of(how.kernel)(work_->variants, queue, how, tree, moments, targets, lists, field);
    check(how, moments);
    Work& w = *work_;
    const int64_t groups = targets.groups.size() / lists.batches + 1, leaf_entries = lists.leaves.size();
    const TaskSize size = task_size(targets.n, local_serves(how));
    w.resize(how, size, groups, targets.n / lists.batches + 1, lists.nodes.size(), leaf_entries);
    hold_cells(how, tree);
    EvaluationView view = make_view(queue, how, tree, moments, targets, lists);
    view.sources.size = w.sizes.data();
    const TaskView tasks = w.view(how);
    const bool fast = fast_cells_serve(how), local = local_serves(how);
    const bool softened = how.pairs.softening == Softening::plummer, shared = view.far.shared.any();
    const bool first = lists.batch == 0; // what is of all particles and nodes serves the other batches, too
    const auto pack = [&] {
        if (!first || how.packed)
            return;
        pack_cells(queue, view, tree.counts.data(), tree.nodes.size(), softened, w.packed.data(),
                   w.signs.data());
    };
    w.side.follow(queue.stream());
    {
        const backend::OnSide on_side(queue, w.side);
        if (first && !how.packed && !w.sizes.empty())
            size_sources(queue, view, w.sizes.size(), w.sizes.data());
        if (fast && !local)
            pack();
        else if (fast && !lists.split)
            lists::split_far(queue, tree, moments, targets, lists, how.order, device_local_degree, w.far);
    }
    if (local)
        w.see_far(view);
    GRAFT_CUDA(cudaMemsetAsync(w.counters.data(), 0, sizeof(TaskCounters), queue.stream()));
    if (first && view.single_precision && view.strays.any)
        check_strays(queue, view, tree.n);
    find_sources(queue, view, groups, w.entries.data());
    if (local)
        pack();
    w.side.join(queue.stream());
    if (shared) {
        const backend::OnSide on_side(queue, w.side);
        sum_shared(queue, view, w.packed.data(), softened, w.shared_frames.size(), w.shared_frames.data(),
                   w.shared_expansions.data());
    }
    make_tasks(queue, view, size, groups, w.frames.data(), w.pairs.data(), w.cells.data(), tasks);
    w.side.follow(queue.stream());
    {
        const backend::OnSide on_side(queue, w.side);
        if (view.single_precision)
            find_coarse(queue, view, how.pairs, groups, w.frames.data());
        if (local)
            sum_far(queue, view, tasks, w.packed.data(), w.signs.data(), softened, groups,
                    w.expansions.data());
        if (shared)
            spread_shared(queue, view, tasks, groups, w.shared_frames.data(), w.shared_expansions.data(),
                          w.expansions.data());
        sum_cells(queue, how, view, tasks, w.packed.data(), w.signs.data());
        if (view.single_precision)
            sum_coarse(queue, view, tasks, how, targets.origin, field);
    }
    sum_pairs(queue, how, view, tasks);
    w.side.join(queue.stream());
    gather_slots(queue, how, view, tasks, groups, targets.origin, field);
}

} // namespace graft::forces
