// What end() does about a computation that stopped: larger buffers, a tree from the host, the caller's error.
#include "engine/checks.hpp"
#include "engine/gpu/host_tree_gpu.cuh"

#include "particles/transfer.hpp"

#include <algorithm>
#include <limits>

namespace graft::engine {

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

} // namespace

void DeviceForce::repair(const backend::DeviceStatus& status) {
    ++repeats_;
    if (status.stop == backend::deep_cell)
        build_on_host();
    else if (status.stop == forces::needs_double)
        take_double();
    else
        grow(status);
}

/// Bodies or softening lengths are out of single precision's range, as a body that blew up is.
void DeviceForce::take_double() {
    if (job_.over_ranks)
        core::fail(core::Status::value,
                   "distances or softening lengths are so large beside others that single precision cannot hold "
                   "their powers; several ranks with GPUs do not change to double by themselves. Look for a body "
                   "that blew up or a length in another unit, or take precision fp64");
    job_.settings.precision = settings::Precision::fp64;
    reusing_ = kept_.valid = false;
    note_ = "distances or softening lengths are out of single precision's range: computed in double";
}

void DeviceForce::grow(const backend::DeviceStatus& status) {
    bool grown = plan_again();
    if (job_.is_tree() && status.nodes_needed > tree_.node_capacity()) {
        const int64_t spare = lean_ ? status.nodes_needed / 64 : status.nodes_needed / 5;
        tree_.resize_nodes(status.nodes_needed + spare + 64);
        grown = true;
    }
    grown |= enlarge(targets_.groups, status.groups_needed);
    if (!grown)
        grown = grow_batch_room(status);
    if (!grown)
        core::fail(core::Status::internal,
                   "a buffer on the GPU was too small, but none is known that could grow (nodes %lld, groups "
                   "%lld, list entries %lld and %lld)",
                   static_cast<long long>(status.nodes_needed), static_cast<long long>(status.groups_needed),
                   static_cast<long long>(status.node_entries_needed),
                   static_cast<long long>(status.leaf_entries_needed));
}

/// Tree, moments and targets by the host's code, from the particles as they were imported.
void DeviceForce::build_on_host() {
    give_columns_back(true);
    lean_ = false;
    field_.resize(job_.targets, job_.with_potential);
    if (!host_tree_)
        host_tree_ = std::make_unique<HostTree>(host_memory_);
    HostTree& h = *host_tree_;
    const backend::Executor executor{host_memory_, backend::resolve_threads(job_.settings.threads)};
    const auto fetch_values = [&](const auto& from, auto& to) {
        to.resize(from.size());
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(),
                                   static_cast<size_t>(from.size()) * sizeof *to.data(),
                                   cudaMemcpyDeviceToHost, queue_.stream()));
    };
    fetch_values(x_, h.x), fetch_values(y_, h.y), fetch_values(z_, h.z), fetch_values(charge_, h.charge);
    fetch_values(softening_, h.softening);
    if (!job_.with_points && !job_.all_targets)
        fetch_values(active_, h.active);
    queue_.wait();
    const double* lengths = job_.per_particle ? h.softening.data() : nullptr;
    if (job_.is_tree()) {
        tree::BuildTimes times;
        h.builder.build(executor, tree_options(job_.settings), job_.n, h.x.data(), h.y.data(), h.z.data(),
                        h.charge.data(), lengths, h.tree, times);
        moments::compute_moments(executor, h.tree, job_.settings.order, h.moments);
        tree_.upload(queue_, h.tree);
        moments_.upload(queue_, h.moments, tree_.node_capacity());
        note_ = job_.settings.tree_type == tree::TreeType::orb
                    ? "tree.type orb: the tree was built on the host"
                    : "cells too deep for 63-bit keys: the tree was built on the host";
    }
    choose_targets_on_host(executor, lengths);
    targets_.upload(queue_, h.targets);
    targets_.group_size = job_.is_tree() ? job_.settings.group : targets_.group_size;
    host_built_ = true;
    host_groups_ = h.targets.group_count();
    host_nodes_ = h.tree.node_count(), host_levels_ = h.tree.levels(), host_leaves_ = 0;
    for (int32_t k = 0; k < h.tree.node_count(); ++k)
        host_leaves_ += h.tree.is_leaf(k) ? 1 : 0;
}

void DeviceForce::choose_targets_on_host(const backend::Executor& executor, const double* lengths) {
    HostTree& h = *host_tree_;
    const settings::Settings& settings = job_.settings;
    constexpr int direct_block = 256;
    h.target.resize(0);
    for (int64_t i = 0; !job_.with_points && !job_.all_targets && i < job_.n; ++i)
        if (h.active[i] != 0)
            h.target.push_back(static_cast<int32_t>(i));
    if (job_.is_tree() && !job_.with_points) {
        if (job_.all_targets)
            h.targets.set_all(executor, h.tree, settings.group);
        else
            h.targets.set_particles(executor, h.tree, h.target.size(), h.target.data(), settings.group);
        return;
    }
    if (job_.with_points || !job_.all_targets) { // points; or the direct method's targets, gathered
        for (auto [from, to] : {std::pair{&point_x_, &h.x}, {&point_y_, &h.y}, {&point_z_, &h.z}}) {
            to->resize(job_.targets);
            GRAFT_CUDA(cudaMemcpyAsync(to->data(), from->data(), static_cast<size_t>(job_.targets) * 8,
                                       cudaMemcpyDeviceToHost, queue_.stream()));
        }
        h.target_softening.resize(job_.per_particle ? job_.targets : 0);
        if (job_.per_particle)
            GRAFT_CUDA(cudaMemcpyAsync(h.target_softening.data(), point_length_.data(),
                                       static_cast<size_t>(job_.targets) * 8, cudaMemcpyDeviceToHost,
                                       queue_.stream()));
        queue_.wait();
        lengths = job_.per_particle ? h.target_softening.data() : nullptr;
    }
    h.targets.set_points(executor, settings.dimension, job_.targets, h.x.data(), h.y.data(), h.z.data(),
                         lengths, job_.is_tree() ? settings.group : direct_block);
}

void DeviceForce::raise_bad_value(const backend::DeviceStatus& status) {
    using particles::ImportArray;
    give_columns_back(false);
    const auto array = static_cast<ImportArray>(status.bad_array);
    const int64_t item = status.first_bad;
    if (status.bad_array == tree::bad_root || status.bad_array == tree::bad_span) {
        build_on_host(); // which names the particle
        core::fail(core::Status::internal, "the tree was refused on the GPU, but not on the host");
    }
    if (array == ImportArray::charge_sum)
        refuse_infinite_charge();
    const auto value_of = [&](const auto& values) {
        double value = 0;
        GRAFT_CUDA(cudaMemcpyAsync(&value, values.data() + item, sizeof value, cudaMemcpyDeviceToHost,
                                   queue_.stream()));
        queue_.wait();
        return value;
    };
    if (array == ImportArray::target_range || array == ImportArray::target_twice)
        refuse_listed_target(array == ImportArray::target_twice, item);
    if (array == ImportArray::charge)
        particles::refuse_real("charge", item, value_of(charge_), -std::numeric_limits<double>::max(),
                               std::numeric_limits<double>::max());
    if (array == ImportArray::softening)
        particles::refuse_real("softening", item, value_of(softening_), 0, largest_position);
    const int axis = static_cast<int>(array) % 5;
    const backend::DeviceBuffer<double>* axes[2][3] = {{&x_, &y_, &z_}, {&point_x_, &point_y_, &point_z_}};
    particles::refuse_real(axis_names[axis], item,
                           value_of(*axes[array >= ImportArray::point_x ? 1 : 0][axis]), -largest_position,
                           largest_position);
}

void DeviceForce::refuse_listed_target(bool twice, int64_t entry) {
    const particles::ArrayView& view = job_.particles.target;
    char bytes[8] = {0};
    GRAFT_CUDA(cudaMemcpyAsync(bytes, view.at(entry), static_cast<size_t>(particles::element_size(view.type)),
                               cudaMemcpyDeviceToHost, queue_.stream()));
    queue_.wait();
    particles::ArrayView copy = view;
    copy.data = bytes;
    const int64_t given = particles::integer_at(copy, 0);
    if (twice)
        refuse_target_twice(entry, given);
    refuse_target(entry, given, job_.particles.target_from_1 ? 1 : 0, job_.n);
}

} // namespace graft::engine
