// SPDX-License-Identifier: BSD-3-Clause
// Sender and receiver of essential trees on the host, by the bodies that GPUs run: what tests of messages compare with.
#pragma once

#include "../engine/ranks_scene.hpp"
#include "essential/gpu_message.hpp"
#include "lists/criterion.hpp"
#include "moments/moments.hpp"
#include "tree/build.hpp"

#include <algorithm>
#include <vector>

namespace graft::essential::testing {

using graft::engine::testing::Cloud;
using graft::engine::testing::make_cloud;

/// A sender: tree, moments and criterion on the host, in the device's words.
struct Sender {
    explicit Sender(const Cloud& cloud, const lists::CriterionOptions& options, int leaf, bool lengths,
                    int dimension = 3)
        : tree(memory), moments(memory), criterion(memory) {
        const backend::Executor executor{memory, 1};
        tree::TreeBuilder builder(memory);
        tree::TreeOptions tree_options;
        tree_options.leaf = leaf, tree_options.dimension = dimension;
        tree::BuildTimes times;
        builder.build(executor, tree_options, cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(),
                      cloud.q.data(), lengths ? cloud.softening.data() : nullptr, tree, times);
        moments::compute_moments(executor, tree, 1, moments);
        lists::NodeProperties properties{moments.cx.data(),     moments.cy.data(),
                                         moments.cz.data(),     moments.radius.data(),
                                         moments.spread.data(), lengths ? moments.softening.data() : nullptr};
        lists::fill_criterion(executor, tree, options, properties, criterion);
        const int64_t nodes = tree.node_count();
        for (int64_t k = 0; k < nodes; ++k) {
            const lists::Link link = criterion.links[k];
            xy.insert(xy.end(), {criterion.cx[k], criterion.cy[k]});
            za.insert(za.end(), {criterion.cz[k], criterion.a[k]});
            links.push_back({criterion.b[k],
                             link.child_count > 0 ? remote_link(link.first_child, link.child_count) : 0, 0});
            for (int c = 0; c < 4; ++c)
                records.push_back(static_cast<float>(4 * k + c));
        }
        own.nodes = tree.nodes.data(), own.boxes = tree.boxes.data();
        own.xy = xy.data(), own.za = za.data(), own.links = links.data();
        own.mac_softening = lengths ? criterion.softening.data() : nullptr;
        own.softening_length = options.softening_length, own.compact = options.compact_softening;
        own.radius = moments.radius.data(), own.rho = moments.rho.data();
        own.magnitude = moments.magnitude.data();
        own.softening_square = lengths ? moments.softening_square.data() : nullptr;
        own.values = moments.values.data(), own.records = reinterpret_cast<const char*>(records.data());
        own.heap = lengths ? std::numeric_limits<int64_t>::max() : leaf;
        own.particle[0] = tree.x.data(), own.particle[1] = tree.y.data(), own.particle[2] = tree.z.data();
        own.particle[3] = tree.charge.data(), own.particle[4] = lengths ? tree.softening.data() : nullptr;
        shape = {RankContent::all, lengths, 16, moments.stride()};
    }

    /// The message, as put_nodes() makes it.
    RankHeader pack(const std::vector<lists::Target>& boxes, std::vector<double>& message) const {
        const auto nodes = static_cast<size_t>(tree.node_count());
        std::vector<uint64_t> opened(nodes);
        std::vector<int32_t> sent(nodes), number(nodes + 1), wanted(nodes), particle(nodes + 1);
        const Extraction to{opened.data(), sent.data(), number.data(), wanted.data(), particle.data()};
        for (size_t k = 0; k < nodes; ++k) { // level order
            open_node(own, boxes.data(), static_cast<int>(boxes.size()), static_cast<int32_t>(k), to);
            number[k + 1] = number[k] + sent[k], particle[k + 1] = particle[k] + wanted[k];
        }
        const RankHeader header{number[nodes],     particle[nodes],      tree.levels(), 0,
                                moments.values[0], moments.magnitude[0], tree.boxes[0]};
        message.assign(static_cast<size_t>(message_bytes(shape, header) / 8), -1);
        const RankSections sections = sections_of(reinterpret_cast<char*>(message.data()), shape, header);
        for (size_t k = 0; k < nodes; ++k) {
            if (sent[k] != 0)
                put_node(own, shape, to, static_cast<int32_t>(k), sections);
            for (int32_t i = 0; i < wanted[k]; ++i)
                put_particle(own, shape, to, static_cast<int32_t>(k), i, sections);
        }
        return header;
    }

    core::Memory memory;
    tree::Tree tree;
    moments::Moments moments;
    lists::Criterion criterion;
    std::vector<double> xy, za;
    std::vector<RankLink> links;
    std::vector<float> records;
    OwnNodes own{};
    RankShape shape{};
};

/// The receiver's forest on the host.
struct Receiver {
    Receiver(const std::vector<RankHeader>& headers, std::vector<std::vector<double>>& messages,
             const Sender& first, int arity)
        : plan(plan_remote(headers, arity)) {
        const auto n = static_cast<size_t>(plan.nodes);
        nodes.resize(n), boxes.resize(n), xy.resize(2 * n), za.resize(2 * n), links.resize(n);
        softening.resize(n), square.resize(n), cx.resize(n), cy.resize(n), cz.resize(n), radius.resize(n);
        rho.resize(n), magnitude.resize(n), records.resize(4 * n);
        for (std::vector<double>& column : particle)
            column.resize(static_cast<size_t>(plan.particles));
        const RankShape& shape = first.shape;
        const RemoteNodes to{nodes.data(),  boxes.data(),
                             xy.data(),     za.data(),
                             links.data(),  softening.data(),
                             cx.data(),     cy.data(),
                             cz.data(),     radius.data(),
                             rho.data(),    magnitude.data(),
                             square.data(), reinterpret_cast<char*>(records.data()),
                             nullptr};
        for (size_t k = 0; k < plan.supers.size(); ++k)
            put_super(plan.supers[k], shape, static_cast<int32_t>(k), to);
        for (size_t s = 0; s < headers.size(); ++s) {
            const RankSections from =
                sections_of(reinterpret_cast<char*>(messages[s].data()), shape, headers[s]);
            for (int64_t j = 0; j < headers[s].nodes; ++j)
                take_node(from, shape, plan.places[s], static_cast<int32_t>(j), to);
            for (int c = 0; c < (shape.lengths ? 5 : 4); ++c)
                std::copy_n(from.particle[c], headers[s].particles,
                            particle[c].begin() + plan.places[s].particle);
        }
        own = first.own;
        own.nodes = nodes.data(), own.boxes = boxes.data(), own.xy = xy.data(), own.za = za.data();
        own.links = links.data(), own.mac_softening = shape.lengths ? softening.data() : nullptr;
        own.magnitude = magnitude.data();
        own.records = reinterpret_cast<const char*>(records.data());
        own.heap = std::numeric_limits<int64_t>::max();
        for (int c = 0; c < 5; ++c)
            own.particle[c] = particle[c].data();
    }
    RemotePlan plan;
    std::vector<tree::Node> nodes;
    std::vector<geometry::Box> boxes;
    std::vector<double> xy, za, softening, square, cx, cy, cz, radius, rho, magnitude;
    std::vector<RankLink> links;
    std::vector<float> records;
    std::vector<double> particle[5];
    OwnNodes own{};
};

} // namespace graft::essential::testing
