// Shapes of boxes, and their order: device_tiled.cuh. Host code. All units of a box have one shape: a rest of
// few targets in a shape of its own walks over all sources for little work (measured: 10 to 32 % slower).
#include "kernels/near/device_tiled_blocks.cuh"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::kernels::near {

namespace {

using model::TileShape;

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
        int32_t sources, block;
        TileShape shape;
    };
    struct Entry {
        uint32_t order;
        int32_t box, first, end;
        TileShape shape;
    };
    /// By steps of a quarter in the number of sources.
    const TileShape& shape_of(int32_t n, double m, int32_t block) {
        const auto step = static_cast<int32_t>(std::lround(3 * std::log2(std::max(1.0, m))));
        if (static_cast<size_t>(n) >= known_.size())
            known_.resize(static_cast<size_t>(n) + 1);
        auto& list = known_[static_cast<size_t>(n)];
        for (const Known& one : list)
            if (one.sources == step && one.block == block)
                return one.shape;
        list.push_back({step, block, model::best_tile_shape(n, std::exp2(step / 3.0), block, rule_)});
        return list.back().shape;
    }
    int32_t block_of(int32_t n, double m, double neighbours) const {
        const bool small = n < model::tile_blocks[0].from;
        return small && small_blocks_ == 1 && m > 0 ? 0 : model::block_kind(n, m, neighbours);
    }
    void add_window(int32_t begin, int32_t end) {
        entries_.clear();
        for (int32_t b = begin; b < end; ++b) {
            const auto first = static_cast<int32_t>(structure_.target_offset[b]);
            const auto n = static_cast<int32_t>(structure_.target_offset[b + 1]) - first;
            if (n == 0)
                continue;
            const double m = runs_.host_sources()[static_cast<size_t>(b)];
            const auto neighbours =
                static_cast<double>(structure_.neighbour_offset[b + 1] - structure_.neighbour_offset[b]);
            const TileShape& shape = shape_of(n, m, block_of(n, m, neighbours));
            entries_.push_back({order_of(shape), b, first, first + n, shape});
        }
        // The fullest of the small blocks first: a long one at the end is 3 % of a kernel at 12 to 24 points
        // a box. Blocks of two warps lose as much as they gain.
        std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
            if (a.order != b.order)
                return a.order < b.order;
            return a.shape.block == 0 && a.end - a.first > b.end - b.first;
        });
        uint32_t last = std::numeric_limits<uint32_t>::max();
        for (const Entry& entry : entries_) {
            if (entry.shape.block >= 0) {
                add_blocks(entry);
                continue;
            }
            add_units(entry, entry.order != last);
            last = entry.order;
        }
    }
    /// Even pieces of boxes that are too large for one block.
    void add_blocks(const Entry& entry) {
        const model::TileBlockKind& kind = model::tile_blocks[entry.shape.block];
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
    model::TileRule rule_;
    TileSchedule schedule_;
    TileBlocks blocks_;
    std::vector<std::vector<Known>> known_; // by targets
    std::vector<Entry> entries_;
};

} // namespace

TilePlan make_tile_plan(const Structure& structure, const Runs& runs, const TileCost& cost,
                        int32_t small_blocks) {
    return Builder(structure, runs, cost, small_blocks).build();
}

} // namespace graft::kernels::near
