// SPDX-License-Identifier: BSD-3-Clause
// What a test tells the library of force_cuda.cpp, and is told by it.
#pragma once

#include <cstdint>
#include <vector>

namespace graft::backend {
struct CudaTable;
}

namespace fake {

struct Sizes {
    int32_t leaf, group, block_x, block_y;
};

struct Control {
    double (*forces_s)(const Sizes& sizes, int call) = nullptr; // that end() reports; null: 1
    Sizes own = {64, 64, 0, 0};                                 // where the settings leave them to the device
    int64_t bytes_free = int64_t{1} << 37;                      // of its memory
    std::vector<Sizes> used;                                    // by computations so far
    std::vector<int32_t> buffers;                               // and these, 0: the lists stayed
    double (*feed_s)(int32_t buffer) = nullptr;                 // that end() reports of a feed; null: 1
    bool needs_double = false; // it has no frames for particles in single precision, over ranks
    graft::backend::CudaTable* table = nullptr; // what a test needs besides forces it puts here
};

} // namespace fake
