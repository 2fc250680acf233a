// SPDX-License-Identifier: BSD-3-Clause
// Numbers of buckets, and the particles that tell where they begin.
#include "tree/buckets.hpp"

#include <gtest/gtest.h>

namespace {

using namespace graft::tree;

TEST(DeviceBuckets, SamplesAreDifferentParticles) {
    for (const int64_t n : {int64_t{1}, int64_t{7}, int64_t{8}, int64_t{639}, int64_t{641}, int64_t{5000},
                            passes_from - 1, passes_from, most_buckets * 640, most_in_buckets}) {
        SCOPED_TRACE(n);
        const int64_t buckets = bucket_count(n), samples = sample_count(n);
        EXPECT_GE(buckets, 1);
        EXPECT_LE(buckets, most_buckets);
        EXPECT_LE(n, buckets * bucket_items * bucket_threads(n) * 5 / 8);
        ASSERT_LE(samples, n);
        EXPECT_EQ(samples, n < per_bucket ? 0 : buckets * per_bucket);
        int64_t last = -1;
        for (int64_t s = 0; s < samples; ++s) {
            const int64_t i = sampled_particle(s, samples, n);
            ASSERT_GT(i, last);
            last = i;
        }
        EXPECT_LT(last, n);
    }
}

} // namespace
