// See let.hpp.
#include "pipeline/let.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace graft::pipeline {

namespace {

constexpr int tag = 11;

int64_t source_count(const Forest& forest, int32_t node) {
    return forest.source_of(node).count;
}

/// Where the sections of a message begin.
struct Sections {
    WireRoot* roots;
    char* nodes;
    char* records;
    double* particles; // x..., y..., z..., charge..., softening...
};

Sections sections(char* message, const WireHeader& header, int64_t node_bytes, int64_t record_bytes) {
    Sections s;
    s.roots = reinterpret_cast<WireRoot*>(message + sizeof(WireHeader));
    s.nodes = reinterpret_cast<char*>(s.roots + header.roots);
    s.records = s.nodes + header.nodes * node_bytes;
    s.particles = reinterpret_cast<double*>(s.records + header.nodes * record_bytes);
    return s;
}

} // namespace

LetExchange::LetExchange(core::Memory& memory)
    : memory_(memory), send_(memory, "essential trees to send"),
      receive_(memory, "essential trees received") {}

int64_t LetExchange::message_bytes(const WireHeader& h) const {
    if (h.roots == 0)
        return 0;
    const int64_t node_bytes = content_ == Content::all ? sizeof(WireNode) : sizeof(WireMass);
    return static_cast<int64_t>(sizeof(WireHeader) + sizeof(WireRoot) * static_cast<size_t>(h.roots)) +
           h.nodes * (node_bytes + record_bytes_) + h.particles * (softening_ ? 5 : 4) * 8;
}

void LetExchange::open(const Forest& forest, const lists::Criterion& criterion, const Domains& domains,
                       int rank) {
    const auto r = static_cast<size_t>(rank);
    std::vector<uint8_t>& wanted = wanted_roots_[r];
    wanted.resize(static_cast<size_t>(forest.own_roots()));
    for (int32_t k = 0; k < forest.own_roots(); ++k)
        wanted[static_cast<size_t>(k)] = criterion.links[k].child_count == 0;
    openings_[r].clear();
    lists::open_for_targets(lists::walk_input(forest.tree, criterion), 0, forest.own_roots(),
                            domains.boxes(rank), domains.count(rank), wanted.data(), openings_[r]);
}

void LetExchange::measure(const Forest& forest, const lists::Criterion& criterion, int rank) {
    const auto r = static_cast<size_t>(rank);
    WireHeader& h = headers_[r];
    h = {};
    for (int32_t k = 0; k < forest.own_roots() && content_ == Content::all; ++k)
        if (wanted_roots_[r][static_cast<size_t>(k)] != 0)
            ++h.roots, h.particles += source_count(forest, k);
    for (const lists::Opening& opening : openings_[r]) {
        const lists::Link& link = criterion.links[opening.node];
        h.roots += opening.node < forest.own_roots();
        h.nodes += link.child_count;
        for (uint32_t left = opening.leaves; left != 0 && content_ == Content::all; left &= left - 1)
            h.particles += source_count(forest, link.first_child + std::countr_zero(left));
    }
}

void LetExchange::fill(const Settings& settings, const Forest& forest, const lists::Criterion& criterion,
                       int rank) {
    const auto r = static_cast<size_t>(rank);
    if (send_bytes_[r] == 0)
        return;
    const WireHeader h = headers_[r];
    char* message = send_.data() + send_offset_[r];
    std::memcpy(message, &h, sizeof h);
    const bool all = content_ == Content::all;
    Sections to = sections(message, h, all ? sizeof(WireNode) : sizeof(WireMass), record_bytes_);
    const char* records = settings.precision == Precision::fp64
                              ? reinterpret_cast<const char*>(forest.full.data())
                              : reinterpret_cast<const char*>(forest.single.data());
    int64_t particle = 0;
    const auto put_particles = [&](int32_t node) {
        const Forest::Source source = forest.source_of(node);
        const double* from[5] = {source.from.x, source.from.y, source.from.z, source.from.charge,
                                 source.from.softening};
        for (int c = 0; c < (softening_ ? 5 : 4); ++c)
            std::copy_n(from[c] + source.first, source.count, to.particles + c * h.particles + particle);
        particle += source.count;
        return static_cast<int32_t>(source.count);
    };
    const auto put_node = [&](int32_t k, bool opened, bool wanted) {
        const int32_t children = opened ? criterion.links[k].child_count : 0;
        const moments::Moments& m = forest.moments;
        if (!all) {
            const WireMass mass{
                {m.cx[k], m.cy[k], m.cz[k]}, m.magnitude[k], forest.tree.boxes[k].longest_edge(), children};
            std::memcpy(to.nodes, &mass, sizeof mass);
            to.nodes += sizeof mass;
            return;
        }
        const bool lengths = !m.softening.empty();
        const WireNode node{{m.cx[k], m.cy[k], m.cz[k]},
                            criterion.a[k],
                            criterion.b[k],
                            m.radius[k] > 0 ? m.rho[k] : 0,
                            lengths ? m.softening[k] : 0,
                            lengths ? m.softening_square[k] : 0,
                            forest.tree.boxes[k],
                            children,
                            wanted ? put_particles(k) : 0};
        std::memcpy(to.nodes, &node, sizeof node);
        std::memcpy(to.records, records + k * record_bytes_, static_cast<size_t>(record_bytes_));
        to.nodes += sizeof node, to.records += record_bytes_;
    };
    for (int32_t k = 0; k < forest.own_roots() && all; ++k)
        if (wanted_roots_[r][static_cast<size_t>(k)] != 0)
            *to.roots++ = {k, 0, put_particles(k), 0};
    for (const lists::Opening& opening : openings_[r]) {
        const lists::Link& link = criterion.links[opening.node];
        if (opening.node < forest.own_roots())
            *to.roots++ = {opening.node, link.child_count, 0, 0};
        for (int c = 0; c < link.child_count; ++c)
            put_node(link.first_child + c, opening.opened >> c & 1, opening.leaves >> c & 1);
    }
}

void LetExchange::pack(const comm::Communicator& comm, const backend::Executor& executor,
                       const Settings& settings, const Forest& forest, const lists::Criterion& criterion,
                       const Domains& domains, Content content, int64_t record_bytes) {
    const auto ranks = static_cast<size_t>(comm.size());
    content_ = content;
    record_bytes_ = content == Content::all ? record_bytes : 0;
    softening_ = content == Content::all && !forest.moments.softening.empty();
    while (openings_.size() < ranks)
        openings_.emplace_back(memory_, "opened nodes");
    wanted_roots_.resize(ranks);
    headers_.assign(ranks, WireHeader{});
    for (std::vector<int64_t>* values :
         {&send_bytes_, &send_offset_, &receive_bytes_, &receive_offset_, &ones_, &places_})
        values->resize(ranks + 1);
    requests_.reserve(2 * ranks);
    executor.for_each(
        comm.size(),
        [&](int64_t i) {
            const int rank = static_cast<int>(i);
            if (rank == comm.rank())
                return;
            open(forest, criterion, domains, rank);
            measure(forest, criterion, rank);
        },
        1);
    int64_t total = 0;
    for (size_t r = 0; r < ranks; ++r) {
        send_offset_[r] = total;
        total += send_bytes_[r] = message_bytes(headers_[r]);
    }
    send_.resize(total);
    executor.for_each(
        comm.size(), [&](int64_t i) { fill(settings, forest, criterion, static_cast<int>(i)); }, 1);
}

void LetExchange::start(comm::Communicator& comm) {
    const int ranks = comm.size();
    for (int r = 0; r < ranks; ++r) {
        ones_[static_cast<size_t>(r)] = sizeof(int64_t);
        places_[static_cast<size_t>(r)] = r * static_cast<int64_t>(sizeof(int64_t));
    }
    comm.alltoallv_bytes(send_bytes_.data(), ones_.data(), places_.data(), receive_bytes_.data(),
                         ones_.data(), places_.data());
    comm.together([&] {
        int64_t total = 0;
        for (int r = 0; r < ranks; ++r) {
            receive_offset_[static_cast<size_t>(r)] = total;
            total += receive_bytes_[static_cast<size_t>(r)];
        }
        receive_.resize(total);
    });
    // Everyone begins with the next rank, so that not all send to the same one at once.
    for (int step = 1; step < ranks; ++step) {
        const int from = (comm.rank() + ranks - step) % ranks;
        if (const int64_t bytes = receive_bytes_[static_cast<size_t>(from)]; bytes > 0)
            requests_.push_back(
                comm.irecv(receive_.data() + receive_offset_[static_cast<size_t>(from)], bytes, from, tag));
    }
    for (int step = 1; step < ranks; ++step) {
        const int to = (comm.rank() + step) % ranks;
        if (const int64_t bytes = send_bytes_[static_cast<size_t>(to)]; bytes > 0)
            requests_.push_back(
                comm.isend(send_.data() + send_offset_[static_cast<size_t>(to)], bytes, to, tag));
    }
}

WireHeader LetExchange::header(int rank) const {
    WireHeader h{};
    if (receive_bytes_[static_cast<size_t>(rank)] > 0)
        std::memcpy(&h, receive_.data() + receive_offset_[static_cast<size_t>(rank)], sizeof h);
    return h;
}

int64_t LetExchange::nodes_received() const {
    int64_t sum = 0;
    for (size_t r = 0; r < headers_.size(); ++r)
        sum += header(static_cast<int>(r)).nodes;
    return sum;
}

int64_t LetExchange::particles_received() const {
    int64_t sum = 0;
    for (size_t r = 0; r < headers_.size(); ++r)
        sum += header(static_cast<int>(r)).particles;
    return sum;
}

void LetExchange::unpack(const backend::Executor& executor, const Settings& settings, const TopTree& top,
                         Forest& forest, bool per_particle_softening) const {
    const bool all = content_ == Content::all;
    const int64_t nodes = forest.top_end + nodes_received();
    if (nodes > std::numeric_limits<int32_t>::max())
        core::fail(
            core::Status::unsupported,
            "%lld tree nodes of all ranks meet on this one; at most 2^31 - 1 fit. Use a larger theta, or "
            "domains that do not overlap",
            static_cast<long long>(nodes));
    moments::Moments& m = forest.moments;
    forest.tree.nodes.resize_keep(nodes);
    forest.tree.boxes.resize_keep(nodes);
    for (core::Buffer<double>* values : {&m.cx, &m.cy, &m.cz})
        values->resize_keep(nodes);
    if (!all) {
        m.magnitude.resize_keep(nodes);
    } else {
        for (core::Buffer<double>* values : {&m.radius, &m.rho})
            values->resize_keep(nodes);
        m.softening_square.resize_keep(per_particle_softening ? nodes : 0);
        forest.criterion.resize_keep(nodes, per_particle_softening);
        const int64_t numbers = record_bytes_ / (settings.precision == Precision::fp64 ? 8 : 4);
        settings.precision == Precision::fp64 ? forest.full.resize_keep(nodes * numbers)
                                              : forest.single.resize_keep(nodes * numbers);
        forest.remote.resize_keep(particles_received(), per_particle_softening);
    }
    std::vector<int64_t> node_begin, particle_begin;
    int64_t node = forest.top_end, particle = 0;
    for (size_t r = 0; r < headers_.size(); ++r) {
        node_begin.push_back(node), particle_begin.push_back(particle);
        const WireHeader h = header(static_cast<int>(r));
        node += h.nodes, particle += h.particles;
    }
    executor.for_each(
        static_cast<int64_t>(headers_.size()),
        [&](int64_t r) {
            if (receive_bytes_[static_cast<size_t>(r)] > 0)
                unpack_one(settings, top, forest, static_cast<int>(r), node_begin[static_cast<size_t>(r)],
                           particle_begin[static_cast<size_t>(r)]);
        },
        1);
    top.link(forest);
}

void LetExchange::unpack_one(const Settings& settings, const TopTree& top, Forest& forest, int rank,
                             int64_t node_begin, int64_t particle_begin) const {
    const WireHeader h = header(rank);
    const bool all = content_ == Content::all;
    char* message = const_cast<char*>(receive_.data()) + receive_offset_[static_cast<size_t>(rank)];
    const Sections from = sections(message, h, all ? sizeof(WireNode) : sizeof(WireMass), record_bytes_);
    moments::Moments& m = forest.moments;
    int64_t next = node_begin, particle = particle_begin;
    const auto link = [&](int32_t node, int64_t children, int64_t particles) {
        forest.tree.nodes[node] = {children > 0 ? static_cast<int32_t>(next) : 0,
                                   static_cast<int32_t>(children),
                                   -1,
                                   0,
                                   particle,
                                   particles};
        if (all)
            forest.criterion.links[node] = {static_cast<int32_t>(children > 0 ? next : 0),
                                            static_cast<uint8_t>(children), 0, 0};
        next += children;
        particle += particles;
    };
    for (int64_t i = 0; i < h.roots; ++i)
        link(top.slot(rank, from.roots[i].number), from.roots[i].child_count, from.roots[i].particle_count);
    for (int64_t i = 0; i < h.nodes; ++i) {
        const int64_t node = node_begin + i;
        if (!all) {
            WireMass mass;
            std::memcpy(&mass, from.nodes + i * static_cast<int64_t>(sizeof mass), sizeof mass);
            m.cx[node] = mass.centre[0], m.cy[node] = mass.centre[1], m.cz[node] = mass.centre[2];
            m.magnitude[node] = mass.magnitude;
            forest.tree.boxes[node] = {{0, 0, 0}, {mass.edge, 0, 0}}; // only its size is asked for
            link(static_cast<int32_t>(node), mass.child_count, 0);
            continue;
        }
        WireNode wire;
        std::memcpy(&wire, from.nodes + i * static_cast<int64_t>(sizeof wire), sizeof wire);
        m.cx[node] = wire.centre[0], m.cy[node] = wire.centre[1], m.cz[node] = wire.centre[2];
        m.radius[node] = wire.rho;
        m.rho[node] = wire.rho > 0 ? wire.rho : 1;
        lists::Criterion& criterion = forest.criterion;
        criterion.cx[node] = wire.centre[0], criterion.cy[node] = wire.centre[1],
        criterion.cz[node] = wire.centre[2];
        criterion.a[node] = wire.a, criterion.b[node] = wire.b;
        if (!m.softening_square.empty())
            m.softening_square[node] = wire.softening_square, criterion.softening[node] = wire.softening;
        forest.tree.boxes[node] = wire.box;
        link(static_cast<int32_t>(node), wire.child_count, wire.particle_count);
    }
    if (!all)
        return;
    for (int64_t node = node_begin; node < node_begin + h.nodes; ++node) { // children are linked by now
        lists::Link& to = forest.criterion.links[node];
        for (int c = 0; c < to.child_count; ++c)
            if (forest.criterion.links[to.first_child + c].child_count == 0)
                to.terminal_mask = static_cast<uint8_t>(to.terminal_mask | 1 << c);
    }
    for (int64_t i = 0; i < h.roots; ++i) {
        lists::Link& to = forest.criterion.links[top.slot(rank, from.roots[i].number)];
        for (int c = 0; c < to.child_count; ++c)
            if (forest.criterion.links[to.first_child + c].child_count == 0)
                to.terminal_mask = static_cast<uint8_t>(to.terminal_mask | 1 << c);
    }
    char* records = settings.precision == Precision::fp64 ? reinterpret_cast<char*>(forest.full.data())
                                                          : reinterpret_cast<char*>(forest.single.data());
    std::memcpy(records + node_begin * record_bytes_, from.records,
                static_cast<size_t>(h.nodes * record_bytes_));
    core::Buffer<double>* to[5] = {&forest.remote.x, &forest.remote.y, &forest.remote.z,
                                   &forest.remote.charge, &forest.remote.softening};
    for (int c = 0; c < (forest.remote.softening.empty() ? 4 : 5); ++c)
        std::copy_n(from.particles + c * h.particles, h.particles, to[c]->data() + particle_begin);
}

} // namespace graft::pipeline
