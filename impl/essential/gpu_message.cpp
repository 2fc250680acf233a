// SPDX-License-Identifier: BSD-3-Clause
// See gpu_message.hpp.
#include "essential/gpu_message.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <limits>

namespace graft::essential {

namespace {

constexpr int64_t most_nodes = int64_t{1} << 29; // lists::most_linked_nodes

/// Nodes of each level above `roots` roots, the top one first.
std::vector<int32_t> level_sizes(int32_t roots, int arity) {
    std::vector<int32_t> sizes;
    do {
        roots = (roots + arity - 1) / arity;
        sizes.insert(sizes.begin(), roots);
    } while (roots > 1);
    return sizes;
}

void place_supers(const std::vector<RankHeader>& headers, int arity, RemotePlan& plan) {
    const auto roots = static_cast<int32_t>(headers.size());
    const std::vector<int32_t> sizes = level_sizes(roots, arity);
    plan.levels = static_cast<int32_t>(sizes.size());
    int32_t begin = 0;
    for (size_t level = 0; level < sizes.size(); ++level) {
        const int32_t next = begin + sizes[level];
        const int32_t below = level + 1 < sizes.size() ? sizes[level + 1] : roots;
        for (int32_t i = 0; i < sizes[level]; ++i)
            plan.supers.push_back({next + i * arity, std::min(arity, below - i * arity), {}});
        begin = next;
    }
    for (int32_t k = begin - 1; k >= 0; --k) {
        SuperNode& super = plan.supers[static_cast<size_t>(k)];
        for (int32_t c = super.first_child; c < super.first_child + super.child_count; ++c)
            super.box.include(c < begin ? plan.supers[static_cast<size_t>(c)].box
                                        : headers[static_cast<size_t>(c - begin)].box);
    }
}

} // namespace

RemotePlan plan_remote(const std::vector<RankHeader>& headers, int arity) {
    RemotePlan plan;
    if (headers.empty())
        return plan;
    place_supers(headers, arity, plan);
    const auto supers = static_cast<int64_t>(plan.supers.size());
    int64_t rest = supers + static_cast<int64_t>(headers.size());
    int32_t most_levels = 0;
    for (size_t s = 0; s < headers.size(); ++s) {
        const RankHeader& header = headers[s];
        plan.places.push_back({static_cast<int32_t>(supers) + static_cast<int32_t>(s),
                               static_cast<int32_t>(std::min(rest, most_nodes)), plan.particles});
        rest += header.nodes - 1;
        plan.particles += header.particles;
        plan.charge += header.charge;
        plan.magnitude += header.magnitude;
        most_levels = std::max(most_levels, header.levels);
    }
    plan.levels += most_levels;
    plan.nodes = rest;
    if (rest >= most_nodes || plan.particles > std::numeric_limits<int32_t>::max())
        core::fail(
            core::Status::unsupported,
            "%lld tree nodes and %lld particles of other ranks meet on this GPU; at most 2^29 and 2^31 fit. "
            "Use a larger theta, or domains that do not overlap",
            static_cast<long long>(rest), static_cast<long long>(plan.particles));
    return plan;
}

} // namespace graft::essential
