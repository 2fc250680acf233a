// SPDX-License-Identifier: BSD-3-Clause
// Buffers of the feed by model and trial, with numbers in the place of a GPU.
#include "engine/buffer_tuning.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace graft::engine {
namespace {

constexpr int32_t pairs_1d = 3, tiles_2d = 4; // study.kernel

/// Feeds whose host takes append_s and call_s, and whose wall `wall_s` says.
struct Player {
    settings::Settings asked;
    model::PaperCounts work{32, 32, 2, 1e5, 4e3, 1e6, 3e6, 20};
    double append_s = 2e-9, call_s = 5e-6;
    std::function<double(double)> wall_s; // of a buffer; empty: the host's time
    BufferTuning tuning;

    explicit Player(int32_t buffer, int32_t kernel = pairs_1d) {
        asked.device.kernel = kernel, asked.device.buffer = buffer;
    }
    model::BlockShape block() const {
        return asked.device.kernel == tiles_2d ? model::paper_tiles_2d : model::paper_pairs_1d;
    }
    const BufferTuning::Told& once(bool whole = true) {
        settings::Settings settings = asked;
        tuning.before(settings, whole);
        forces::FedReport fed;
        fed.buffer = settings.device.buffer;
        if (fed.buffer > 0) {
            const model::PaperFeedCounts all = model::paper_feed_work(work, block(), {});
            const double interactions = all.leaf_entries + all.node_entries;
            fed.launches = static_cast<int64_t>(interactions / static_cast<double>(fed.buffer)) + 2;
            fed.leaf_entries = static_cast<int64_t>(work.leaf_entries);
            fed.node_entries = static_cast<int64_t>(work.node_entries);
            fed.append_s = interactions * append_s;
            fed.call_s = static_cast<double>(fed.launches) * call_s;
            fed.wall_s = wall_s ? wall_s(static_cast<double>(fed.buffer)) : fed.append_s + fed.call_s;
        }
        tuning.after(fed, work, block());
        return tuning.told();
    }
    const BufferTuning::Told& until_settled() {
        for (int call = 0; call < 12; ++call)
            once();
        return tuning.told();
    }
};

TEST(BufferTuning, ANumberStays) {
    Player player(1000);
    for (int call = 0; call < 12; ++call) {
        const BufferTuning::Told& told = player.once();
        EXPECT_EQ(told.fed.buffer, 1000);
        EXPECT_EQ(told.by, "given");
        EXPECT_GT(told.predicted.total_s(), 0);
    }
}

TEST(BufferTuning, NothingIsFedUnlessItIsAskedForAndTheKernelTakesBuffers) {
    Player none(0), other(settings::feed_auto, 0);
    for (Player* player : {&none, &other}) {
        const BufferTuning::Told& told = player->once();
        EXPECT_EQ(told.fed.buffer, 0);
        EXPECT_EQ(told.predicted.total_s(), 0);
        EXPECT_EQ(told.by, "");
    }
}

TEST(BufferTuning, TheHostsTimeIsLearnedFromTheFirstFeed) {
    Player player(settings::feed_auto);
    player.append_s = 7e-9, player.call_s = 1e-4;
    const model::PaperFeedTimes first = player.once().predicted;
    EXPECT_LT(first.append_s, 0.5 * player.tuning.told().fed.append_s); // built in
    const BufferTuning::Told& told = player.once();
    EXPECT_NEAR(told.predicted.append_s / told.fed.append_s, 1, 1e-3);
    EXPECT_NEAR(told.predicted.call_s / told.fed.call_s, 1, 0.07);
    EXPECT_NEAR(told.predicted.total_s() / told.fed.wall_s, 1, 0.1);
}

TEST(BufferTuning, TheDevicesTimeIsLearnedWhereTheHostWaitsForIt) {
    Player player(16384);
    player.wall_s = [](double) { return 0.9; };
    player.once();
    EXPECT_NEAR(player.once().predicted.total_s(), 0.9, 0.05);
}

TEST(BufferTuning, TheModelsBestAndItsNeighboursAreTriedAndTheFastestIsKept) {
    for (const int32_t kernel : {pairs_1d, tiles_2d}) {
        Player player(settings::feed_auto, kernel);
        player.wall_s = [](double buffer) { return 1e-6 * buffer; }; // the smallest is the fastest
        std::set<int64_t> tried;
        player.once();
        EXPECT_EQ(player.tuning.told().by, "the first: the model needs its counts");
        const int64_t models = player.once().fed.buffer;
        EXPECT_EQ(player.tuning.told().by, "trial 1 of 9");
        for (int call = 0; call < 8; ++call)
            tried.insert(player.once().fed.buffer);
        EXPECT_EQ(tried, (std::set<int64_t>{models / 2, models, 2 * models}));
        EXPECT_EQ(player.tuning.told().by, "trial 9 of 9");
        for (int call = 0; call < 3; ++call) {
            EXPECT_EQ(player.once().fed.buffer, models / 2);
            EXPECT_EQ(player.tuning.told().by.substr(0, 9), "by trial:") << player.tuning.told().by;
        }
    }
}

TEST(BufferTuning, ASlowFirstRoundDoesNotDecide) {
    Player player(settings::feed_auto);
    player.once();
    const int64_t models = player.once().fed.buffer;
    int call = 0;
    player.wall_s = [&](double buffer) {
        return (buffer == static_cast<double>(models) ? 0.1 : 0.11) + (++call < 3 ? 1 : 0);
    };
    EXPECT_EQ(player.until_settled().fed.buffer, models);
    EXPECT_EQ(player.tuning.told().by, "by the model, and by trial");
}

TEST(BufferTuning, OtherListsBeginAgainAndPointsTeachNothing) {
    Player player(settings::feed_auto);
    player.until_settled();
    const std::string settled = player.tuning.told().by;
    player.work.node_entries *= 1.2;
    EXPECT_EQ(player.once().by, settled);
    const int64_t kept = player.tuning.told().fed.buffer;
    player.work.node_entries /= 20, player.work.leaf_entries /= 20;
    EXPECT_EQ(player.once(false).fed.buffer, kept);
    EXPECT_EQ(player.tuning.told().by, "known from evaluations of all particles");
    EXPECT_EQ(player.once().by, "the first: the model needs its counts");
    EXPECT_EQ(player.once().by, "trial 1 of 9");
    player.work.most_in_leaf = 64;
    EXPECT_EQ(player.once().by, "the first: the model needs its counts");
    player.tuning.set(nullptr);
    EXPECT_EQ(player.once().fed.buffer, 65536);
}

} // namespace
} // namespace graft::engine
