// SPDX-License-Identifier: BSD-3-Clause
// ORB on a GPU measured: what `graft bench orb --backend gpu` prints.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace graft::study {

enum class OrbVariant : int32_t {
    rounds = 0, // ours (orb_gpu.cuh)
    cell = 1,   // rehmann2022 section 6.4: bisection, a count-left kernel for every cell
    level = 2,  // 6.5: one launch for all cells of a level
    warp = 3,   // 6.6: the same with warp primitives
    sweep = 4,  // no ORB: count-left kernels over threads and elements a thread beside plain reading
};
enum class OrbAxis : int32_t { column = 0, direct = 1, strided = 2 }; // make-axis; columns; rows of three
enum class OrbPartition : int32_t { none = 0, cell = 1, level = 2 };  // none: measured without it

/// One measurement on points made on the device.
struct DeviceOrbBench {
    int64_t n = 1 << 20;
    int32_t leaves = 64;
    int32_t plummer = 0, lognormal = 0, fp64 = 0;
    int32_t repeats = 3, device = 0;
    uint64_t seed = 42;
    OrbVariant variant = OrbVariant::rounds;
    int32_t levels_per_round = 4, samples_per_cell = 4096; // ours
    int32_t threads = 256, items = 16;                     // rehmann2022's, as are those below
    OrbAxis axis = OrbAxis::column;
    OrbPartition partition = OrbPartition::level;
    int32_t temporaries = 3; // 3, or 1: with a permutation
    double tolerance = 0;    // of a cut, in points of a part
    int32_t verify = 1;
};

/// `graft bench orb --backend gpu`: arguments as (key, text) pairs, the answer as JSON. Throws
/// Error(argument) for what is not known, Error(device) without a device, Error(memory).
std::string bench_device_orb(const std::vector<std::pair<std::string, std::string>>& arguments);

} // namespace graft::study
