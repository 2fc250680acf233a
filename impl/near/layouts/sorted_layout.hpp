// SPDX-License-Identifier: BSD-3-Clause
// What ranges and tiled share: places and charges sorted into the order of slots, and each box's
// neighbourhood as runs of them. O(points + runs) bytes.
//
// Whole: all sources stand at their slots. In chunks: the sources of the neighbourhoods of a run of target
// boxes, in the order of their slots and without the others ("local"); a run of slots is a run there, too, so
// that every sum has the same order and the same bits.
#pragma once

#include "near/layouts/layout_base.hpp"
#include "near/neighbour_runs.hpp"
#include "near/layouts/sorted_points.hpp"

namespace graft::near {

template <typename T, typename V>
class SortedLayout : public HostBase<T, V> {
  protected:
    using Base = HostBase<T, V>;
    using Base::structure_, Base::sums_, Base::low;

    SortedLayout(const Structure& structure, const Sums& sums, const LayoutOptions& options,
                 core::Memory& memory)
        : Base(structure, sums, options, memory), source_points_(memory), target_points_(memory),
          charges_sorted_(memory, "near field: sorted charges"), runs_(memory, "near field: runs"),
          run_begin_(memory, "near field: where a box's runs begin"),
          chunk_of_(memory, "near field: chunks of source boxes"),
          gathered_(memory, "near field: source boxes of a chunk") {
        this->choose_loops(false);
    }
    /// `scratch_bytes`: what the layout holds beside this.
    void build(Layout layout, double scratch_bytes) {
        const double whole =
            scratch_bytes + bytes_for(all()) + common_bytes(this->shape_, this->executor_.threads);
        if (whole <= this->most_bytes()) {
            this->chunk_begin_ = {0, structure_.target_boxes()};
            hold(all());
            find_runs(0, structure_.target_boxes(), [](int64_t slot) { return slot; });
            return;
        }
        in_chunks_ = true;
        chunk_of_.reserve(structure_.source_boxes(), this->executor_);
        hold(divide_chunks(layout, scratch_bytes));
    }
    int64_t own_bytes() const override {
        return source_points_.bytes() + target_points_.bytes() + charges_sorted_.bytes() + runs_.bytes() +
               run_begin_.bytes() + chunk_of_.bytes() + gathered_.bytes();
    }
    double unit_bytes(int64_t) const final { return 0; } // see divide_chunks
    void set_fixed_points() final {
        const auto& own = source_index();
        if constexpr (low)
            centre_ = centre_of(this->sources_, own, structure_.sources(), sums_.dimension);
        if (in_chunks_)
            return;
        source_points_.fill(this->sources_, own, structure_.sources(), sums_.dimension, centre_,
                            this->executor_);
        if (!structure_.same)
            target_points_.fill(this->targets_, structure_.target_index, structure_.targets(),
                                sums_.dimension, centre_, this->executor_);
    }
    void set_fixed_charges() final {
        if (!in_chunks_)
            this->executor_.for_blocks(structure_.sources(), 16384, [&](int64_t begin, int64_t end, int) {
                put_charges(begin, end - begin, begin);
            });
    }
    void collect(int64_t begin, int64_t end) final {
        if (!in_chunks_)
            return;
        gather_boxes(begin, end);
        for_gathered([&](int64_t slot, int64_t count, int64_t to) {
            source_points_.fill_part(this->sources_, source_index(), slot, count, to, sums_.dimension,
                                     centre_);
        });
        first_box_ = begin;
        const int64_t first = structure_.target_offset[begin];
        this->executor_.for_blocks(
            structure_.target_offset[end] - first, 16384, [&](int64_t from, int64_t to, int) {
                target_points_.fill_part(this->targets_, structure_.target_index, first + from, to - from,
                                         from, sums_.dimension, centre_);
            });
        find_runs(begin, end, [&](int64_t slot) { return local_of(slot); });
    }
    void fill_charges(int64_t, int64_t) final {
        if (in_chunks_)
            for_gathered([&](int64_t slot, int64_t count, int64_t to) { put_charges(slot, count, to); });
    }

    const V* charge(int32_t component) const { return charges_sorted_.data() + component * charge_row_; }
    int64_t run_count(int64_t box) const {
        return run_begin_[box - first_box_ + 1] - run_begin_[box - first_box_];
    }
    const Run* runs(int64_t box) const { return runs_.data() + run_begin_[box - first_box_]; }
    /// Where the targets of a box are among the sources, from and to; an empty range where they are not.
    std::pair<int64_t, int64_t> own_of(int64_t box) const {
        const int64_t first = structure_.target_offset[box], count = this->targets_of(box);
        const int64_t at = !structure_.same ? -1 : in_chunks_ ? local_of(first) : first;
        return at < 0 ? std::pair<int64_t, int64_t>{0, 0} : std::pair{at, at + count};
    }
    /// Tells the tile where the targets of a box are among the sources as they stand. (A pair of own_of's put
    /// into the tile went through the stack in halves and was read back whole, which waits until every store
    /// before it has left the core, the sums written at random among them: a quarter of the time of two
    /// points a box.)
    void mark_own(int64_t box, Tile<V>& tile) const {
        const auto [own, own_end] = own_of(box);
        if (own < own_end) {
            tile.self = own;
            tile.self_end = own_end;
        }
    }
    /// Targets of a box and, as they stand, all sources.
    Tile<V> tile_of(int64_t box) {
        Tile<V> tile;
        SortedPoints<T, V>& targets = structure_.same && !in_chunks_ ? source_points_ : target_points_;
        const int64_t first = structure_.target_offset[box] - structure_.target_offset[first_box_];
        for (int axis = 0; axis < 3; ++axis) {
            tile.source[axis] = source_points_.place(axis, sums_.dimension);
            tile.target[axis] = targets.place(axis, sums_.dimension) + first;
            if constexpr (low) {
                tile.source_low[axis] = source_points_.place_low(axis, sums_.dimension);
                tile.target_low[axis] = targets.place_low(axis, sums_.dimension) + first;
            }
        }
        tile.targets = this->targets_of(box);
        return tile;
    }

  private:
    /// What the arrays have room for.
    struct Room {
        int64_t sources = 0, targets = 0, runs = 0, boxes = 0, gathered = 0;
    };
    struct Gathered {
        int32_t box, local; // a source box, where its points begin
    };

    Room all() const {
        return {structure_.sources(), structure_.same ? 0 : structure_.targets(), this->shape_.runs,
                structure_.target_boxes(), 0};
    }
    double bytes_for(const Room& room) const {
        using Points = SortedPoints<T, V>;
        return Points::bytes_for(room.sources, sums_.dimension) +
               (structure_.same && !in_chunks_ ? 0 : Points::bytes_for(room.targets, sums_.dimension)) +
               static_cast<double>(sums_.components * (room.sources + record_step)) * sizeof(V) +
               8.0 * static_cast<double>(room.runs + room.boxes + 1 + room.gathered);
    }
    void hold(const Room& room) {
        charge_row_ = room.sources + record_step;
        source_points_.reserve(room.sources, sums_.dimension, this->executor_);
        if (!structure_.same || in_chunks_)
            target_points_.reserve(room.targets, sums_.dimension, this->executor_);
        charges_sorted_.reserve(sums_.components * charge_row_, this->executor_);
        runs_.reserve(room.runs, this->executor_);
        run_begin_.reserve(room.boxes + 1, this->executor_);
        gathered_.reserve(room.gathered, this->executor_);
    }
    /// Chunks whose arrays fit the cap. Each array has the room of its fullest chunk, which may be another
    /// for each: then chunks are made smaller.
    Room divide_chunks(Layout layout, double scratch_bytes) {
        const double fixed =
            scratch_bytes + 4.0 * static_cast<double>(structure_.source_boxes()) + bytes_for({});
        const double common = common_bytes(this->shape_, this->executor_.threads);
        const double point = bytes_for({1, 0, 0, 0, 0}) - bytes_for({}),
                     target = bytes_for({0, 1, 0, 0, 0}) - bytes_for({});
        for (double aim = this->most_bytes();;) {
            Room most, now;
            int32_t chunk = 0;
            std::fill_n(chunk_of_.data(), structure_.source_boxes(), 0);
            this->divide_by(fixed, aim, [&](int64_t box, bool fresh) {
                if (fresh)
                    now = {}, ++chunk;
                const Room before = now;
                count_box(box, chunk, now);
                const auto more = [&](int64_t Room::*field) {
                    return static_cast<double>(now.*field - before.*field);
                };
                return point * more(&Room::sources) + target * more(&Room::targets) +
                       8 * (more(&Room::runs) + 1 + more(&Room::gathered));
            });
            for (size_t c = 0; c + 1 < this->chunk_begin_.size(); ++c) {
                now = {}, ++chunk;
                for (int64_t b = this->chunk_begin_[c]; b < this->chunk_begin_[c + 1]; ++b)
                    count_box(b, chunk, now);
                for (int64_t Room::*field :
                     {&Room::sources, &Room::targets, &Room::runs, &Room::boxes, &Room::gathered})
                    most.*field = std::max(most.*field, now.*field);
            }
            const double over = common + scratch_bytes +
                                4.0 * static_cast<double>(structure_.source_boxes()) + bytes_for(most) -
                                this->most_bytes();
            if (over <= 0)
                return most;
            if (static_cast<int64_t>(this->chunk_begin_.size()) > structure_.target_boxes())
                this->refuse(layout, this->most_bytes() + over);
            aim -= std::max(over, 1.0);
        }
    }
    void count_box(int64_t box, int32_t chunk, Room& room) {
        ++room.boxes;
        room.targets += this->targets_of(box);
        if (this->targets_of(box) == 0)
            return;
        for_runs(structure_, box, [&](int64_t, int64_t) { ++room.runs; });
        for_sources(box, [&](int32_t other, int64_t count) {
            if (std::exchange(chunk_of_[other], chunk) != chunk)
                room.sources += count, ++room.gathered;
        });
    }
    /// body(box, points) for the neighbours with points.
    template <typename Body>
    void for_sources(int64_t box, Body&& body) const {
        for (int64_t k = structure_.neighbour_offset[box]; k < structure_.neighbour_offset[box + 1]; ++k) {
            const int32_t other = structure_.neighbour[k];
            const int64_t count = structure_.source_offset[other + 1] - structure_.source_offset[other];
            if (count > 0)
                body(other, count);
        }
    }

    void gather_boxes(int64_t begin, int64_t end) {
        gathered_count_ = gathered_sources_ = 0;
        std::fill_n(chunk_of_.data(), structure_.source_boxes(), 0);
        for (int64_t b = begin; b < end; ++b)
            if (this->targets_of(b) > 0)
                for_sources(b, [&](int32_t other, int64_t) {
                    if (std::exchange(chunk_of_[other], 1) == 0)
                        gathered_[gathered_count_++] = {other, 0};
                });
        std::sort(gathered_.data(), gathered_.data() + gathered_count_,
                  [](const Gathered& a, const Gathered& b) { return a.box < b.box; });
        for (int64_t k = 0; k < gathered_count_; ++k) {
            gathered_[k].local = static_cast<int32_t>(gathered_sources_);
            gathered_sources_ +=
                structure_.source_offset[gathered_[k].box + 1] - structure_.source_offset[gathered_[k].box];
        }
    }
    /// body(slot, count, local) for each source box of the chunk, by threads.
    template <typename Body>
    void for_gathered(Body&& body) const {
        this->executor_.for_blocks(gathered_count_, 1024, [&](int64_t begin, int64_t end, int) {
            for (int64_t k = begin; k < end; ++k) {
                const int64_t slot = structure_.source_offset[gathered_[k].box];
                body(slot, structure_.source_offset[gathered_[k].box + 1] - slot,
                     int64_t{gathered_[k].local});
            }
        });
    }
    /// Of the first point of a box; -1 where the chunk has not got it.
    int64_t local_of(int64_t slot) const {
        const Gathered* const end = gathered_.data() + gathered_count_;
        const Gathered* const found =
            std::lower_bound(gathered_.data(), end, slot, [&](const Gathered& one, int64_t at) {
                return structure_.source_offset[one.box] < at;
            });
        return found != end && structure_.source_offset[found->box] == slot ? found->local : -1;
    }
    /// local(slot): where the source of a slot stands.
    template <typename Local>
    void find_runs(int64_t begin, int64_t end, Local&& local) {
        const int64_t boxes = end - begin, block = this->executor_.threads > 1 ? this->block() : boxes;
        run_begin_[0] = 0;
        if (block < boxes) { // several threads: first where each block's begin
            this->executor_.for_blocks(boxes, block, [&](int64_t from, int64_t to, int) {
                int64_t runs = 0;
                for (int64_t b = from; b < to; ++b)
                    if (this->targets_of(begin + b) > 0)
                        for_runs(structure_, begin + b, [&](int64_t, int64_t) { ++runs; });
                run_begin_[from] = runs;
            });
            int64_t before = 0;
            for (int64_t from = 0; from < boxes; from += block)
                before += std::exchange(run_begin_[from], before);
        }
        this->executor_.for_blocks(boxes, block, [&](int64_t from, int64_t to, int) {
            const int64_t run = put_runs(begin, from, to, local);
            if (to == boxes)
                run_begin_[boxes] = run;
        });
    }
    /// Runs of the boxes [from, to) after `begin`, from run_begin_[from] on; returns where they end.
    template <typename Local>
    int64_t put_runs(int64_t begin, int64_t from, int64_t to, Local&& local) {
        int64_t run = run_begin_[from];
        for (int64_t b = from; b < to; ++b) {
            run_begin_[b] = run;
            if (this->targets_of(begin + b) > 0)
                for_runs(structure_, begin + b, [&](int64_t first, int64_t count) {
                    runs_[run++] = {static_cast<int32_t>(local(first)), static_cast<int32_t>(count)};
                });
        }
        return run;
    }
    void put_charges(int64_t slot, int64_t count, int64_t to) {
        for (int32_t c = 0; c < sums_.components; ++c)
            for (int64_t s = 0; s < count; ++s)
                charges_sorted_[c * charge_row_ + to + s] =
                    static_cast<V>(this->charges_.component[c][this->source_point(slot + s)]);
    }
    std::span<const int64_t> source_index() const {
        return structure_.same ? structure_.target_index : structure_.source_index;
    }

    SortedPoints<T, V> source_points_, target_points_;
    Store<V> charges_sorted_;
    Store<Run> runs_;
    Store<int64_t> run_begin_;
    Store<int32_t> chunk_of_;  // in chunks: the last chunk that counted a source box
    Store<Gathered> gathered_; // in chunks: those of the chunk, ascending
    std::array<double, 3> centre_{};
    int64_t charge_row_ = 0, first_box_ = 0, gathered_count_ = 0, gathered_sources_ = 0;
    bool in_chunks_ = false;
};

} // namespace graft::near
