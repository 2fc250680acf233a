// SPDX-License-Identifier: BSD-3-Clause
// Tipsy files against hand-laid bytes, both byte orders, and every way of being cut short.
#include "snapshot/error.hpp"
#include "snapshot/formats.hpp"
#include "snapshot/tipsy.hpp"
#include "support.hpp"

#include <cstring>

namespace graft::cli::test {
namespace {

// A gas, a dark and a star particle, laid out by hand from the format's description, little-endian as this
// machine is.
std::vector<std::byte> hand_made(bool padded) {
    std::vector<std::byte> bytes;
    const auto put = [&bytes](auto value) {
        const std::size_t end = bytes.size();
        bytes.resize(end + sizeof value);
        std::memcpy(bytes.data() + end, &value, sizeof value);
    };
    put(2.5); // time
    for (const std::int32_t count : {3, 3, 1, 1, 1}) {
        put(count);
    }
    if (padded) {
        put(std::int32_t{0});
    }
    for (const float f :
         {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, -1.f, -2.f, 0.5f, -3.f, -4.f}) { // gas: eps is field 10
        put(f);
    }
    for (const float f : {11.f, 12.f, 13.f, 14.f, 15.f, 16.f, 17.f, 0.25f, -4.f}) { // dark: eps is field 8
        put(f);
    }
    for (const float f :
         {21.f, 22.f, 23.f, 24.f, 25.f, 26.f, 27.f, -5.f, -6.f, 0.125f, -4.f}) { // star: field 10
        put(f);
    }
    return bytes;
}

void expect_hand_made(const Snapshot& s) {
    ASSERT_EQ(s.size(), 3u);
    EXPECT_EQ(s.time, 2.5);
    for (std::size_t i = 0; i < 3; ++i) {
        const double base = 10.0 * static_cast<double>(i);
        const double found[7] = {s.mass[i], s.x[i], s.y[i], s.z[i], s.vx[i], s.vy[i], s.vz[i]};
        for (int k = 0; k < 7; ++k) {
            EXPECT_EQ(found[k], base + 1.0 + k) << "particle " << i << " field " << k;
        }
    }
    EXPECT_EQ(s.softening, (std::vector<double>{0.5, 0.25, 0.125}));
    EXPECT_EQ(s.component, (std::vector<std::int32_t>{0, 1, 4}));
}

TEST(Tipsy, ReadsHandMadeBytes) {
    expect_hand_made(read_tipsy(hand_made(true), "test"));
    expect_hand_made(read_tipsy(hand_made(false), "test"));
}

TEST(Tipsy, RoundTripsInBothByteOrders) {
    const Snapshot s = read_tipsy(hand_made(true), "test");
    const auto little = encode_tipsy(s, ByteOrder::Little);
    const auto big = encode_tipsy(s, ByteOrder::Big);
    EXPECT_EQ(little.size(), hand_made(true).size());
    EXPECT_EQ(static_cast<int>(little[8]), 3); // n
    EXPECT_EQ(static_cast<int>(big[11]), 3);
    expect_hand_made(read_tipsy(little, "test"));
    expect_hand_made(read_tipsy(big, "test"));
}

TEST(Tipsy, EveryTruncationIsAClearError) {
    const auto bytes = hand_made(true);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        try {
            read_tipsy(std::span(bytes).first(length), "cut.tipsy");
            FAIL() << "accepted " << length << " bytes";
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("cut.tipsy"), std::string::npos);
        }
    }
}

TEST(Tipsy, HugeCountsAreRefusedBeforeAllocation) {
    auto bytes = hand_made(true);
    const std::int32_t huge[5] = {2147483647, 3, 0, 2147483647, 0};
    std::memcpy(bytes.data() + 8, huge, sizeof huge);
    try {
        read_tipsy(bytes, "huge.tipsy");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.parts().what, "truncated tipsy file");
        EXPECT_NE(error.parts().expected.find("77309411324 bytes"), std::string::npos) << error.what();
    }
}

TEST(Tipsy, NumbersBeyondSinglePrecisionAreRefused) {
    Snapshot s;
    s.resize(1);
    s.x[0] = 1e200;
    EXPECT_THROW(encode_tipsy(s, ByteOrder::Little), Error);
}

TEST(Tipsy, ReadsARealGalaxy) {
    if (test_data().empty()) {
        GTEST_SKIP() << "skipped: no data";
    }
    const Snapshot s = read_snapshot_file(test_data() + "/galaxy_model3.tipsy");
    ASSERT_EQ(s.size(), 22000u);
    EXPECT_EQ(std::count(s.component.begin(), s.component.end(), 1), 20000);
    EXPECT_EQ(std::count(s.component.begin(), s.component.end(), 4), 2000);
    // The model is published as an equilibrium: its virial ratio by direct sum must be near 1.
    const Energies e = direct_energies(s, s.softening[0]);
    EXPECT_NEAR(-2.0 * e.kinetic / e.clausius, 1.0, 0.05);
}

} // namespace
} // namespace graft::cli::test
