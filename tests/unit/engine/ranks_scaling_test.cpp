// SPDX-License-Identifier: BSD-3-Clause
// Scaling by counts, which no noisy clock blurs: what a rank sends, receives and computes as particles and
// ranks grow.
#include "ranks_scene.hpp"

namespace graft::engine {
namespace {

using namespace testing;

struct Cost { // per rank, mean
    double bytes = 0, nodes = 0, particles = 0, work = 0, collectives = 0, messages = 0;
};

Cost cost_of(int ranks, int64_t n, const settings::Settings& settings) {
    const Cloud cloud = make_cube(n);
    const Results results = compute_over(ranks, cloud, bisection(cloud, ranks), settings);
    Cost cost;
    for (const Report& report : results.reports) {
        cost.bytes += static_cast<double>(report.ranks.bytes_sent) / ranks;
        cost.nodes += static_cast<double>(report.ranks.nodes) / ranks;
        cost.particles += static_cast<double>(report.ranks.particles) / ranks;
        cost.work += (report.pairs + 3 * report.cells) / ranks;
        cost.collectives += static_cast<double>(report.ranks.collectives) / ranks;
        cost.messages += static_cast<double>(report.ranks.messages) / ranks;
    }
    return cost;
}

settings::Settings light() {
    settings::Settings settings;
    settings.leaf = 16;
    settings.group = 32;
    settings.order = 1;
    settings.accuracy = 1e-2;
    return settings;
}

class Scaling : public ::testing::TestWithParam<settings::Exchange> {};

TEST_P(Scaling, BytesGrowLikeTheSurfaceOfTheDomains) {
    settings::Settings settings = light();
    settings.exchange = GetParam();
    for (const settings::MacType mac : {settings::MacType::error, settings::MacType::box}) {
        settings.mac = mac;
        const Cost small = cost_of(8, 16000, settings), large = cost_of(8, 256000, settings);
        const double exponent = std::log(large.bytes / small.bytes) / std::log(16.0);
        EXPECT_LE(exponent, 0.75) << small.bytes << " to " << large.bytes << " bytes a rank";
        EXPECT_GT(exponent, 0.1) << "they do grow";
        RecordProperty(mac == settings::MacType::error ? "exponent_error" : "exponent_box", std::to_string(exponent));
    }
}

TEST_P(Scaling, WeakAndStrong) {
    settings::Settings settings = light();
    settings.exchange = GetParam();
    // Weak: a rank's share stays, so do its work and what it gets, but for the far field's logarithm.
    const Cost few = cost_of(8, 8 * 3000, settings), many = cost_of(64, 64 * 3000, settings);
    EXPECT_LT(many.work, 1.5 * few.work);
    EXPECT_LT(many.particles, 2.5 * few.particles); // inner domains have neighbours on all sides
    EXPECT_LT(many.bytes, 3 * few.bytes);
    EXPECT_LT(many.collectives, few.collectives + 12);
    // Strong: 8 times the ranks, at most half of the work each, for fewer bytes each.
    const Cost spread = cost_of(64, 8 * 3000, settings);
    EXPECT_LT(spread.work, few.work / 4);
    EXPECT_LT(spread.bytes, 1.2 * few.bytes);
}

INSTANTIATE_TEST_SUITE_P(With, Scaling, ::testing::Values(settings::Exchange::push, settings::Exchange::fetch),
                         [](const auto& info) { return info.param == settings::Exchange::push ? "Push" : "Fetch"; });

} // namespace
} // namespace graft::engine
