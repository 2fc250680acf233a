// SPDX-License-Identifier: BSD-3-Clause
// Which warp sums which boxes, and the second kernel: mutual_gpu.cuh.
#include "near/mutual_gpu.cuh"

#include "near/tiles/tile_gpu.cuh"
#include "near/tiles/tile_shapes.hpp"

#include <algorithm>

namespace graft::near {

namespace {

constexpr int64_t aligned = 8; // sums that are written together begin at a whole line

/// The units, and where the sums of every box' targets begin.
class Planner {
  public:
    Planner(const Structure& structure, const LaterBoxes& later, std::span<const int32_t> sources)
        : s_(structure), later_(later), sources_(sources), boxes_(static_cast<size_t>(s_.target_boxes())),
          list(boxes_ + 1, 0) {
        for (int64_t b = 0; b < s_.target_boxes(); ++b)
            add_units(b);
        place_lists();
        // Loops of several T at one time miss the instruction caches; a long unit at the end is waited for.
        std::stable_sort(units.begin(), units.end(), [&](const MutualUnit& a, const MutualUnit& b) {
            return a.targets != b.targets ? a.targets > b.targets : pairs(a) > pairs(b);
        });
    }

  private:
    const Structure& s_;
    const LaterBoxes& later_;
    std::span<const int32_t> sources_;
    size_t boxes_;

  public:
    std::vector<MutualUnit> units;
    std::vector<int64_t> list, from;
    int64_t sums = 0;

  private:
    int32_t points(int64_t box) const {
        return static_cast<int32_t>(s_.target_offset[box + 1] - s_.target_offset[box]);
    }
    int64_t pairs(const MutualUnit& unit) const {
        return int64_t{unit.count} * (sources_[static_cast<size_t>(unit.box)] + points(unit.box));
    }
    bool has_list(int64_t box) const { return s_.neighbour_offset[box] < s_.neighbour_offset[box + 1]; }
    /// Room for `count` sums.
    int64_t take(int64_t count) {
        const int64_t at = sums;
        sums += (count + aligned - 1) / aligned * aligned;
        return at;
    }
    /// Even pieces of boxes that are too large for one warp; a box's own sums stand together.
    void add_units(int64_t box) {
        const int32_t n = points(box), pieces = (n + once_unit - 1) / once_unit;
        if (n == 0)
            return;
        const int32_t piece = (n + pieces - 1) / pieces;
        const auto begin = s_.neighbour.begin();
        const bool own = std::binary_search(begin + s_.neighbour_offset[box],
                                            begin + s_.neighbour_offset[box + 1], static_cast<int32_t>(box));
        const int64_t own_sums = take(n);
        for (int32_t first = 0; first < n; first += piece) {
            const int32_t count = std::min(piece, n - first);
            units.push_back({static_cast<int32_t>(box), static_cast<int32_t>(s_.target_offset[box]) + first,
                             static_cast<int16_t>(count), static_cast<uint8_t>(near::once_targets(count)),
                             static_cast<uint8_t>(own), 0, take(sources_[static_cast<size_t>(box)]),
                             own_sums + first});
        }
    }
    /// Calls place(box, where) in the order in which a box's sums are added.
    template <typename Place>
    void for_sums(Place&& place) const {
        for (const MutualUnit& unit : units)
            if (unit.first == s_.target_offset[unit.box] && has_list(unit.box))
                place(unit.box, unit.sums);
        for (const MutualUnit& unit : units) {
            int64_t k = unit.later;
            for (int64_t e = later_.offset[static_cast<size_t>(unit.box)];
                 e < later_.offset[static_cast<size_t>(unit.box) + 1]; ++e) {
                const int32_t other = later_.box[static_cast<size_t>(e)];
                if (has_list(other) && points(other) > 0)
                    place(other, k);
                k += points(other);
            }
        }
    }
    void place_lists() {
        for_sums([&](int32_t box, int64_t) { ++list[static_cast<size_t>(box) + 1]; });
        for (size_t b = 0; b < boxes_; ++b)
            list[b + 1] += list[b];
        from.resize(static_cast<size_t>(list.back()));
        std::vector<int64_t> at(list.begin(), list.end() - 1);
        for_sums([&](int32_t box, int64_t where) {
            from[static_cast<size_t>(at[static_cast<size_t>(box)]++)] = where;
        });
    }
};

constexpr int gather_threads = 128;

/// A warp a box: adds what its targets got, in the order of `from`.
template <int dimension>
__global__ __launch_bounds__(gather_threads) void gather_sums(SumView<Precision::fp32> v, const int64_t* list,
                                                              const int64_t* from, const float4* sum) {
    const int64_t box = (int64_t{blockIdx.x} * gather_threads + threadIdx.x) / 32;
    if (box >= v.boxes.boxes)
        return;
    const int32_t first = v.boxes.target_offset[box], n = v.boxes.target_offset[box + 1] - first;
    const int64_t begin = list[box], end = list[box + 1];
    for (int32_t i = static_cast<int32_t>(threadIdx.x % 32); i < n; i += 32) {
        float4 all = make_float4(0, 0, 0, 0);
#pragma unroll 4
        for (int64_t e = begin; e < end; ++e) {
            const float4 one = __ldcs(sum + __ldg(from + e) + i);
            all.x += one.x, all.y += one.y, all.z += one.z, all.w += one.w;
        }
        const int32_t slot = first + i;
        const int64_t at = v.boxes.target_index != nullptr ? v.boxes.target_index[slot] : slot;
        const float values[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
        for (int c = 0; c < 1 + dimension; ++c)
            write_result<1, dimension>(v.results, c, at, values[c]);
    }
}

template <typename T>
void put(backend::Queue& queue, const std::vector<T>& from, backend::DeviceBuffer<T>& to) {
    to.resize(std::max<int64_t>(1, static_cast<int64_t>(from.size())));
    if (!from.empty())
        GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice,
                                   queue.stream()));
}

} // namespace

Mutual::Mutual(const DeviceStructure& structure, const LaterBoxes& later, backend::Queue& queue)
    : structure_(structure), runs_(later.instead_of_lists(structure.host()), Neighbours::others, true, queue),
      unit_(queue.memory(), "near field: units"), check_(queue.memory(), "near field: meetings"),
      list_(queue.memory(), "near field: lists of sums"), from_(queue.memory(), "near field: places of sums"),
      sum_(queue.memory(), "near field: sums of boxes") {
    const Planner plan(structure.host(), later, runs_.host().sources.all());
    put(queue, plan.units, unit_), put(queue, plan.list, list_), put(queue, plan.from, from_);
    units_ = static_cast<int32_t>(plan.units.size());
    check_.resize(std::max<int64_t>(1, structure.host().target_boxes()));
    sum_.resize(std::max<int64_t>(1, plan.sums));
    queue.wait(); // the plan goes
}

void Mutual::set_points(backend::Queue& queue, const Point<float>* points) {
    find_meetings(queue, structure_.view(), runs_.view(), points, points, check_.data());
}

void Mutual::run(backend::Queue& queue, int32_t dimension, SumView<Precision::fp32> view) {
    view.runs = runs_.view();
    view.first = 0, view.count = units_;
    const MutualView mutual{unit_.data(), check_.data(), sum_.data()};
    const bool flat = dimension == 2;
    flat ? sum_mutual_of<Form::laplace, 2>(queue, view, mutual)
         : sum_mutual_of<Form::laplace, 3>(queue, view, mutual);
    if (view.boxes.boxes == 0)
        return;
    const auto blocks = backend::blocks_for(int64_t{view.boxes.boxes} * 32, gather_threads);
    const auto gather = flat ? gather_sums<2> : gather_sums<3>;
    gather<<<blocks, gather_threads, 0, queue.stream()>>>(view, list_.data(), from_.data(), sum_.data());
    GRAFT_CUDA_LAUNCHED("near field, sums of boxes");
    ++queue.launches;
}

int64_t Mutual::bytes() const noexcept {
    return runs_.bytes() + static_cast<int64_t>(sizeof(MutualUnit)) * unit_.size() + 8 * check_.size() +
           8 * (list_.size() + from_.size()) + 16 * sum_.size();
}

} // namespace graft::near
