// SPDX-License-Identifier: BSD-3-Clause
// What has come from other ranks becomes one tree: the receiver's side of gpu_message.hpp on the device.
#include "engine/ranks/ranks_engine_gpu.cuh"

#include "essential/forest.hpp"

#include <algorithm>
#include <limits>

namespace graft::engine {

static_assert(essential::most_sent_levels == tree::max_device_levels);

void* DeviceRanks::receive(int64_t bytes, bool on_device) {
    forest_.arrived.resize(std::max<int64_t>(bytes, 16));
    if (on_device)
        return forest_.arrived.data();
    forest_.host_arrived.resize(std::max<int64_t>(bytes, 16));
    return forest_.host_arrived.data();
}

/// Room for the nodes and particles of the plan.
void DeviceRanks::resize_forest(const essential::RemotePlan& plan) {
    Computation& c = s_.c;
    const settings::Settings& settings = c.job.settings;
    const int64_t nodes = plan.nodes, particles = plan.particles;
    forest_.tree.options = s_.tree.tree.options;
    forest_.tree.options.type = tree::TreeType::octree;
    forest_.tree.options.dimension = settings.dimension;
    forest_.tree.options.leaf = std::numeric_limits<int>::max(); // heaps have come as one particle
    forest_.tree.n = frame_.all_particles;                       // charges are scaled for all
    forest_.tree.counts.resize(1), forest_.tree.nodes.resize(nodes), forest_.tree.boxes.resize(nodes);
    for (backend::DeviceBuffer<double>* values :
         {&forest_.tree.x, &forest_.tree.y, &forest_.tree.z, &forest_.tree.charge}) {
        values->resize(std::max<int64_t>(particles, 1)); // particle 0 is read where there is none
        if (particles == 0)
            GRAFT_CUDA(cudaMemsetAsync(values->data(), 0, sizeof(double), c.queue.stream()));
    }
    forest_.tree.softening.resize(c.job.per_particle ? std::max<int64_t>(particles, 1) : 0);
    forest_.moments.order = settings.order;
    for (backend::DeviceBuffer<double>* values :
         {&forest_.moments.cx, &forest_.moments.cy, &forest_.moments.cz, &forest_.moments.radius,
          &forest_.moments.rho, &forest_.moments.magnitude})
        values->resize(nodes);
    forest_.moments.values.resize(shape_.terms);
    forest_.moments.softening_square.resize(c.job.per_particle ? nodes : 0);
    const bool full = settings.precision == settings::Precision::fp64;
    forest_.moments.full.resize(full ? nodes * (shape_.record_bytes / 8) : 0);
    forest_.moments.single.resize(full ? 0 : nodes * (shape_.record_bytes / 4));
    forest_.criterion.options = essential::criterion_options(settings);
    forest_.criterion.root = 0, forest_.criterion.levels = plan.levels, forest_.criterion.skin = 0;
    forest_.criterion.resize_nodes(nodes, c.job.per_particle);
}

essential::RemoteNodes DeviceRanks::remote_nodes() {
    Computation& c = s_.c;
    if (shape_.content == essential::RankContent::masses) {
        essential::RemoteNodes masses{};
        masses.coarse = forest_.coarse.data();
        return masses;
    }
    const auto numbers = [](auto& buffer) {
        return reinterpret_cast<double*>(buffer.data() + lists::mac_shift);
    };
    return {forest_.tree.nodes.data(),
            forest_.tree.boxes.data(),
            numbers(forest_.criterion.xy),
            numbers(forest_.criterion.za),
            reinterpret_cast<essential::RankLink*>(forest_.criterion.links.data() + lists::mac_shift),
            forest_.criterion.softening.data(),
            forest_.moments.cx.data(),
            forest_.moments.cy.data(),
            forest_.moments.cz.data(),
            forest_.moments.radius.data(),
            forest_.moments.rho.data(),
            forest_.moments.magnitude.data(),
            forest_.moments.softening_square.data(),
            c.job.settings.precision == settings::Precision::fp64
                ? reinterpret_cast<char*>(forest_.moments.full.data())
                : reinterpret_cast<char*>(forest_.moments.single.data()),
            nullptr};
}

/// Enqueued.
void DeviceRanks::take(essential::RankContent content, bool on_device, const RankArrival* arrivals,
                       int32_t count) {
    Computation& c = s_.c;
    shape_.content = content;
    std::vector<essential::RankHeader> headers;
    int64_t bytes = 0;
    for (int32_t s = 0; s < count; ++s) {
        headers.push_back(arrivals[s].header);
        bytes = arrivals[s].offset + essential::message_bytes(shape_, arrivals[s].header);
    }
    const bool masses = content == essential::RankContent::masses;
    const essential::RemotePlan plan = essential::plan_remote(headers, 1 << c.job.settings.dimension);
    (masses ? forest_.coarse_nodes : forest_.nodes) = plan.nodes;
    forest_.particles = masses ? 0 : plan.particles;
    if (plan.nodes == 0)
        return;
    masses ? forest_.coarse.resize(plan.nodes) : resize_forest(plan);
    if (!on_device)
        GRAFT_CUDA(cudaMemcpyAsync(forest_.arrived.data(), forest_.host_arrived.data(),
                                   static_cast<size_t>(bytes), cudaMemcpyHostToDevice, c.queue.stream()));
    const essential::RemoteNodes to = remote_nodes();
    const auto supers = static_cast<int32_t>(plan.supers.size());
    forest_.supers.resize(supers), forest_.host_supers.resize(supers);
    std::copy(plan.supers.begin(), plan.supers.end(), forest_.host_supers.data());
    GRAFT_CUDA(cudaMemcpyAsync(forest_.supers.data(), forest_.host_supers.data(),
                               static_cast<size_t>(supers) * sizeof(essential::SuperNode),
                               cudaMemcpyHostToDevice, c.queue.stream()));
    put_supers(c.queue, forest_.supers.data(), supers, shape_, to);
    double* const columns[5] = {forest_.tree.x.data(), forest_.tree.y.data(), forest_.tree.z.data(),
                                forest_.tree.charge.data(), forest_.tree.softening.data()};
    for (int32_t s = 0; s < count; ++s) {
        const essential::RankHeader& header = headers[static_cast<size_t>(s)];
        const essential::RankOffsets& place = plan.places[static_cast<size_t>(s)];
        const essential::RankSections from =
            essential::sections_of(forest_.arrived.data() + arrivals[s].offset, shape_, header);
        take_nodes(c.queue, from, shape_, header, place, to);
        for (int k = 0; k < (shape_.lengths ? 5 : 4) && !masses && header.particles > 0; ++k)
            GRAFT_CUDA(cudaMemcpyAsync(columns[k] + place.particle, from.particle[k],
                                       static_cast<size_t>(header.particles) * sizeof(double),
                                       cudaMemcpyDeviceToDevice, c.queue.stream()));
    }
    if (!masses)
        close_forest(c.queue, static_cast<int32_t>(plan.nodes), plan.levels, plan.charge, plan.magnitude,
                     forest_.tree.counts.data(), forest_.moments.values.data(),
                     forest_.moments.magnitude.data());
}

} // namespace graft::engine
