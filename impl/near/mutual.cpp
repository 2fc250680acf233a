// SPDX-License-Identifier: BSD-3-Clause
// See mutual.hpp.
#include "near/mutual.hpp"

#include <algorithm>

namespace graft::near {

namespace {

// From rates on an H200 (docs/lab/gpu/near.md): a warp a box has to fill the device, and the sums that boxes
// give each other are written and read.
constexpr int64_t least_targets = int64_t{1} << 17;
constexpr double least_density = 28; // targets a box
// What the kernel divides without an integer division (mutual_kernel_gpu.cuh).
constexpr int64_t most_sources = int64_t{1} << 20;

bool has_list(const Structure& s, int64_t box) {
    return s.neighbour_offset[box] < s.neighbour_offset[box + 1];
}

} // namespace

Structure LaterBoxes::instead_of_lists(const Structure& structure) const {
    Structure s = structure;
    s.neighbour_offset = offset;
    s.neighbour = box;
    return s;
}

bool has_mutual_lists(const Structure& s) {
    if (!s.same)
        return false;
    // Boxes come in order, and so do the earlier boxes of every list: each is met where it is expected.
    const int64_t boxes = s.target_boxes();
    std::vector<int64_t> next(s.neighbour_offset.begin(), s.neighbour_offset.end() - 1);
    const auto skip = [&](int64_t box, int64_t before) { // what has no list names nobody
        int64_t& at = next[static_cast<size_t>(box)];
        while (at < s.neighbour_offset[box + 1] && s.neighbour[at] < before && !has_list(s, s.neighbour[at]))
            ++at;
    };
    for (int64_t b = 0; b < boxes; ++b) {
        if (!has_list(s, b))
            continue;
        skip(b, b);
        int64_t e = next[static_cast<size_t>(b)];
        if (e < s.neighbour_offset[b + 1] && s.neighbour[e] < b)
            return false; // names an earlier one that does not name it
        for (; e < s.neighbour_offset[b + 1]; ++e) {
            const int64_t other = s.neighbour[e];
            if (other == b || !has_list(s, other))
                continue;
            skip(other, b);
            int64_t& at = next[static_cast<size_t>(other)];
            if (at == s.neighbour_offset[other + 1] || s.neighbour[at] != b)
                return false;
            ++at;
        }
    }
    return true;
}

LaterBoxes later_boxes(const Structure& s) {
    const int64_t boxes = s.target_boxes();
    LaterBoxes later;
    later.offset.assign(static_cast<size_t>(boxes) + 1, 0);
    /// Calls pair(a, b) for a < b; b ascends for every a.
    const auto for_pairs = [&](auto&& pair) {
        for (int64_t b = 0; b < boxes; ++b)
            for (int64_t e = s.neighbour_offset[b]; e < s.neighbour_offset[b + 1]; ++e) {
                const int64_t other = s.neighbour[e];
                if (other > b)
                    pair(b, other);
                else if (other < b && !has_list(s, other))
                    pair(other, b);
            }
    };
    for_pairs([&](int64_t a, int64_t) { ++later.offset[static_cast<size_t>(a) + 1]; });
    for (size_t b = 0; b < static_cast<size_t>(boxes); ++b)
        later.offset[b + 1] += later.offset[b];
    std::vector<int64_t> place(later.offset.begin(), later.offset.end() - 1);
    later.box.resize(static_cast<size_t>(later.offset.back()));
    for_pairs([&](int64_t a, int64_t b) {
        later.box[static_cast<size_t>(place[static_cast<size_t>(a)]++)] = static_cast<int32_t>(b);
    });
    return later;
}

bool sums_pairs_once(const Structure& s, const Sums& sums, int64_t most_bytes) {
    Shape shape;
    shape.kernel = sums.kernel.kernel;
    shape.precision = sums.precision;
    shape.components = sums.components;
    shape.same = s.same;
    shape.targets = s.targets();
    shape.boxes = s.target_boxes();
    if (bytes_of_pairs_once(shape, 0) == 0)
        return false;
    const auto points = [&](int64_t box) { return s.target_offset[box + 1] - s.target_offset[box]; };
    std::vector<int64_t> sources(static_cast<size_t>(s.target_boxes()), 0); // that a box may meet
    for (int64_t b = 0; b < s.target_boxes(); ++b)
        for (int64_t e = s.neighbour_offset[b]; e < s.neighbour_offset[b + 1]; ++e) {
            const int32_t other = s.neighbour[e];
            shape.gathered += points(other);
            sources[static_cast<size_t>(b)] += points(other);
            if (!has_list(s, other))
                sources[static_cast<size_t>(other)] += points(b);
        }
    return *std::max_element(sources.begin(), sources.end()) < most_sources &&
           bytes_of_pairs_once(shape, most_bytes) > 0 && has_mutual_lists(s);
}

double bytes_of_pairs_once(const Shape& shape, int64_t most_bytes) {
    const auto targets = static_cast<double>(shape.targets), boxes = static_cast<double>(shape.boxes);
    const auto gathered = static_cast<double>(shape.gathered);
    if (shape.kernel != Kernel::laplace || shape.precision != Precision::fp32 || shape.components != 1 ||
        !shape.same || shape.targets < least_targets || targets < least_density * boxes)
        return 0;
    // Half of what is gathered and the targets' own sums, 16 bytes each; a box' unit, meetings, and 14 runs,
    // places of sums and sums that are room only.
    const double bytes = 8 * gathered + 16 * targets + (32 + 24 + 14 * 16 + 128) * boxes;
    return most_bytes > 0 && bytes > static_cast<double>(most_bytes) / 2 ? 0 : bytes;
}

} // namespace graft::near
