// SPDX-License-Identifier: BSD-3-Clause
// See repair_gpu.cuh.
#include "engine/gpu/repair_gpu.cuh"

#include "engine/checks.hpp"
#include "engine/gpu/host_tree_gpu.cuh"
#include "particles/import_arrays.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace graft::engine {

void check_repeats(int repeat, const char* what) {
    constexpr int most_repeats = 64;
    if (repeat == most_repeats)
        core::fail(core::Status::internal, "the GPU's %s still asks for larger buffers after %d repeats", what, repeat);
}

namespace {

/// Room for `needed`; true when there was too little.
template <typename T>
bool enlarge(backend::DeviceBuffer<T>& buffer, int64_t needed) {
    if (needed <= buffer.size())
        return false;
    buffer.resize(with_spare_room(needed));
    return true;
}

tree::TreeOptions tree_options(const settings::Settings& settings) {
    if (settings.tree_type == tree::TreeType::octree)
        return octree_options(settings);
    tree::TreeOptions options;
    options.type = settings.tree_type;
    options.dimension = settings.dimension;
    options.leaf = settings.leaf;
    return options;
}

void grow(Steps& s, const backend::DeviceStatus& status) {
    Computation& c = s.c;
    bool grown = s.lattice.plan_again(c);
    if (c.job.is_tree() && status.nodes_needed > s.tree.tree.node_capacity()) {
        const int64_t spare = c.in_place() ? status.nodes_needed / 64 : status.nodes_needed / 5;
        s.tree.tree.resize_nodes(status.nodes_needed + spare + 64);
        grown = true;
    }
    grown |= enlarge(s.targets.targets.groups, status.groups_needed);
    if (!grown)
        grown = s.capacity.grow(s, status);
    if (!grown)
        core::fail(core::Status::internal,
                   "a buffer on the GPU was too small, but none is known that could grow (nodes %lld, groups "
                   "%lld, list entries %lld and %lld)",
                   static_cast<long long>(status.nodes_needed), static_cast<long long>(status.groups_needed),
                   static_cast<long long>(status.node_entries_needed),
                   static_cast<long long>(status.leaf_entries_needed));
}

/// Bodies, softening lengths, charges or sums are out of single precision's range, as a body that blew up is.
void take_double(Steps& s) {
    Computation& c = s.c;
    c.job.settings.precision = settings::Precision::fp64;
    s.kept.forget();
    if (c.tree_from == TreeFrom::kept)
        c.tree_from = TreeFrom::build;
    if (c.job.settings.periodic)
        s.lattice.plan(c); // for its precision
    c.note = "distances, softening lengths or charges are out of single precision's range: computed in double";
}

/// Enqueued.
template <typename From, typename To>
void fetch_values(backend::Queue& queue, const From& from, int64_t count, To& to) {
    to.resize(count);
    GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), static_cast<size_t>(count) * sizeof *to.data(),
                               cudaMemcpyDeviceToHost, queue.stream()));
}

[[noreturn]] void refuse_listed_target(Computation& c, bool twice, int64_t entry) {
    const particles::ArrayView& view = c.job.particles.target;
    char bytes[8] = {0};
    GRAFT_CUDA(cudaMemcpyAsync(bytes, view.at(entry), static_cast<size_t>(particles::element_size(view.type)),
                               cudaMemcpyDeviceToHost, c.queue.stream()));
    c.queue.wait();
    particles::ArrayView copy = view;
    copy.data = bytes;
    const int64_t given = particles::integer_at(copy, 0);
    if (twice)
        refuse_target_twice(entry, given);
    refuse_target(entry, given, c.job.particles.target_from_1 ? 1 : 0, c.job.n);
}

} // namespace

Repair::Repair() = default;
Repair::~Repair() = default;

void Repair::repair(Steps& s, const backend::DeviceStatus& status) {
    ++s.c.repeats;
    if (status.stop == backend::deep_cell)
        split_deep_cells(s);
    else if (status.stop == forces::needs_double || status.stop == particles::bad_result || status.stop == particles::too_light)
        take_double(s);
    else if (status.stop == forces::softened_beyond_range)
        core::fail(core::Status::value,
                   "a softening length is more than 1e60 times the distances between the particles; expected a length "
                   "of their scale. Look for one that is in another unit");
    else
        grow(s, status);
}

void Repair::split_deep_cells(Steps& s) {
    if (!take_root_of_most(s))
        build_on_host(s);
}

/// Where a few particles stand far outside, as bodies that blew up do: keys for a cube of what most of a sample span and a halo
/// about it, in which strays have those of the nearest cells. Boxes and radii of nodes hold them all the same; frames in single
/// precision do without them (forces/warp_tasks_gpu.cu). Once more: without the halo. False: the particles are no such case, or
/// were taken for one twice. Waits.
bool Repair::take_root_of_most(Steps& s) {
    constexpr int64_t sample_size = 1024, outside = sample_size / 32; // of these, on either side
    constexpr double halo = 64, far_outside = 0x1p11, too_far = 0x1p80; // times what most span
    Computation& c = s.c;
    const DeviceJob& job = c.job;
    const settings::Settings& settings = job.settings;
    if (!job.is_tree() || c.in_place() || job.over_ranks || settings.has_box || job.n < sample_size ||
        settings.tree_type != tree::TreeType::octree)
        return false;
    if (c.root_of_most.edge > 0) { // its cells are too large as well: without the halo
        if (!c.root_of_most.has_halo)
            return false;
        const double without = c.root_of_most.edge / halo * 2;
        for (double& lower : c.root_of_most.lower)
            lower += 0.5 * (c.root_of_most.edge - without);
        c.root_of_most.edge = without, c.root_of_most.has_halo = false;
        c.tree_from = TreeFrom::build;
        return true;
    }
    const double* const axes[3] = {s.import.x.data(), s.import.y.data(), s.import.z.data()};
    std::vector<double> sample[3];
    for (int a = 0; a < settings.dimension; ++a) {
        sample[a].resize(sample_size);
        GRAFT_CUDA(cudaMemcpy2DAsync(sample[a].data(), sizeof(double), axes[a],
                                     static_cast<size_t>(job.n / sample_size) * sizeof(double), sizeof(double),
                                     sample_size, cudaMemcpyDeviceToHost, c.queue.stream()));
    }
    tree::DeviceTreeCounts counts{};
    GRAFT_CUDA(cudaMemcpyAsync(&counts, s.tree.tree.counts.data(), sizeof counts, cudaMemcpyDeviceToHost,
                               c.queue.stream()));
    c.queue.wait();
    double edge = 0, middle[3] = {0, 0, 0};
    for (int a = 0; a < settings.dimension; ++a) {
        std::sort(sample[a].begin(), sample[a].end());
        const double low = sample[a][outside], high = sample[a][sample_size - 1 - outside];
        middle[a] = 0.5 * low + 0.5 * high;
        edge = std::max(edge, high - low);
    }
    if (!(edge > 0) || edge * far_outside > counts.root_edge || edge * too_far < counts.root_edge)
        return false;
    edge *= halo;
    for (int a = 0; a < 3; ++a)
        c.root_of_most.lower[a] = middle[a] - 0.5 * edge;
    c.root_of_most.edge = edge, c.root_of_most.has_halo = true;
    c.tree_from = TreeFrom::build;
    if (!job.uses_tasks() && settings.precision != settings::Precision::fp64)
        take_double(s); // a paper's kernel has frames that strays count in
    c.note = "a few particles are far outside: keys of the cube that holds most";
    return true;
}

void Repair::build_on_host(Steps& s) {
    Computation& c = s.c;
    const DeviceJob& job = c.job;
    s.give_columns_back(true);
    if (c.in_place())
        c.tree_from = TreeFrom::build;
    s.evaluate.field.resize(job.targets, job.with_potential);
    if (!host_tree_)
        host_tree_ = std::make_unique<HostTree>(c.host_memory);
    HostTree& h = *host_tree_;
    const backend::Executor executor = c.executor();
    const ImportStep& from = s.import;
    fetch_values(c.queue, from.x, from.x.size(), h.x), fetch_values(c.queue, from.y, from.y.size(), h.y);
    fetch_values(c.queue, from.z, from.z.size(), h.z);
    fetch_values(c.queue, from.charge, from.charge.size(), h.charge);
    fetch_values(c.queue, from.softening, from.softening.size(), h.softening);
    if (job.some())
        fetch_values(c.queue, from.marks(), from.marks().size(), h.active);
    c.queue.wait();
    const double* lengths = job.per_particle ? h.softening.data() : nullptr;
    if (job.is_tree())
        build_tree_on_host(s, executor, lengths);
    choose_targets_on_host(s, executor, lengths);
    lists::DeviceTargets& targets = s.targets.targets;
    targets.upload(c.queue, h.targets);
    targets.group_size = job.is_tree() ? job.settings.group : targets.group_size;
    c.tree_from = TreeFrom::host;
    TreeCounts& known = s.tree.known;
    known = {h.tree.node_count(), 0, h.tree.levels(), h.targets.group_count()};
    for (int32_t k = 0; k < h.tree.node_count(); ++k)
        known.leaves += h.tree.is_leaf(k) ? 1 : 0;
}

void Repair::build_tree_on_host(Steps& s, const backend::Executor& executor, const double* lengths) {
    Computation& c = s.c;
    HostTree& h = *host_tree_;
    tree::BuildTimes times;
    h.builder.build(executor, tree_options(c.job.settings), c.job.n, h.x.data(), h.y.data(), h.z.data(),
                    h.charge.data(), lengths, h.tree, times);
    moments::compute_moments(executor, h.tree, c.job.settings.order, h.moments);
    s.tree.tree.upload(c.queue, h.tree);
    s.tree.moments.upload(c.queue, h.moments, s.tree.tree.node_capacity());
    c.note = c.job.settings.tree_type == tree::TreeType::orb
                 ? "tree.type orb: the tree was built on the host"
                 : "cells too deep for 63-bit keys: the tree was built on the host";
}

void Repair::choose_targets_on_host(Steps& s, const backend::Executor& executor, const double* lengths) {
    Computation& c = s.c;
    const DeviceJob& job = c.job;
    HostTree& h = *host_tree_;
    const settings::Settings& settings = job.settings;
    h.target.resize(0);
    for (int64_t i = 0; job.some() && i < job.n; ++i)
        if (h.active[i] != 0)
            h.target.push_back(static_cast<int32_t>(i));
    if (job.is_tree() && !job.with_points) {
        if (job.all_targets)
            h.targets.set_all(executor, h.tree, settings.group);
        else
            h.targets.set_particles(executor, h.tree, h.target.size(), h.target.data(), settings.group);
        return;
    }
    if (job.with_points || !job.all_targets) { // points; or the direct method's targets, gathered
        const ImportStep& from = s.import;
        fetch_values(c.queue, from.point_x, job.targets, h.x);
        fetch_values(c.queue, from.point_y, job.targets, h.y);
        fetch_values(c.queue, from.point_z, job.targets, h.z);
        fetch_values(c.queue, from.point_length, job.per_particle ? job.targets : 0, h.target_softening);
        c.queue.wait();
        lengths = job.per_particle ? h.target_softening.data() : nullptr;
    }
    h.targets.set_points(executor, settings.dimension, job.targets, h.x.data(), h.y.data(), h.z.data(),
                         lengths, job.is_tree() ? settings.group : direct_block);
}

void Repair::raise_bad_value(Steps& s, const backend::DeviceStatus& status) {
    using particles::ImportArray;
    Computation& c = s.c;
    s.give_columns_back(false);
    const auto array = static_cast<ImportArray>(status.bad_array);
    const int64_t item = status.first_bad;
    if (status.bad_array == tree::bad_root || status.bad_array == tree::bad_span) {
        build_on_host(s); // which names the particle
        core::fail(core::Status::internal, "the tree was refused on the GPU, but not on the host");
    }
    if (array == ImportArray::charge_sum)
        refuse_infinite_charge();
    const auto value_of = [&](const auto& values) {
        double value = 0;
        GRAFT_CUDA(cudaMemcpyAsync(&value, values.data() + item, sizeof value, cudaMemcpyDeviceToHost,
                                   c.queue.stream()));
        c.queue.wait();
        return value;
    };
    if (array == ImportArray::target_range || array == ImportArray::target_twice)
        refuse_listed_target(c, array == ImportArray::target_twice, item);
    if (array == ImportArray::charge)
        particles::refuse_real("charge", item, value_of(s.import.charge), -std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::max());
    if (array == ImportArray::softening)
        particles::refuse_real("softening", item, value_of(s.import.softening), 0, largest_position);
    const int axis = static_cast<int>(array) % 5;
    const ImportStep& from = s.import;
    const backend::DeviceBuffer<double>* axes[2][3] = {{&from.x, &from.y, &from.z},
                                                       {&from.point_x, &from.point_y, &from.point_z}};
    particles::refuse_real(axis_names[axis], item,
                           value_of(*axes[array >= ImportArray::point_x ? 1 : 0][axis]), -largest_position,
                           largest_position);
}

} // namespace graft::engine
