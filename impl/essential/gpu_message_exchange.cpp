// SPDX-License-Identifier: BSD-3-Clause
// See gpu_message_exchange.hpp. Compiled without fused multiply-adds.
#include "essential/gpu_message_exchange.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace graft::essential {

namespace {

std::vector<RankHeader> headers_of(const std::vector<RankExchange::Arrival>& arrivals) {
    std::vector<RankHeader> headers;
    headers.reserve(arrivals.size());
    for (const RankExchange::Arrival& arrival : arrivals)
        headers.push_back(arrival.header);
    return headers;
}

/// Throws where nodes of this rank and of others together have no numbers.
void check_room(int64_t nodes) {
    if (nodes > std::numeric_limits<int32_t>::max())
        core::fail(core::Status::unsupported,
                   "%lld tree nodes of this rank and of others meet on it; at most 2^31 - 1 fit. "
                   "Use a larger theta, or more ranks",
                   static_cast<long long>(nodes));
}

RankShape shape_of(const RankExchange::Frame& frame, RankContent content) {
    RankShape shape = frame.shape;
    shape.content = content;
    return shape;
}

/// numbers[k] = sum of the counts before k, and behind them the sum of all.
void number(const core::Buffer<int32_t>& counts, core::Buffer<int32_t>& numbers) {
    numbers[0] = 0;
    for (int64_t k = 0; k < counts.size(); ++k)
        numbers[k + 1] = numbers[k] + counts[k];
}

const double* or_null(const core::Buffer<double>& values) {
    return values.empty() ? nullptr : values.data();
}

} // namespace

RankExchange::RankExchange(core::Memory& memory)
    : memory_(memory), xy_(memory, "criterion of sent nodes"), za_(memory, "criterion of sent nodes"),
      links_(memory, "links of sent nodes"), coarse_(memory, "masses of nodes"),
      opened_(memory, "opened nodes"), sent_(memory, "sent nodes"), number_(memory, "numbers of sent nodes"),
      wanted_(memory, "particles to send"), particle_(memory, "places of particles to send"),
      arrived_(memory, "nodes from other ranks") {}

void RankExchange::begin() {
    has_own_ = false;
    nodes_ = particles_ = 0;
}

char* RankExchange::receive(int64_t bytes) {
    arrived_.resize(std::max<int64_t>(bytes, 16));
    return arrived_.data();
}

/// The criterion of the own nodes in the messages' layout, once for all ranks.
void RankExchange::read_own(const Frame& frame, RankContent content) {
    if (has_own_ && own_content_ == content)
        return;
    has_own_ = true;
    own_content_ = content;
    const Forest& forest = frame.forest;
    const int64_t nodes = forest.own_end;
    if (content == RankContent::masses) {
        coarse_.resize(nodes);
        frame.executor.for_each(nodes, [&](int64_t k) {
            const tree::Node& node = forest.tree.nodes[k];
            coarse_[k] = {forest.moments.cx[k],
                          forest.moments.cy[k],
                          forest.moments.cz[k],
                          forest.moments.magnitude[k],
                          forest.tree.boxes[k].longest_edge(),
                          forest.estimated_softening(frame.settings, k),
                          node.first_child,
                          node.child_count};
        });
        return;
    }
    xy_.resize(2 * nodes);
    za_.resize(2 * nodes);
    links_.resize(nodes);
    frame.executor.for_each(nodes, [&](int64_t k) {
        const lists::Criterion& c = forest.criterion;
        xy_[2 * k] = c.cx[k];
        xy_[2 * k + 1] = c.cy[k];
        za_[2 * k] = c.cz[k];
        za_[2 * k + 1] = c.a[k];
        links_[k] = {c.b[k], remote_link(c.links[k].first_child, c.links[k].child_count), 0};
    });
}

OwnNodes RankExchange::own_nodes(const Frame& frame, RankContent content) const {
    Forest& forest = frame.forest;
    const settings::Settings& settings = frame.settings;
    OwnNodes own{};
    own.nodes = forest.tree.nodes.data();
    own.boxes = forest.tree.boxes.data();
    own.xy = xy_.data();
    own.za = za_.data();
    own.links = links_.data();
    own.mac_softening = or_null(forest.criterion.softening);
    own.softening_length = settings.softening_length;
    own.compact = settings.softening == settings::Softening::spline;
    own.coarse = content == RankContent::masses ? coarse_.data() : nullptr;
    own.radius = forest.moments.radius.data();
    own.rho = forest.moments.rho.data();
    own.magnitude = forest.moments.magnitude.data();
    own.softening_square = or_null(forest.moments.softening_square);
    own.values = forest.moments.values.data();
    own.records = forest.expansion_bytes(settings);
    own.heap = frame.shape.lengths ? std::numeric_limits<int64_t>::max() : settings.leaf;
    own.particle[0] = forest.tree.x.data();
    own.particle[1] = forest.tree.y.data();
    own.particle[2] = forest.tree.z.data();
    own.particle[3] = forest.tree.charge.data();
    own.particle[4] = or_null(forest.tree.softening);
    return own;
}

RankHeader RankExchange::pack(const Frame& frame, RankContent content, int rank, const lists::Target* boxes,
                              int count) {
    const Forest& forest = frame.forest;
    const int32_t nodes = forest.own_end;
    if (nodes == 0 || count == 0)
        return {};
    read_own(frame, content);
    opened_.resize(nodes);
    sent_.resize(nodes);
    wanted_.resize(nodes);
    number_.resize(int64_t{nodes} + 1);
    particle_.resize(int64_t{nodes} + 1);
    const OwnNodes own = own_nodes(frame, content);
    const RankShape shape = shape_of(frame, content);
    const Extraction extraction{opened_.data(), sent_.data(), number_.data(), wanted_.data(),
                                particle_.data()};
    for (int level = 0; level < forest.tree.levels(); ++level) {
        const int32_t begin = forest.tree.level_offset[level], end = forest.tree.level_offset[level + 1];
        frame.executor.for_each(
            end - begin,
            [&](int64_t k) { open_node(own, boxes, count, begin + static_cast<int32_t>(k), extraction); },
            256);
    }
    number(sent_, number_);
    number(wanted_, particle_);
    const RankHeader header{number_[nodes],           particle_[nodes],
                            forest.tree.levels(),     0,
                            forest.moments.values[0], forest.moments.magnitude[0],
                            forest.tree.boxes[0]};
    core::Buffer<char>& parcel = parcels_.try_emplace(rank, memory_, "nodes for another rank").first->second;
    parcel.resize(message_bytes(shape, header));
    std::memset(parcel.data(), 0,
                static_cast<size_t>(parcel.size())); // what stands between sections travels, too
    const RankSections to = sections_of(parcel.data(), shape, header);
    frame.executor.for_each(
        nodes,
        [&](int64_t k) {
            if (sent_[k] != 0)
                put_node(own, shape, extraction, static_cast<int32_t>(k), to);
            for (int32_t i = 0; i < wanted_[k]; ++i)
                put_particle(own, shape, extraction, static_cast<int32_t>(k), i, to);
        },
        256);
    return header;
}

/// Room behind the own nodes. The criterion's entries go by xy_, za_ and links_.
RemoteNodes RankExchange::remote_nodes(const Frame& frame) {
    Forest& forest = frame.forest;
    const int64_t first = forest.own_end;
    const auto behind = [first](auto& values) { return values.empty() ? nullptr : values.data() + first; };
    return {forest.tree.nodes.data() + first,
            forest.tree.boxes.data() + first,
            xy_.data(),
            za_.data(),
            links_.data(),
            behind(forest.criterion.softening),
            forest.moments.cx.data() + first,
            forest.moments.cy.data() + first,
            forest.moments.cz.data() + first,
            forest.moments.radius.data() + first,
            forest.moments.rho.data() + first,
            forest.moments.magnitude.data() + first,
            behind(forest.moments.softening_square),
            forest.expansion_bytes(frame.settings) + first * frame.shape.record_bytes,
            nullptr};
}

void RankExchange::take_particles(const Frame& frame, const RankSections& from, const RankHeader& header,
                                  int64_t begin) const {
    ParticleStore& to = frame.forest.remote;
    double* const columns[5] = {to.x.data(), to.y.data(), to.z.data(), to.charge.data(), to.softening.data()};
    for (int c = 0; c < (frame.shape.lengths ? 5 : 4) && header.particles > 0; ++c)
        std::copy_n(from.particle[c], header.particles, columns[c] + begin);
}

/// The others' nodes, numbered among themselves, get their numbers in the forest and what the walk reads.
void RankExchange::enter(const Frame& frame, const RemotePlan& plan) {
    Forest& forest = frame.forest;
    lists::Criterion& criterion = forest.criterion;
    const int32_t first = forest.own_end;
    frame.executor.for_each(plan.nodes, [&](int64_t j) {
        const int64_t k = first + j;
        if (forest.tree.nodes[k].child_count > 0)
            forest.tree.nodes[k].first_child += first;
        criterion.cx[k] = xy_[2 * j];
        criterion.cy[k] = xy_[2 * j + 1];
        criterion.cz[k] = za_[2 * j];
        criterion.a[k] = za_[2 * j + 1];
        criterion.b[k] = links_[j].b;
    });
    frame.executor.for_each(plan.nodes,
                            [&](int64_t j) { forest.link_remote(first + static_cast<int32_t>(j)); });
    if (frame.shape.lengths) { // the longest of all stands at the root
        core::Buffer<double>& longest = forest.moments.softening;
        longest.resize_keep(first + plan.nodes);
        std::copy_n(criterion.softening.data() + first, plan.nodes, longest.data() + first);
        longest[first] = *std::max_element(longest.data() + first, longest.data() + first + plan.nodes);
    }
    criterion.root = first;
    criterion.levels = plan.levels;
    criterion.root_terminal = false;
}

void RankExchange::take(const Frame& frame, const std::vector<Arrival>& arrivals) {
    Forest& forest = frame.forest;
    const RankShape shape = shape_of(frame, RankContent::all);
    const RemotePlan plan = plan_remote(headers_of(arrivals), 1 << frame.settings.dimension);
    nodes_ = plan.nodes;
    particles_ = plan.particles;
    if (plan.nodes == 0)
        return;
    check_room(forest.own_end + plan.nodes);
    forest.resize_remote(frame.settings, forest.own_end + plan.nodes, plan.particles, shape.lengths,
                         shape.record_bytes);
    xy_.resize(2 * plan.nodes);
    za_.resize(2 * plan.nodes);
    links_.resize(plan.nodes);
    has_own_ = false;
    const RemoteNodes to = remote_nodes(frame);
    for (size_t k = 0; k < plan.supers.size(); ++k)
        put_super(plan.supers[k], shape, static_cast<int32_t>(k), to);
    for (size_t s = 0; s < arrivals.size(); ++s) {
        const RankHeader& header = arrivals[s].header;
        const RankSections from = sections_of(arrivals[s].message, shape, header);
        frame.executor.for_each(header.nodes, [&](int64_t j) {
            take_node(from, shape, plan.places[s], static_cast<int32_t>(j), to);
        });
        take_particles(frame, from, header, plan.places[s].particle);
    }
    enter(frame, plan);
}

void RankExchange::take_masses(const Frame& frame, const std::vector<Arrival>& arrivals) {
    Forest& forest = frame.forest;
    const RankShape shape = shape_of(frame, RankContent::masses);
    const RemotePlan plan = plan_remote(headers_of(arrivals), 1 << frame.settings.dimension);
    if (plan.nodes == 0)
        return;
    const int32_t root = forest.own_end, own = root + 1, first = root + 2;
    check_room(first + plan.nodes);
    forest.resize_masses(first + plan.nodes, frame.shape.lengths);
    coarse_.resize(plan.nodes);
    has_own_ = false;
    RemoteNodes to{};
    to.coarse = coarse_.data();
    for (size_t k = 0; k < plan.supers.size(); ++k)
        put_super(plan.supers[k], shape, static_cast<int32_t>(k), to);
    for (size_t s = 0; s < arrivals.size(); ++s) {
        const RankSections from = sections_of(arrivals[s].message, shape, arrivals[s].header);
        for (int64_t j = 0; j < arrivals[s].header.nodes; ++j)
            take_node(from, shape, plan.places[s], static_cast<int32_t>(j), to);
    }
    const auto set = [&](int64_t k, const lists::EstimateNode& node, int32_t behind) {
        forest.set_mass(k, {{node.x, node.y, node.z}, node.magnitude, node.edge, node.softening, node.child_count});
        forest.tree.nodes[k] = {node.first_child + behind, node.child_count, -1, 0, 0, 0};
    };
    for (int64_t k = 0; k < plan.nodes; ++k)
        set(first + k, coarse_[k], first);
    const bool some = root > 0; // own particles: a copy of their root, so that the two are neighbours
    constexpr double opened = std::numeric_limits<double>::infinity();
    set(root, {0, 0, 0, 0, opened, 0, some ? own : first, some ? 2 : 1}, 0);
    set(own, {}, 0);
    if (some) {
        const moments::Moments& m = forest.moments;
        const tree::Node& node = forest.tree.nodes[0];
        set(own,
            {m.cx[0], m.cy[0], m.cz[0], m.magnitude[0], forest.tree.boxes[0].longest_edge(),
             forest.estimated_softening(frame.settings, 0), node.first_child, node.child_count},
            0);
    }
    forest.criterion.root = root;
}

void RankExchange::drop_masses(const Frame& frame) {
    frame.forest.resize_masses(frame.forest.own_end, frame.shape.lengths);
    frame.forest.criterion.root = 0;
}

} // namespace graft::essential
