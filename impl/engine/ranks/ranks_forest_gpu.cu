// What has come from other ranks becomes one tree: the receiver's side of message_gpu.hpp on the device.
#include "engine/ranks/ranks_engine_gpu.cuh"

#include "essential/forest.hpp"

#include <algorithm>
#include <limits>

namespace graft::engine {

void* DeviceForce::ranks_receive(int64_t bytes, bool on_device) {
    Ranks& r = ranks();
    r.arrived.resize(std::max<int64_t>(bytes, 16));
    if (on_device)
        return r.arrived.data();
    r.host_arrived.resize(std::max<int64_t>(bytes, 16));
    return r.host_arrived.data();
}

/// Room for the nodes and particles of the plan.
void DeviceForce::ranks_resize_forest(const essential::RemotePlan& plan) {
    Ranks& r = ranks();
    const settings::Settings& settings = job_.settings;
    const int64_t nodes = plan.nodes, particles = plan.particles;
    r.tree.options = tree_.options;
    r.tree.options.type = tree::TreeType::octree;
    r.tree.options.dimension = settings.dimension;
    r.tree.options.leaf = std::numeric_limits<int>::max(); // heaps have come as one particle
    r.tree.n = r.frame.all_particles;                      // charges are scaled for all
    r.tree.counts.resize(1), r.tree.nodes.resize(nodes), r.tree.boxes.resize(nodes);
    for (backend::DeviceBuffer<double>* values : {&r.tree.x, &r.tree.y, &r.tree.z, &r.tree.charge})
        values->resize(std::max<int64_t>(particles, 1)); // particle 0 is read where there is none
    r.tree.softening.resize(job_.per_particle ? std::max<int64_t>(particles, 1) : 0);
    r.moments.order = settings.order;
    for (backend::DeviceBuffer<double>* values : {&r.moments.cx, &r.moments.cy, &r.moments.cz,
                                                  &r.moments.radius, &r.moments.rho, &r.moments.magnitude})
        values->resize(nodes);
    r.moments.values.resize(r.shape.terms);
    r.moments.softening_square.resize(job_.per_particle ? nodes : 0);
    const bool full = settings.precision == settings::Precision::fp64;
    r.moments.full.resize(full ? nodes * (r.shape.record_bytes / 8) : 0);
    r.moments.single.resize(full ? 0 : nodes * (r.shape.record_bytes / 4));
    r.criterion.options = essential::criterion_options(settings);
    r.criterion.root = 0, r.criterion.levels = plan.levels, r.criterion.skin = 0;
    r.criterion.resize_nodes(nodes, job_.per_particle);
}

essential::RemoteNodes DeviceForce::ranks_remote_nodes() {
    Ranks& r = ranks();
    if (r.shape.content == essential::RankContent::masses) {
        essential::RemoteNodes masses{};
        masses.coarse = r.coarse.data();
        return masses;
    }
    const auto numbers = [](auto& buffer) {
        return reinterpret_cast<double*>(buffer.data() + lists::mac_shift);
    };
    return {r.tree.nodes.data(),
            r.tree.boxes.data(),
            numbers(r.criterion.xy),
            numbers(r.criterion.za),
            reinterpret_cast<essential::RankLink*>(r.criterion.links.data() + lists::mac_shift),
            r.criterion.softening.data(),
            r.moments.cx.data(),
            r.moments.cy.data(),
            r.moments.cz.data(),
            r.moments.radius.data(),
            r.moments.rho.data(),
            r.moments.magnitude.data(),
            r.moments.softening_square.data(),
            job_.settings.precision == settings::Precision::fp64 ? reinterpret_cast<char*>(r.moments.full.data())
                                                       : reinterpret_cast<char*>(r.moments.single.data()),
            nullptr};
}

/// Enqueued.
void DeviceForce::ranks_take(essential::RankContent content, bool on_device, const RankArrival* arrivals,
                             int32_t count) {
    Ranks& r = ranks();
    r.shape.content = content;
    std::vector<essential::RankHeader> headers;
    int64_t bytes = 0;
    for (int32_t s = 0; s < count; ++s) {
        headers.push_back(arrivals[s].header);
        bytes = arrivals[s].offset + essential::message_bytes(r.shape, arrivals[s].header);
    }
    const bool masses = content == essential::RankContent::masses;
    const essential::RemotePlan plan = essential::plan_remote(headers, 1 << job_.settings.dimension);
    (masses ? r.coarse_nodes : r.nodes) = plan.nodes;
    r.particles = masses ? 0 : plan.particles;
    if (plan.nodes == 0)
        return;
    masses ? r.coarse.resize(plan.nodes) : ranks_resize_forest(plan);
    if (!on_device)
        GRAFT_CUDA(cudaMemcpyAsync(r.arrived.data(), r.host_arrived.data(), static_cast<size_t>(bytes),
                                   cudaMemcpyHostToDevice, queue_.stream()));
    const essential::RemoteNodes to = ranks_remote_nodes();
    const auto supers = static_cast<int32_t>(plan.supers.size());
    r.supers.resize(supers), r.host_supers.resize(supers);
    std::copy(plan.supers.begin(), plan.supers.end(), r.host_supers.data());
    GRAFT_CUDA(cudaMemcpyAsync(r.supers.data(), r.host_supers.data(),
                               static_cast<size_t>(supers) * sizeof(essential::SuperNode), cudaMemcpyHostToDevice,
                               queue_.stream()));
    put_supers(queue_, r.supers.data(), supers, r.shape, to);
    double* const columns[5] = {r.tree.x.data(), r.tree.y.data(), r.tree.z.data(), r.tree.charge.data(),
                                r.tree.softening.data()};
    for (int32_t s = 0; s < count; ++s) {
        const essential::RankHeader& header = headers[static_cast<size_t>(s)];
        const essential::RankPlace& place = plan.places[static_cast<size_t>(s)];
        const essential::RankSections from = essential::sections_of(r.arrived.data() + arrivals[s].offset, r.shape, header);
        take_nodes(queue_, from, r.shape, header, place, to);
        for (int c = 0; c < (r.shape.lengths ? 5 : 4) && !masses && header.particles > 0; ++c)
            GRAFT_CUDA(cudaMemcpyAsync(columns[c] + place.particle, from.particle[c],
                                       static_cast<size_t>(header.particles) * sizeof(double),
                                       cudaMemcpyDeviceToDevice, queue_.stream()));
    }
    if (!masses)
        close_forest(queue_, static_cast<int32_t>(plan.nodes), plan.levels, plan.charge, plan.magnitude,
                     r.tree.counts.data(), r.moments.values.data(), r.moments.magnitude.data());
}

} // namespace graft::engine
