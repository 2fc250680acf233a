// Shapes of boxes, and their order: device_tiled.cuh. Host code.
#include "kernels/near/device_tiled.cuh"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::kernels::near {

namespace {

struct BoxShape {
    int32_t targets = 1, log_p = 0, log_y = 0;
    int32_t units = 1, full = 1; // the first `full` have `targets` a lane, the others one less
    bool alone = false;          // a warp has one box
    double cost = std::numeric_limits<double>::infinity();
};

/// Slots of a whole warp for a unit with `targets` a lane of a box with m sources in `runs`, its share of the
/// warp. direct: 90 for a source that each lane reads, mostly latency (rates of fixed shapes at 16 to 64
/// targets a box). alone: 11 for two steps (SASS), 150 for a run's end and beginning, not below what 4 warps
/// a scheduler take to hide a step's latency; mixed: 200 for 32 sources through shared memory, 1.5 to read
/// one.
double slots_of(const BoxShape& s, int32_t targets, double m, double runs, const TileCost& cost) {
    const double parts = 1 << s.log_y, lanes = (1 << s.log_p) * parts;
    const double pairs = targets * cost.pair;
    double sum = 0;
    if (!s.alone)
        sum = (lanes < 32 ? 1.1 : 1.0) * std::ceil(m / parts) * (pairs + 0.5 * targets + 90);
    else if (cost.through_shared)
        sum = std::ceil(m / parts) * (pairs + 1.5 + 200.0 / (1 << s.log_p));
    else
        sum = 150 * runs + (m / parts + runs * (parts - 1) / (2 * parts)) * std::max(28.0, pairs + 5.5);
    const double reduce = 2.0 * s.log_y * cost.values * targets;
    return lanes / 32 * (sum + reduce + 60 + 8 * targets);
}

int32_t rounded_targets(int32_t targets, const TileCost& cost) {
    if (cost.every)
        return targets;
    int32_t power = 1;
    while (power < targets)
        power *= 2;
    return power;
}

/// Units as even as they can be: a rest of a few targets walks over all sources for little work (measured: 10
/// to 32 % slower).
void cut(BoxShape& shape, int32_t n, double m, double runs, const TileCost& cost) {
    const int32_t lanes = 1 << shape.log_p, wanted = (n + lanes - 1) / lanes;
    shape.units = (wanted + cost.most - 1) / cost.most;
    shape.targets = std::min(cost.most, rounded_targets((wanted + shape.units - 1) / shape.units, cost));
    shape.full = shape.units;
    if (cost.every && shape.alone)
        shape.full = wanted - shape.units * (shape.targets - 1);
    shape.cost = shape.full * slots_of(shape, shape.targets, m, runs, cost);
    if (shape.full < shape.units)
        shape.cost += (shape.units - shape.full) * slots_of(shape, shape.targets - 1, m, runs, cost);
}

BoxShape best_shape(int32_t n, double m, double runs, const TileCost& cost) {
    BoxShape best;
    for (int32_t log_p = 0; log_p <= 5; ++log_p)
        for (int32_t log_y = 0; log_p + log_y <= 5; ++log_y) {
            if ((cost.target_lanes > 0 && cost.target_lanes != 1 << log_p) ||
                (cost.source_lanes > 0 && cost.source_lanes != 1 << log_y))
                continue;
            for (const bool alone : {false, true}) {
                if (alone && log_p + log_y != 5)
                    continue;
                BoxShape shape;
                shape.log_p = log_p, shape.log_y = log_y, shape.alone = alone;
                cut(shape, n, m, runs, cost);
                if (shape.cost < best.cost)
                    best = shape;
            }
        }
    return best;
}

/// Warps of one shape follow each other, those of many targets first.
uint32_t order_of(const BoxShape& s, int32_t targets) {
    return (static_cast<uint32_t>(31 - targets) << 8) | (static_cast<uint32_t>(s.alone) << 7) |
           (static_cast<uint32_t>(s.log_p) << 4) | static_cast<uint32_t>(s.log_y);
}

class Builder {
  public:
    Builder(const Structure& structure, const Runs& runs, const TileCost& cost)
        : structure_(structure), runs_(runs), cost_(cost) {}
    TileSchedule build() {
        const auto boxes = static_cast<int32_t>(structure_.target_boxes());
        const int32_t window = std::max(1, cost_.window);
        for (int64_t begin = 0; begin < boxes; begin += window)
            add_window(static_cast<int32_t>(begin),
                       static_cast<int32_t>(std::min<int64_t>(boxes, begin + window)));
        return std::move(schedule_);
    }

  private:
    struct Known { // a shape depends on nothing but its box: the same bits in any part of a structure
        int32_t sources, runs;
        BoxShape shape;
    };
    struct Entry { // units of one shape
        uint32_t order;
        int32_t box, first, end, targets;
        BoxShape shape;
    };
    /// By steps of a quarter in the number of sources, of a factor two in that of runs.
    const BoxShape& shape_of(int32_t n, double m, double runs) {
        const auto step = [](double v, double each) {
            return static_cast<int32_t>(std::lround(each * std::log2(std::max(1.0, v))));
        };
        const int32_t of_sources = step(m, 3), of_runs = step(runs, 1);
        if (static_cast<size_t>(n) >= known_.size())
            known_.resize(static_cast<size_t>(n) + 1);
        auto& list = known_[static_cast<size_t>(n)];
        for (const Known& one : list)
            if (one.sources == of_sources && one.runs == of_runs)
                return one.shape;
        list.push_back(
            {of_sources, of_runs, best_shape(n, std::exp2(of_sources / 3.0), std::exp2(of_runs), cost_)});
        return list.back().shape;
    }
    void add_window(int32_t begin, int32_t end) {
        entries_.clear();
        for (int32_t b = begin; b < end; ++b) {
            const auto first = static_cast<int32_t>(structure_.target_offset[b]);
            const auto n = static_cast<int32_t>(structure_.target_offset[b + 1]) - first;
            if (n == 0)
                continue;
            const BoxShape& shape =
                shape_of(n, runs_.host_sources()[static_cast<size_t>(b)],
                         static_cast<double>(runs_.host_offset()[static_cast<size_t>(b) + 1] -
                                             runs_.host_offset()[static_cast<size_t>(b)]));
            const int32_t cut =
                std::min(n, shape.full == shape.units ? n : shape.full * (shape.targets << shape.log_p));
            entries_.push_back({order_of(shape, shape.targets), b, first, first + cut, shape.targets, shape});
            if (cut < n)
                entries_.push_back({order_of(shape, shape.targets - 1), b, first + cut, first + n,
                                    shape.targets - 1, shape});
        }
        std::stable_sort(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.order < b.order; });
        uint32_t last = std::numeric_limits<uint32_t>::max();
        for (const Entry& entry : entries_) {
            add_units(entry, entry.order != last);
            last = entry.order;
        }
    }
    void add_units(const Entry& entry, bool fresh) {
        const BoxShape& shape = entry.shape;
        const int32_t room = 32 >> (shape.log_p + shape.log_y);
        for (int32_t first = entry.first; first < entry.end; first += entry.targets << shape.log_p) {
            if (fresh || (schedule_.warps.back().units_and_kind & 127) == room)
                schedule_.warps.push_back(
                    {static_cast<int32_t>(schedule_.units.size()), static_cast<uint8_t>(entry.targets),
                     static_cast<uint8_t>(shape.log_p), static_cast<uint8_t>(shape.log_y),
                     static_cast<uint8_t>(shape.alone ? 128 : 0)});
            fresh = false;
            ++schedule_.warps.back().units_and_kind;
            schedule_.units.push_back({entry.box, first});
        }
    }

    const Structure& structure_;
    const Runs& runs_;
    const TileCost& cost_;
    TileSchedule schedule_;
    std::vector<std::vector<Known>> known_; // by targets
    std::vector<Entry> entries_;
};

} // namespace

TileSchedule make_tile_schedule(const Structure& structure, const Runs& runs, const TileCost& cost) {
    return Builder(structure, runs, cost).build();
}

} // namespace graft::kernels::near
