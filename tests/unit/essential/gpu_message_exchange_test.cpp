// SPDX-License-Identifier: BSD-3-Clause
// One message format: what a CPU packs from its forest is what a GPU's bodies pack, and a CPU enters what they would take.
#include "essential/gpu_message_exchange.hpp"
#include "gpu_message_scene.hpp"

#include <cstring>

namespace {

using namespace graft;
using namespace graft::essential;
using namespace graft::essential::testing;

settings::Settings settings_of(bool compact, int dimension) {
    settings::Settings s;
    s.mac = settings::MacType::box, s.theta = 0.7, s.order = 1, s.leaf = 8, s.dimension = dimension;
    s.precision = settings::Precision::fp32;
    s.softening = compact ? settings::Softening::spline : settings::Softening::none;
    s.softening_length = compact ? 0.05 : 0;
    return s;
}

/// A rank on a CPU: its forest, complete up to the first pack.
struct CpuRank {
    CpuRank(const Cloud& cloud, const settings::Settings& s, bool lengths)
        : settings(s), exchange(memory), forest(memory) {
        tree::TreeBuilder builder(memory);
        tree::TreeOptions options;
        options.leaf = s.leaf, options.dimension = s.dimension;
        tree::BuildTimes times;
        builder.build(executor, options, cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(),
                      cloud.q.data(), lengths ? cloud.softening.data() : nullptr, forest.tree, times);
        forest.find_heaps(s.leaf);
        moments::compute_moments(executor, forest.tree, s.order, forest.moments);
        forest.fill_own_criterion(executor, s);
        forest.fill_expansions(executor, s, false, 0);
        forest.own_end = forest.top_end = forest.tree.node_count();
        shape = {RankContent::all, lengths, 16, forest.moments.stride()};
    }
    RankExchange::Frame frame() { return {executor, settings, forest, shape}; }

    core::Memory memory;
    backend::Executor executor{memory, 2};
    settings::Settings settings;
    RankExchange exchange;
    Forest forest;
    RankShape shape{};
};

std::vector<lists::Target> boxes() {
    std::vector<lists::Target> list(2);
    list[0].box.include(9, 0, 0), list[0].box.include(10, 1, 1);
    list[1].box.include(-0.1, 0.4, 0), list[1].box.include(0.2, 0.5, 0.1);
    for (lists::Target& target : list)
        target.factor = 0.5, target.softening = 0.03;
    return list;
}

struct Case {
    bool compact, lengths;
    int dimension;
};

void PrintTo(const Case& c, std::ostream* to) {
    *to << (c.compact ? "compact softening, " : "") << (c.lengths ? "lengths, " : "") << c.dimension
        << " dimensions";
}

Cloud cloud_of(const Case& c, unsigned seed) {
    Cloud cloud = make_cloud(2000, seed);
    for (int i = 0; i < 40; ++i) { // a heap
        cloud.x.push_back(0.1), cloud.y.push_back(0.45), cloud.z.push_back(0.05);
        cloud.q.push_back(1 + i % 3), cloud.softening.push_back(0.01);
    }
    if (c.dimension == 2)
        std::fill(cloud.z.begin(), cloud.z.end(), 0.0);
    return cloud;
}

/// A rank on a GPU, with the expansions of the forest that the same cloud makes.
struct GpuRank {
    GpuRank(const Cloud& cloud, const settings::Settings& s, bool lengths)
        : forest_of(cloud, s, lengths), sender(cloud, criterion_options(s), s.leaf, lengths, s.dimension) {
        sender.own.records = forest_of.forest.expansion_bytes(s);
    }
    CpuRank forest_of;
    Sender sender;
};

class RankExchangeTest : public ::testing::TestWithParam<Case> {};

TEST_P(RankExchangeTest, PacksWhatAGpuPacks) {
    const Case c = GetParam();
    const settings::Settings s = settings_of(c.compact, c.dimension);
    const Cloud cloud = cloud_of(c, 1);
    CpuRank cpu(cloud, s, c.lengths);
    const GpuRank gpu(cloud, s, c.lengths);
    const std::vector<lists::Target> to = boxes();
    std::vector<double> message;
    const RankHeader expected = gpu.sender.pack(to, message);
    const RankHeader header = cpu.exchange.pack(cpu.frame(), RankContent::all, 5, to.data(), 2);
    ASSERT_EQ(header.nodes, expected.nodes);
    ASSERT_EQ(header.particles, expected.particles);
    EXPECT_EQ(header.levels, expected.levels);
    EXPECT_EQ(header.charge, expected.charge);
    EXPECT_EQ(header.magnitude, expected.magnitude);
    EXPECT_GT(header.particles, 0);
    EXPECT_LT(header.nodes, cpu.forest.own_end);
    std::vector<double> packed(message.size());
    std::memcpy(packed.data(), cpu.exchange.packed(5), 8 * packed.size());
    std::vector<std::vector<double>> one{message}, other{packed};
    const Receiver as_gpu({expected}, one, gpu.sender, 8), as_cpu({header}, other, gpu.sender, 8);
    EXPECT_EQ(as_gpu.xy, as_cpu.xy);
    EXPECT_EQ(as_gpu.za, as_cpu.za);
    EXPECT_EQ(as_gpu.records, as_cpu.records);
    EXPECT_EQ(as_gpu.radius, as_cpu.radius);
    EXPECT_EQ(as_gpu.rho, as_cpu.rho);
    EXPECT_EQ(as_gpu.magnitude, as_cpu.magnitude);
    EXPECT_EQ(as_gpu.softening, as_cpu.softening);
    EXPECT_EQ(as_gpu.square, as_cpu.square);
    EXPECT_EQ(std::memcmp(as_gpu.nodes.data(), as_cpu.nodes.data(), sizeof(tree::Node) * as_gpu.nodes.size()),
              0);
    EXPECT_EQ(std::memcmp(as_gpu.links.data(), as_cpu.links.data(), sizeof(RankLink) * as_gpu.links.size()),
              0);
    for (int column = 0; column < (c.lengths ? 5 : 4); ++column)
        EXPECT_EQ(as_gpu.particle[column], as_cpu.particle[column]) << column;
}

TEST_P(RankExchangeTest, EntersWhatGpusPackAsGpusDo) {
    const Case c = GetParam();
    const settings::Settings s = settings_of(c.compact, c.dimension);
    CpuRank cpu(cloud_of(c, 1), s, c.lengths);
    std::vector<std::unique_ptr<GpuRank>> senders;
    std::vector<RankHeader> headers;
    std::vector<std::vector<double>> messages;
    for (unsigned seed = 2; seed < 12; ++seed) {
        senders.push_back(std::make_unique<GpuRank>(cloud_of(c, seed), s, c.lengths));
        messages.emplace_back();
        headers.push_back(senders.back()->sender.pack(boxes(), messages.back()));
    }
    std::vector<RankExchange::Arrival> arrivals;
    for (size_t k = 0; k < headers.size(); ++k)
        arrivals.push_back({headers[k], reinterpret_cast<char*>(messages[k].data())});
    cpu.exchange.take(cpu.frame(), arrivals);
    const Receiver gpu(headers, messages, senders[0]->sender, 1 << c.dimension);
    const Forest& forest = cpu.forest;
    const int32_t first = forest.own_end;
    ASSERT_EQ(forest.tree.node_count(), first + gpu.plan.nodes);
    EXPECT_EQ(forest.criterion.root, first);
    EXPECT_EQ(forest.criterion.levels, gpu.plan.levels);
    double longest = 0;
    for (int64_t j = 0; j < gpu.plan.nodes; ++j) {
        const int64_t k = first + j;
        const auto at = static_cast<size_t>(j);
        const tree::Node &node = forest.tree.nodes[k], &other = gpu.nodes[at];
        ASSERT_EQ(node.child_count, other.child_count);
        ASSERT_EQ(node.first_child, other.child_count > 0 ? first + other.first_child : 0);
        ASSERT_EQ(node.first, other.first);
        ASSERT_EQ(node.count, other.count);
        const lists::Link& link = forest.criterion.links[k];
        ASSERT_EQ(link.child_count, other.child_count);
        ASSERT_EQ(link.first_child, node.first_child);
        for (int child = 0; child < node.child_count; ++child)
            ASSERT_EQ(link.terminal_mask >> child & 1,
                      gpu.nodes[static_cast<size_t>(other.first_child + child)].child_count == 0 ? 1 : 0);
        ASSERT_EQ(forest.criterion.cx[k], gpu.xy[2 * at]);
        ASSERT_EQ(forest.criterion.cy[k], gpu.xy[2 * at + 1]);
        ASSERT_EQ(forest.criterion.cz[k], gpu.za[2 * at]);
        ASSERT_EQ(forest.criterion.a[k], gpu.za[2 * at + 1]);
        ASSERT_EQ(forest.criterion.b[k], gpu.links[at].b);
        ASSERT_EQ(forest.moments.cx[k], gpu.cx[at]);
        ASSERT_EQ(forest.moments.rho[k], gpu.rho[at]);
        ASSERT_EQ(forest.moments.magnitude[k], gpu.magnitude[at]);
        ASSERT_EQ(std::memcmp(&forest.single[4 * k], &gpu.records[4 * at], 16), 0);
        if (c.lengths) {
            ASSERT_EQ(forest.criterion.softening[k], gpu.softening[at]);
            ASSERT_EQ(forest.moments.softening_square[k], gpu.square[at]);
            longest = std::max(longest, gpu.softening[at]);
        }
    }
    if (c.lengths) {
        EXPECT_EQ(forest.moments.softening[first], longest);
    }
    for (int64_t i = 0; i < gpu.plan.particles; ++i) {
        ASSERT_EQ(forest.remote.x[i], gpu.particle[0][static_cast<size_t>(i)]);
        ASSERT_EQ(forest.remote.charge[i], gpu.particle[3][static_cast<size_t>(i)]);
    }
}

INSTANTIATE_TEST_SUITE_P(Of, RankExchangeTest,
                         ::testing::Values(Case{false, false, 3}, Case{true, false, 3}, Case{true, true, 3},
                                           Case{false, false, 2}));

} // namespace
