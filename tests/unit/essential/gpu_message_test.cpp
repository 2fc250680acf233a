// SPDX-License-Identifier: BSD-3-Clause
// Essential trees between GPUs, by the bodies that GPUs run, on the host: a tree is packed for boxes of
// targets, taken by the receiver, and walked there by every group: sources and expansions are those of the
// whole tree.
#include "lists/groups.hpp"
#include "gpu_message_scene.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

namespace {

using namespace graft;
using namespace graft::essential;
using namespace graft::essential::testing;

/// What a group sees: accepted nodes (centre, number in the record, sum of |q|), and particles.
using Seen = std::multiset<std::array<double, 5>>;

void see(const OwnNodes& own, const lists::Target& target, int32_t node, Seen& nodes, Seen& sources) {
    if (!refuses(own, target, node)) {
        float record;
        std::memcpy(&record, own.records + int64_t{node} * 16, sizeof record);
        nodes.insert(
            {own.xy[2 * node], own.xy[2 * node + 1], own.za[2 * node], double{record}, own.magnitude[node]});
        return;
    }
    const uint32_t link = own.links[node].link;
    if (link != 0) {
        for (uint32_t c = 0; c <= (link & 7); ++c)
            see(own, target, static_cast<int32_t>((link >> 3) + c), nodes, sources);
        return;
    }
    const tree::Node& leaf = own.nodes[node];
    const bool heap = is_heap(own, leaf);
    for (int64_t i = leaf.first; i < leaf.first + (heap ? 1 : leaf.count); ++i)
        sources.insert({own.particle[0][i], own.particle[1][i], own.particle[2][i],
                        heap ? own.values[int64_t{node} * 4] : own.particle[3][i], 0});
}

struct Case {
    lists::Mac mac;
    bool compact, lengths;
    int senders, leaf, dimension;
};

void expect_all_there(const Case& c) {
    lists::CriterionOptions options;
    options.mac = c.mac, options.theta = 0.7, options.direct_count = 3;
    options.compact_softening = c.compact, options.softening_length = 0.05;
    std::vector<std::unique_ptr<Sender>> senders;
    std::vector<RankHeader> headers;
    std::vector<std::vector<double>> messages;
    // Targets: groups in two boxes, each box with the largest factor and softening of its groups.
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> uniform(0, 1);
    std::vector<lists::Target> groups, boxes(2);
    for (int g = 0; g < 16; ++g) {
        lists::Target group;
        const double at[3] = {uniform(random) + 2 * (g % 2), uniform(random),
                              c.dimension == 2 ? 0 : uniform(random)};
        group.box.include(at[0], at[1], at[2]);
        group.box.include(at[0] + 0.1 * uniform(random), at[1] + 0.1, at[2]);
        group.factor = uniform(random), group.softening = 0.1 * uniform(random);
        groups.push_back(group);
        lists::Target& box = boxes[static_cast<size_t>(g % 2)];
        box.factor = g < 2 ? group.factor : std::max(box.factor, group.factor);
        box.softening = std::max(box.softening, group.softening);
        box.box.include(group.box);
    }
    for (int s = 0; s < c.senders; ++s) {
        Cloud cloud = make_cloud(300 + 20 * s, static_cast<unsigned>(s + 1));
        for (int i = 0; i < 40 && s % 2 == 0; ++i) { // a heap
            cloud.x.push_back(0.5), cloud.y.push_back(0.25), cloud.z.push_back(0);
            cloud.q.push_back(0.5 + i), cloud.softening.push_back(0.01);
        }
        if (c.dimension == 2)
            std::fill(cloud.z.begin(), cloud.z.end(), 0.0);
        senders.push_back(std::make_unique<Sender>(cloud, options, c.leaf, c.lengths, c.dimension));
        messages.emplace_back();
        headers.push_back(senders.back()->pack(boxes, messages.back()));
        EXPECT_LE(headers.back().nodes, senders.back()->tree.node_count());
    }
    const Receiver receiver(headers, messages, *senders[0], 1 << c.dimension);
    for (const lists::Target& group : groups) {
        Seen nodes, sources, remote_nodes, remote_sources;
        for (const auto& sender : senders)
            see(sender->own, group, 0, nodes, sources);
        see(receiver.own, group, 0, remote_nodes, remote_sources);
        EXPECT_EQ(remote_nodes, nodes);
        EXPECT_EQ(remote_sources, sources);
    }
    double charge = 0;
    for (const auto& sender : senders)
        charge += sender->moments.values[0];
    EXPECT_NEAR(receiver.plan.charge, charge, 1e-12 * std::abs(charge));
}

TEST(DeviceMessage, EveryGroupFindsWhatTheWholeTreesHave) {
    expect_all_there({lists::Mac::box, false, false, 1, 8, 3});
    expect_all_there({lists::Mac::edge, false, false, 3, 8, 3});
    expect_all_there({lists::Mac::error, false, false, 9, 16, 3});
    expect_all_there({lists::Mac::box, true, false, 2, 1, 3});
    expect_all_there({lists::Mac::box, true, true, 3, 8, 3});
    expect_all_there({lists::Mac::box, false, false, 17, 8, 2});
    expect_all_there({lists::Mac::error, false, true, 11, 8, 3});
}

TEST(DeviceMessage, SupersAreATreeOfAtMostArityChildren) {
    for (int senders : {1, 2, 4, 5, 8, 9, 64, 65, 600})
        for (int arity : {4, 8}) {
            RankHeader header{3, 2, 5, 0, 1, 1, {}};
            header.box.include(1, 2, 3);
            const RemotePlan plan =
                plan_remote(std::vector<RankHeader>(static_cast<size_t>(senders), header), arity);
            std::vector<int> parents(static_cast<size_t>(plan.nodes));
            for (const SuperNode& super : plan.supers) {
                EXPECT_GE(super.child_count, 1);
                EXPECT_LE(super.child_count, arity);
                EXPECT_EQ(super.box.upper[2], 3);
                for (int32_t c = 0; c < super.child_count; ++c)
                    ++parents[static_cast<size_t>(super.first_child + c)];
            }
            const auto supers = static_cast<int64_t>(plan.supers.size());
            EXPECT_EQ(plan.nodes, supers + 3 * senders);
            EXPECT_EQ(plan.particles, 2 * senders);
            for (int64_t k = 0; k < supers + senders; ++k)
                EXPECT_EQ(parents[static_cast<size_t>(k)], k == 0 ? 0 : 1);
            std::vector<int> taken(static_cast<size_t>(plan.nodes));
            for (const RankOffsets& place : plan.places)
                for (int32_t j = 0; j < 3; ++j)
                    ++taken[static_cast<size_t>(place.of(j))];
            for (int64_t k = 0; k < plan.nodes; ++k)
                EXPECT_EQ(taken[static_cast<size_t>(k)], k < supers ? 0 : 1);
        }
    EXPECT_EQ(plan_remote({}, 8).nodes, 0);
}

} // namespace
