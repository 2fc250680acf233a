// SPDX-License-Identifier: BSD-3-Clause
// Essential trees: the messages' way, and the receiver's side. See essential_tree.hpp.
#include "essential/essential_tree.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace graft::essential {

namespace {

constexpr int tag = 11;

} // namespace

LetExchange::LetExchange(core::Memory& memory)
    : memory_(memory), send_(memory, "essential trees to send"), receive_(memory, "essential trees received"),
      slots_(memory, "arrived branches") {}

void LetExchange::begin(const Frame& frame) {
    slots_.resize(frame.forest.top_end - frame.forest.own_end);
    std::fill(slots_.begin(), slots_.end(), tree::Node{0, 0, -1, 0, 0, 0});
    frame.forest.remote.resize_keep(0, frame.lengths);
    nodes_ = particles_ = 0;
}

void LetExchange::start(comm::Communicator& comm) {
    comm.together([&] {
        notices_.clear();
        requests_.reserve(2 * parcels_.size());
        for (int step = 1; step < comm.size(); ++step) {
            const int to = (comm.rank() + step) % comm.size();
            if (const int64_t bytes = parcels_[static_cast<size_t>(to)].bytes; bytes > 0)
                notices_.push_back({to, 0, 0, bytes});
        }
    });
    comm::route(comm, notices_);
    comm.together([&] {
        arrivals_.clear();
        int64_t total = 0;
        for (const comm::Notice& notice : notices_) {
            arrivals_.push_back({notice.from, notice.value, total});
            total += notice.value;
        }
        receive_.resize(total);
    });
    for (const Arrival& arrival : arrivals_)
        requests_.push_back(comm.irecv(receive_.data() + arrival.offset, arrival.bytes, arrival.from, tag));
    // Everyone begins with the next rank, so that not all send to the same one at once.
    for (int step = 1; step < comm.size(); ++step) {
        const int to = (comm.rank() + step) % comm.size();
        const Parcel& parcel = parcels_[static_cast<size_t>(to)];
        if (parcel.bytes > 0)
            requests_.push_back(comm.isend(send_.data() + parcel.offset, parcel.bytes, to, tag));
    }
}

MessageHeader LetExchange::header(const Arrival& arrival) const {
    MessageHeader h{};
    std::memcpy(&h, receive_.data() + arrival.offset, sizeof h);
    return h;
}

void LetExchange::unpack(const Frame& frame, NodeOrigins* origins) {
    const bool all = content_ == Content::all;
    Forest& forest = frame.forest;
    int64_t node = forest.tree.node_count(), particle = forest.remote.x.size();
    std::vector<int64_t> node_begin, particle_begin;
    for (const Arrival& arrival : arrivals_) {
        const MessageHeader h = header(arrival);
        node_begin.push_back(node);
        particle_begin.push_back(particle);
        node += h.nodes;
        particle += h.particles;
    }
    if (node > std::numeric_limits<int32_t>::max())
        core::fail(core::Status::unsupported,
                   "%lld tree nodes of all ranks meet on this one; at most 2^31 - 1 fit. Use a larger theta, "
                   "or domains "
                   "that do not overlap",
                   static_cast<long long>(node));
    if (all)
        forest.resize_remote(frame.settings, node, particle, frame.lengths, record_bytes_);
    else
        forest.resize_masses(node, frame.lengths);
    if (origins != nullptr) {
        origins->owner.resize_keep(node - forest.top_end);
        origins->source.resize_keep(node - forest.top_end);
        origins->kind.resize_keep(node - forest.top_end);
    }
    frame.executor.for_each(
        static_cast<int64_t>(arrivals_.size()),
        [&](int64_t i) {
            const auto k = static_cast<size_t>(i);
            unpack_one(frame, arrivals_[k], header(arrivals_[k]), node_begin[k], particle_begin[k], origins);
        },
        1);
    if (!all)
        return;
    for (const Arrival& arrival : arrivals_) {
        const MessageHeader h = header(arrival);
        nodes_ += h.nodes;
        particles_ += h.particles;
    }
}

void LetExchange::unpack_one(const Frame& frame, const Arrival& arrival, const MessageHeader& h,
                             int64_t node_begin, int64_t particle_begin, NodeOrigins* origins) {
    Forest& forest = frame.forest;
    const bool all = content_ == Content::all;
    const Sections from = sections(receive_.data() + arrival.offset, h, node_bytes(), record_bytes_);
    int64_t next = node_begin, particle = particle_begin;
    const auto link = [&](tree::Node& node, int64_t children, int64_t particles) {
        if (children > 0) {
            node.first_child = static_cast<int32_t>(next);
            node.child_count = static_cast<int32_t>(children);
        }
        if (particles > 0) {
            node.first = particle;
            node.count = particles;
        }
        next += children;
        particle += particles;
    };
    for (int64_t i = 0; i < h.roots; ++i) {
        const int32_t node = forest.own_end + from.roots[i].number;
        link(node < forest.top_end ? slots_[from.roots[i].number] : forest.tree.nodes[node],
             from.roots[i].child_count, from.roots[i].particle_count);
    }
    for (int64_t i = 0; i < h.nodes; ++i) {
        const int64_t node = node_begin + i;
        forest.tree.nodes[node] = {0, 0, -1, 0, 0, 0};
        const char* at = from.nodes + i * node_bytes();
        if (!all) {
            PackedMass mass;
            std::memcpy(&mass, at, sizeof mass);
            forest.set_mass(node, mass);
            link(forest.tree.nodes[node], mass.child_count, 0);
            continue;
        }
        PackedNode packed;
        std::memcpy(&packed, at, sizeof packed);
        forest.set_remote(node, packed);
        link(forest.tree.nodes[node], packed.child_count, packed.particle_count);
        if (origins != nullptr) {
            const int64_t place = node - forest.top_end;
            const bool complete = packed.child_count > 0 || packed.particle_count > 0;
            origins->owner[place] = arrival.from;
            origins->source[place] = packed.source;
            origins->kind[place] = complete ? NodeKind::complete : packed.kind;
        }
    }
    if (!all)
        return;
    std::memcpy(forest.expansion_bytes(frame.settings) + node_begin * record_bytes_, from.records,
                static_cast<size_t>(h.nodes * record_bytes_));
    core::Buffer<double>* to[5] = {&forest.remote.x, &forest.remote.y, &forest.remote.z,
                                   &forest.remote.charge, &forest.remote.softening};
    for (int c = 0; c < particle_columns_; ++c)
        std::copy_n(from.particles + c * h.particles, h.particles, to[c]->data() + particle_begin);
}

void LetExchange::apply(const Frame& frame) const {
    Forest& forest = frame.forest;
    for (int32_t node = forest.own_end; node < forest.top_end; ++node) {
        const Branch* branch = frame.top.branch(forest, node);
        if (branch == nullptr || branch->rank == frame.top.rank())
            continue;
        forest.tree.nodes[node] = slots_[node - forest.own_end];
        if (content_ == Content::all)
            forest.link_remote(node);
    }
    if (content_ == Content::all)
        frame.executor.for_each(
            forest.tree.node_count() - forest.top_end,
            [&](int64_t i) { forest.link_remote(forest.top_end + static_cast<int32_t>(i)); }, 1024);
    frame.top.link(forest);
}

} // namespace graft::essential
