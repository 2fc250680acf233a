// SPDX-License-Identifier: BSD-3-Clause
// tiled and tiled_split on the device: tile_gpu.cuh; split: a box with itself in one kernel (written),
// with its neighbours in a second one (added), the paper's reference [10]. tiled of dense boxes with mutual
// lists sums each pair of boxes once (mutual_gpu.cuh).
#include "backend/side_stream_gpu.cuh"
#include "near/layouts/layout_base_gpu.cuh"
#include "near/mutual_gpu.cuh"
#include "near/tiles/tile_blocks_gpu.cuh"
#include "near/tiles/tile_rule.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace graft::near {

namespace {

/// One set of runs with its schedule.
class TilePart {
  public:
    TilePart(const DeviceStructure& structure, const Runs& runs, const TileCost& cost, int32_t small_blocks,
             backend::Queue& queue)
        : structure_(structure), runs_(runs), units_(queue.memory(), "near field: units"),
          warps_(queue.memory(), "near field: warps"), check_(queue.memory(), "near field: meetings") {
        const TilePlan plan = make_tile_plan(structure.host(), runs, cost, small_blocks);
        put(queue, plan.warps.units, units_);
        put(queue, plan.warps.warps, warps_);
        for (const std::vector<TileBlock>& kind : plan.blocks)
            put(queue, kind, blocks_.emplace_back(queue.memory(), "near field: blocks"));
        count(plan);
        check_.resize(std::max<int64_t>(1, structure.host().target_boxes()));
        queue.wait(); // the plan goes
    }
    template <typename T>
    void set_points(backend::Queue& queue, const DevicePoints<T>& points) {
        find_meetings(queue, structure_.view(), runs_.view(), points.target(), points.source(),
                      check_.data());
    }
    TilesView view() const { return {units_.data(), warps_.data(), check_.data()}; }
    const Runs& runs() const { return runs_; }
    /// Blocks of a kind; of the last list: warps.
    int32_t count(int32_t list) const { return counts_[static_cast<size_t>(list)]; }
    /// How many lists are not empty, and which has the most boxes.
    int32_t lists() const {
        return static_cast<int32_t>(
            std::count_if(counts_.begin(), counts_.end(), [](int32_t n) { return n > 0; }));
    }
    int32_t largest() const { return largest_; }
    const TileBlock* blocks(int32_t kind) const { return blocks_[static_cast<size_t>(kind)].data(); }
    int64_t bytes() const {
        return 8 * (units_.size() + warps_.size() + check_.size()) +
               static_cast<int64_t>(sizeof(TileBlock)) * (blocks_[0].size() + blocks_[1].size());
    }

  private:
    void count(const TilePlan& plan) {
        int64_t most = -1;
        for (size_t list = 0; list < counts_.size(); ++list) {
            const bool warps = list == plan.blocks.size();
            counts_[list] = static_cast<int32_t>(warps ? plan.warps.warps.size() : plan.blocks[list].size());
            const int64_t boxes = warps ? static_cast<int64_t>(plan.warps.units.size()) : counts_[list];
            if (boxes > most)
                most = boxes, largest_ = static_cast<int32_t>(list);
        }
    }
    template <typename T>
    static void put(backend::Queue& queue, const std::vector<T>& from, backend::DeviceBuffer<T>& to) {
        to.resize(static_cast<int64_t>(from.size()));
        if (!from.empty())
            GRAFT_CUDA(cudaMemcpyAsync(to.data(), from.data(), from.size() * sizeof(T),
                                       cudaMemcpyHostToDevice, queue.stream()));
    }
    const DeviceStructure& structure_;
    const Runs& runs_;
    backend::DeviceBuffer<TileUnit> units_;
    backend::DeviceBuffer<TileWarp> warps_;
    std::vector<backend::DeviceBuffer<TileBlock>> blocks_; // by kind
    backend::DeviceBuffer<int2> check_;
    std::array<int32_t, tile_block_kinds + 1> counts_{};
    int32_t largest_ = 0;
};

constexpr int64_t least_beside = int64_t{1} << 17; // targets; below, two streams cost what they save

/// Slots of a pair: 14 for laplace in float with one charge, double counts twice.
double pair_slots(Form form, Precision precision, int components) {
    const double radial =
        form == Form::logarithm ? 20 : (form == Form::laplace ? 10 : (form == Form::yukawa ? 25 : 50));
    return (radial + 4.0 * components) *
           (precision == Precision::fp64 ? 2.2 : (precision == Precision::mixed ? 1.4 : 1));
}

template <Precision precision>
class Tiled final : public LayoutBase<precision> {
  public:
    using Base = LayoutBase<precision>;
    using Stored = typename Base::Stored;
    Tiled(bool split, const DeviceStructure& structure, const Sums& sums, const DeviceLayoutOptions& options,
          backend::Queue& queue)
        : Base(structure, sums, options, queue), points_(structure, sums, true, queue) {
        if (!split && pairs_once()) {
            mutual_ = std::make_unique<Mutual>(structure, queue);
            this->check_limit(Layout::tiled);
            return;
        }
        const TileCost cost = cost_of(sums, options);
        const int32_t small = split || !cost.every ? 0
                              : options.small_blocks <= 1
                                  ? options.small_blocks
                                  : small_box_blocks(structure.host(), structure.all().host().sources.all());
        if (cost.every && structure.host().targets() >= least_beside)
            side_ = std::make_unique<backend::SideStream>(queue.memory());
        if (!split || !structure.host().same) {
            parts_.push_back(std::make_unique<TilePart>(structure, structure.all(), cost, small, queue));
            this->check_limit(Layout::tiled);
            return;
        }
        for (const Neighbours which : {Neighbours::own, Neighbours::others}) {
            runs_.push_back(std::make_unique<Runs>(structure.host(), which, false, queue));
            parts_.push_back(std::make_unique<TilePart>(structure, *runs_.back(), cost, small, queue));
        }
        this->check_limit(Layout::tiled_split);
    }
    void set_points(const Coordinates<Stored>& targets, const Coordinates<Stored>& sources) override {
        this->clock_.begin(LayoutClock::collection, this->queue_.stream());
        points_.set_points(targets, sources);
        for (const auto& part : parts_)
            part->set_points(this->queue_, points_);
        if constexpr (precision == Precision::fp32)
            if (mutual_ != nullptr)
                mutual_->set_points(this->queue_, points_.source());
        this->clock_.end(LayoutClock::collection, this->queue_.stream());
    }
    void set_charges(const Charges<Stored>& charges) override {
        this->clock_.begin(LayoutClock::charges, this->queue_.stream());
        points_.set_charges(charges);
        this->clock_.end(LayoutClock::charges, this->queue_.stream());
    }
    void run(const Fields<Stored>& fields) override {
        const cudaStream_t stream = this->queue_.stream();
        this->clock_.begin(LayoutClock::kernel, stream);
        bool add = false;
        for (const auto& part : parts_) {
            this->passes(
                this->whole(part->runs().view(), points_), fields, add, tile_components,
                [&](const SumView<precision>& view, bool gradient) { run_part(*part, view, gradient); });
            add = true;
        }
        if constexpr (precision == Precision::fp32)
            if (mutual_ != nullptr)
                this->passes(this->whole({}, points_), fields, false, tile_components,
                             [&](const SumView<precision>& view, bool) {
                                 mutual_->run(this->queue_, this->sums_.dimension, view);
                             });
        this->clock_.end(LayoutClock::kernel, stream);
    }
    Times times() override { return this->of_kernels(); }
    int64_t bytes() const override {
        int64_t bytes = this->structure_.bytes() + points_.bytes();
        for (const auto& part : parts_)
            bytes += part->bytes();
        for (const auto& runs : runs_)
            bytes += runs->bytes();
        return bytes + (mutual_ != nullptr ? mutual_->bytes() : 0);
    }

  private:
    bool pairs_once() const {
        const DeviceLayoutOptions& o = this->options_;
        if (precision != Precision::fp32 || o.target_lanes > 0 || o.source_lanes > 0)
            return false;
        return o.pairs_once > 0 ||
               (o.pairs_once == 0 && sums_pairs_once(this->structure_.host(), this->sums_, o.most_bytes));
    }
    /// The sums of one part's boxes; those of all but its largest list beside it where there are enough to
    /// fill the device.
    void run_part(const TilePart& part, const SumView<precision>& view, bool gradient) {
        const cudaStream_t main = this->queue_.stream();
        const bool beside = side_ != nullptr && part.lists() > 1;
        if (beside)
            side_->follow(main);
        run_list(part, part.largest(), view, gradient);
        {
            const backend::OnSide there(this->queue_, beside ? *side_ : main);
            for (int32_t list = 0; list <= tile_block_kinds; ++list)
                if (list != part.largest())
                    run_list(part, list, view, gradient);
        }
        if (beside)
            side_->join(main);
    }
    /// Blocks of a kind, or the warps.
    void run_list(const TilePart& part, int32_t list, SumView<precision> view, bool gradient) {
        view.count = part.count(list);
        if (list == tile_block_kinds)
            sum_tiles(this->queue_, this->form_, gradient, this->sums_.dimension, view, part.view(),
                      this->options_.threads);
        else if constexpr (precision == Precision::fp32)
            sum_blocks(this->queue_, list, this->sums_.dimension, view, part.blocks(list), part.view().check);
    }
    TileCost cost_of(const Sums& sums, const DeviceLayoutOptions& options) const {
        const int components =
            sums.components >= 3 ? 4 : (sums.components == 2 || this->form_ == Form::helmholtz ? 2 : 1);
        TileCost cost;
        cost.pair = pair_slots(this->form_, precision, components);
        cost.values = components * ((sums.outputs & gradient) != 0 ? 1 + sums.dimension : 1);
        cost.most = most_tile_targets(this->form_, precision, components);
        cost.every = every_tile_target(this->form_, precision, components);
        cost.target_lanes = options.target_lanes, cost.source_lanes = options.source_lanes;
        cost.window = options.window;
        return cost;
    }
    DevicePoints<Stored> points_;
    std::unique_ptr<backend::SideStream> side_; // NULL: everything in the queue's stream
    std::vector<std::unique_ptr<Runs>> runs_;
    std::vector<std::unique_ptr<TilePart>> parts_;
    std::unique_ptr<Mutual> mutual_; // then no parts
};

} // namespace

template <Precision precision>
void sum_tiles(backend::Queue& queue, Form form, bool gradient, int32_t dimension,
               const SumView<precision>& view, const TilesView& tiles, int threads) {
    const bool flat = dimension == 2;
    switch (form) {
    case Form::logarithm:
        return flat ? sum_tiles_of<Form::logarithm, precision, 2>(queue, gradient, view, tiles, threads)
                    : sum_tiles_of<Form::logarithm, precision, 3>(queue, gradient, view, tiles, threads);
    case Form::yukawa: // in two dimensions z = 0: what is a multiply-add beside an exponential
        return sum_tiles_of<Form::yukawa, precision, 3>(queue, gradient, view, tiles, threads);
    case Form::helmholtz:
        return sum_tiles_of<Form::helmholtz, precision, 3>(queue, gradient, view, tiles, threads);
    case Form::table:
        return sum_tiles_of<Form::table, precision, 3>(queue, gradient, view, tiles, threads);
    default:
        return flat ? sum_tiles_of<Form::laplace, precision, 2>(queue, gradient, view, tiles, threads)
                    : sum_tiles_of<Form::laplace, precision, 3>(queue, gradient, view, tiles, threads);
    }
}

void sum_blocks(backend::Queue& queue, int32_t kind, int32_t dimension, const SumView<Precision::fp32>& view,
                const TileBlock* blocks, const int2* check) {
    dimension == 2 ? sum_blocks_of<Form::laplace, 2>(queue, kind, view, blocks, check)
                   : sum_blocks_of<Form::laplace, 3>(queue, kind, view, blocks, check);
}

template <Precision precision>
std::unique_ptr<DeviceLayout<typename Numbers<precision>::Stored>>
make_device_tiled(Layout layout, const DeviceStructure& structure, const Sums& sums,
                  const DeviceLayoutOptions& options, backend::Queue& queue) {
    return std::make_unique<Tiled<precision>>(layout == Layout::tiled_split, structure, sums, options, queue);
}
template std::unique_ptr<DeviceLayout<float>>
make_device_tiled<Precision::fp32>(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                   backend::Queue&);
template std::unique_ptr<DeviceLayout<double>>
make_device_tiled<Precision::mixed>(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                    backend::Queue&);
template std::unique_ptr<DeviceLayout<double>>
make_device_tiled<Precision::fp64>(Layout, const DeviceStructure&, const Sums&, const DeviceLayoutOptions&,
                                   backend::Queue&);

} // namespace graft::near
