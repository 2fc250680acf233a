// SPDX-License-Identifier: BSD-3-Clause
// Shapes of boxes, and their order: tile_gpu.cuh. Host code. All units of a box have one shape: a rest of
// few targets in a shape of its own walks over all sources for little work (measured: 10 to 32 % slower).
#include "near/tiles/tile_blocks_gpu.cuh"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace graft::near {

namespace {

using near::TileShape;

/// Warps of one shape follow each other, and blocks of one kind, those of many targets a lane first.
uint32_t order_of(const TileShape& s) {
    return (static_cast<uint32_t>(s.block + 1) << 16) | (static_cast<uint32_t>(31 - s.targets) << 8) |
           (static_cast<uint32_t>(s.shared) << 7) | (static_cast<uint32_t>(s.log_p) << 4) |
           static_cast<uint32_t>(s.log_y);
}

class Builder {
  public:
    Builder(const Structure& structure, const Runs& runs, const TileCost& cost, int32_t small_blocks)
        : structure_(structure), runs_(runs), small_blocks_(small_blocks),
          cost_(cost), rule_{cost.pair,  cost.values,       cost.most,
                             cost.every, cost.target_lanes, cost.source_lanes} {}
    TilePlan build() {
        const auto boxes = static_cast<int32_t>(structure_.target_boxes());
        const int32_t window = std::max(1, cost_.window);
        for (int64_t begin = 0; begin < boxes; begin += window)
            add_window(static_cast<int32_t>(begin),
                       static_cast<int32_t>(std::min<int64_t>(boxes, begin + window)));
        return {std::move(schedule_), std::move(blocks_)};
    }

  private:
    struct Known { // a shape depends on nothing but its box: the same bits in any part of a structure
        int32_t sources, block, kind;
    };
    /// Boxes of so many targets in one shape.
    struct Kind {
        uint32_t order;
        int32_t targets;
        TileShape shape;
        /// The fullest of the small blocks first: a long one at the end is 3 % of a kernel at 12 to 24 points
        /// a box. Blocks of two warps lose as much as they gain.
        int32_t later() const { return shape.block == 0 ? -targets : 0; }
        bool operator<(const Kind& other) const {
            return order != other.order ? order < other.order : later() < other.later();
        }
    };
    struct Box {
        int32_t kind, box;
    };
    struct Entry {
        int32_t box, first, end;
        const TileShape& shape;
    };
    /// Of m sources, by steps of a quarter.
    int32_t step_of(int32_t m) {
        constexpr int32_t kept = 1 << 12, unknown = -1;
        const auto step = [&] { return static_cast<int32_t>(std::lround(3 * std::log2(std::max(1, m)))); };
        if (m >= kept)
            return step();
        steps_.resize(kept, unknown);
        int32_t& known = steps_[static_cast<size_t>(m)];
        return known != unknown ? known : known = step();
    }
    int32_t kind_of(int32_t n, int32_t m, int32_t block) {
        const int32_t step = step_of(m);
        if (static_cast<size_t>(n) >= known_.size())
            known_.resize(static_cast<size_t>(n) + 1);
        auto& list = known_[static_cast<size_t>(n)];
        for (const Known& one : list)
            if (one.sources == step && one.block == block)
                return one.kind;
        const TileShape shape = near::best_tile_shape(n, std::exp2(step / 3.0), block, rule_);
        list.push_back({step, block, static_cast<int32_t>(kinds_.size())});
        kinds_.push_back({order_of(shape), n, shape});
        return list.back().kind;
    }
    int32_t block_of(int32_t n, double m, double neighbours) const {
        const bool small = n < tile_blocks[0].from;
        return small && small_blocks_ == 1 && m > 0 ? 0 : near::block_kind(n, m, neighbours);
    }
    void add_window(int32_t begin, int32_t end) {
        boxes_.clear();
        for (int32_t b = begin; b < end; ++b) {
            const auto n =
                static_cast<int32_t>(structure_.target_offset[b + 1] - structure_.target_offset[b]);
            if (n == 0)
                continue;
            const int32_t m = runs_.host().sources[static_cast<size_t>(b)];
            const auto neighbours =
                static_cast<double>(structure_.neighbour_offset[b + 1] - structure_.neighbour_offset[b]);
            boxes_.push_back({kind_of(n, m, block_of(n, m, neighbours)), b});
        }
        sort_boxes();
        uint32_t last = std::numeric_limits<uint32_t>::max();
        for (const Box& box : sorted_) {
            const Kind& kind = kinds_[static_cast<size_t>(box.kind)];
            const Entry entry{box.box, static_cast<int32_t>(structure_.target_offset[box.box]),
                              static_cast<int32_t>(structure_.target_offset[box.box + 1]), kind.shape};
            if (kind.shape.block >= 0) {
                add_blocks(entry);
                continue;
            }
            add_units(entry, kind.order != last);
            last = kind.order;
        }
    }
    /// By kind, those of one in their own order: kinds are few, so that they are counted.
    void sort_boxes() {
        std::vector<int32_t> by_rank(kinds_.size());
        std::iota(by_rank.begin(), by_rank.end(), 0);
        const auto kind = [&](int32_t k) -> const Kind& { return kinds_[static_cast<size_t>(k)]; };
        std::sort(by_rank.begin(), by_rank.end(), [&](int32_t a, int32_t b) { return kind(a) < kind(b); });
        std::vector<size_t> rank(kinds_.size()), place(kinds_.size() + 1, 0);
        for (size_t k = 0; k < by_rank.size(); ++k) {
            const bool as_before = k > 0 && !(kind(by_rank[k - 1]) < kind(by_rank[k]));
            rank[static_cast<size_t>(by_rank[k])] = as_before ? rank[static_cast<size_t>(by_rank[k - 1])] : k;
        }
        for (const Box& box : boxes_)
            ++place[rank[static_cast<size_t>(box.kind)] + 1];
        std::partial_sum(place.begin(), place.end(), place.begin());
        sorted_.resize(boxes_.size());
        for (const Box& box : boxes_)
            sorted_[place[rank[static_cast<size_t>(box.kind)]]++] = box;
    }
    /// Even pieces of boxes that are too large for one block.
    void add_blocks(const Entry& entry) {
        const TileBlockKind& kind = tile_blocks[entry.shape.block];
        const int32_t n = entry.end - entry.first, most = kind.threads * entry.shape.targets;
        const int32_t pieces = (n + most - 1) / most, piece = (n + pieces - 1) / pieces;
        for (int32_t first = entry.first; first < entry.end; first += piece)
            blocks_[static_cast<size_t>(entry.shape.block)].push_back(
                {entry.box, first, static_cast<int16_t>(std::min(piece, entry.end - first)),
                 static_cast<uint8_t>(entry.shape.targets), 0});
    }
    void add_units(const Entry& entry, bool fresh) {
        const TileShape& shape = entry.shape;
        const int32_t room = 32 >> (shape.log_p + shape.log_y);
        for (int32_t first = entry.first; first < entry.end; first += shape.unit_targets()) {
            if (fresh || (schedule_.warps.back().units_and_kind & 127) == room)
                schedule_.warps.push_back(
                    {static_cast<int32_t>(schedule_.units.size()), static_cast<uint8_t>(shape.targets),
                     static_cast<uint8_t>(shape.log_p), static_cast<uint8_t>(shape.log_y),
                     static_cast<uint8_t>(shape.shared ? 128 : 0)});
            fresh = false;
            ++schedule_.warps.back().units_and_kind;
            schedule_.units.push_back({entry.box, first});
        }
    }

    const Structure& structure_;
    const Runs& runs_;
    int32_t small_blocks_;
    const TileCost& cost_;
    TileRule rule_;
    TileSchedule schedule_;
    TileBlocks blocks_;
    std::vector<std::vector<Known>> known_; // by targets
    std::vector<Kind> kinds_;
    std::vector<int32_t> steps_; // by sources
    std::vector<Box> boxes_, sorted_;
};

} // namespace

TilePlan make_tile_plan(const Structure& structure, const Runs& runs, const TileCost& cost,
                        int32_t small_blocks) {
    return Builder(structure, runs, cost, small_blocks).build();
}

} // namespace graft::near
