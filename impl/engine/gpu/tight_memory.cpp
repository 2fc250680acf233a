// SPDX-License-Identifier: BSD-3-Clause
// See tight_memory.hpp. Sizes of the device's records are asserted in tight_memory_gpu.cu.
#include "engine/gpu/tight_memory.hpp"

#include "moments/expansion.hpp"
#include "moments/moment_terms.hpp"
#include "tree/buckets.hpp"

#include <algorithm>

namespace graft::engine {

namespace {

constexpr int64_t packed_limit = int64_t{1} << 27; // tree/build_steps_gpu.cuh

void add_particles(const FootprintShape& s, std::vector<DeviceArray>& arrays) {
    const int64_t n = s.particles;
    const char *of_field = s.lean ? "field" : nullptr, *of_host_order = s.lean ? "x, y, z, charge" : nullptr;
    arrays.insert(
        arrays.end(),
        {
            {"x, y, z, charge", "import", s.lean ? "gather" : "output", n, 32, nullptr, s.lean},
            {"keys, unsorted", "keys", "sort", n, 8, of_field, false},
            {"order, unsorted; leaf starts", "keys", "boxes", n, 4, nullptr, s.lean},
            {"keys, sorted", "sort", "groups", n, 8, of_field, false},
            {"order", "sort", "output", n, 4, nullptr, s.lean},
            {"scratch of the sort", "sort", "sort", s.lean ? 0 : n, n <= tree::most_in_buckets ? 9 : 12,
             nullptr, false},
            {"packed particles", "keys", "gather", !s.lean && n <= packed_limit ? n : 0, 32, nullptr, false},
            {"sorted x, y, z, charge", "gather", "forces", n, 32, of_host_order, false},
            {"leaf flags", "nodes", "nodes", n / 8 + 4, 1, nullptr, false},
            {"starts of groups", "groups", "groups", n, 5, nullptr, false},
            {"sizes of sources", "forces", "forces", n, 4, nullptr, false},
            {"field", "forces", "output", n, 24, nullptr, s.lean},
        });
}

void add_nodes(const FootprintShape& s, std::vector<DeviceArray>& arrays) {
    const int64_t k = s.nodes;
    const int64_t moments = 7 * 8 + 8 * moments::term_count(s.order);
    arrays.insert(
        arrays.end(),
        {
            {"nodes, boxes, edges", "nodes", "forces", k, 32 + 48 + 8, nullptr, false},
            {"leaves and cells in making", "nodes", "nodes", k, 8 * 4 + 16, nullptr, false},
            {"boxes in making", "boxes", "boxes", k, 2 * 48 + 2, nullptr, false},
            {"moments", "moments", "forces", k, moments, nullptr, false},
            {"children waited for", "moments", "moments", k, 8, nullptr, false},
            {"expansions", "moments", "forces", k, 4 * moments::record_size(s.order, false), nullptr, false},
            {"estimate of accelerations", "criterion", "criterion", k, 48 + 8, nullptr, false},
            {"criterion", "criterion", "lists", k, 48, nullptr, false},
            {"packed cells", "forces", "forces", k, s.local ? 64 + 32 : 64, nullptr, false},
        });
}

} // namespace

FootprintShape footprint_shape(int64_t particles, int leaf, int group, int order, bool lean, bool local) {
    const int64_t a_leaf = particles / std::max(leaf, 1);
    const int64_t nodes = lean ? a_leaf * 42 / 10 + 4097 : 6 * a_leaf + 4097;
    return {
        particles, std::min(2 * particles + 1, nodes), 3 * (particles / std::max(group, 1)) + 64, order, lean,
        local};
}

std::vector<DeviceArray> device_arrays(const FootprintShape& shape) {
    std::vector<DeviceArray> arrays;
    add_particles(shape, arrays);
    add_nodes(shape, arrays);
    arrays.push_back({"groups, offsets of lists", "groups", "forces", shape.groups, 80 + 16, nullptr, false});
    return arrays;
}

int64_t footprint_bytes(const FootprintShape& shape) {
    int64_t bytes = int64_t{1} << 20;
    for (const DeviceArray& array : device_arrays(shape))
        bytes += array.bytes();
    return bytes;
}

} // namespace graft::engine
