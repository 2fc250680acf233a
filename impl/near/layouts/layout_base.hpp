// SPDX-License-Identifier: BSD-3-Clause
// What the layouts of the host have in common: the order of collection, charges and sums, the runs of boxes
// that fit a cap, threads, times, and the way of the sums into the caller's arrays.
//
// A layout says how many bytes a box takes (unit_bytes), how to fill the arrays of boxes [begin, end)
// (collect, fill_charges) and how to sum one box (sum_box). Every box is summed by one thread in one order:
// results are the same bits for any number of threads and for any chunks.
#pragma once

#include "backend/executor.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "near/layouts/layout.hpp"
#include "near/exact_array.hpp"
#include "near/radial_table.hpp"
#include "near/tiles/tile.hpp"

#include <vector>

namespace graft::near {

constexpr int64_t round_up(int64_t n, int64_t step) {
    return (n + step - 1) / step * step;
}
/// Doubles a target has in a scratch of sums: 4 a component, components filled up to whole groups.
constexpr int64_t sums_stride(Kernel kernel, int32_t components) {
    const Form form = kernel == Kernel::laplace     ? Form::laplace
                      : kernel == Kernel::helmholtz ? Form::helmholtz
                                                    : Form::table; // any of the others
    return sums_per_component * grouped(form, components);
}
/// Slots of a row of what tiled gathers for a box: whole vectors are copied, so one more is there.
inline int64_t gather_slots(const Shape& shape) {
    return round_up(shape.most_sources, record_step) + record_step;
}
/// Sums that a thread has for the targets of one box.
inline int64_t scratch_sums(const Shape& shape) {
    return round_up(shape.most_targets, record_step) * sums_stride(shape.kernel, shape.components);
}

/// Bytes every layout holds: scratch of sums (a table's coefficients are not counted).
double common_bytes(const Shape& shape, int32_t threads);

template <typename T, typename V>
class HostBase : public HostLayout<T> {
  public:
    HostBase(const Structure& structure, const Sums& sums, const LayoutOptions& options,
             core::Memory& memory);
    void set_points(const Coordinates<T>& targets, const Coordinates<T>& sources) final;
    void set_charges(const Charges<T>& charges) final;
    void run(const Fields<T>& fields) final;
    int32_t chunks() const final { return static_cast<int32_t>(chunk_begin_.size()) - 1; }
    Times times() const final { return times_; }
    int64_t bytes() const final { return scratch_.bytes() + own_bytes(); }

  protected:
    static constexpr bool low = sizeof(T) != sizeof(V); // mixed: double coordinates, float pairs

    // what a layout is
    virtual int64_t own_bytes() const = 0;
    virtual double unit_bytes(int64_t box) const = 0;
    virtual void set_fixed_points() {}
    virtual void set_fixed_charges() {}
    virtual void collect(int64_t begin, int64_t end) = 0;
    virtual void fill_charges(int64_t begin, int64_t end) = 0;
    virtual void sum_box(int64_t box, int thread, double* sums) = 0; // sums are 0 before
    /// A second pass that adds to the fields (tiled_split); false: there is none.
    virtual bool second_pass(int64_t, int, double*) { return false; }

    /// Divides the boxes; to be called at the end of a layout's constructor. `fixed_bytes`: what is held
    /// whatever the chunks are. Throws Error(memory).
    void divide(Layout layout, double fixed_bytes);
    /// The same with unit(box, fresh): what a box adds to its chunk, which it begins where fresh. A box that
    /// alone takes more than `most_bytes` is a chunk, too. Returns the bytes of the largest chunk and the
    /// rest.
    template <typename Unit>
    double divide_by(double fixed_bytes, double most_bytes, Unit&& unit);

    /// What the boxes of a chunk have of numbers(box) together, at most.
    template <typename Numbers>
    int64_t largest_chunk(Numbers&& numbers) const {
        int64_t most = 0;
        for (size_t c = 0; c + 1 < chunk_begin_.size(); ++c) {
            int64_t held = 0;
            for (int64_t box = chunk_begin_[c]; box < chunk_begin_[c + 1]; ++box)
                held += numbers(box);
            most = std::max(most, held);
        }
        return most;
    }

    [[noreturn]] void refuse(Layout layout, double bytes) const;
    /// What may be held in all.
    double most_bytes() const { return most_bytes_ > 0 ? static_cast<double>(most_bytes_) : 1e300; }
    int64_t stride() const { return sums_stride(sums_.kernel.kernel, sums_.components); }
    int64_t targets_of(int64_t box) const {
        return structure_.target_offset[box + 1] - structure_.target_offset[box];
    }
    /// Source slots of the neighbourhood of a box; `self`: where its own points begin among them, or -1.
    int64_t sources_of(int64_t box, int64_t* self = nullptr) const;
    /// The same of all boxes in [begin, end), over the threads.
    void count_sources(int64_t begin, int64_t end, Store<int64_t>& count) const {
        executor_.for_blocks(end - begin, block(), [&](int64_t from, int64_t to, int) {
            for (int64_t b = begin + from; b < begin + to; ++b)
                count[b] = sources_of(b);
        });
    }
    /// body(first slot, count) for each non-empty neighbour box.
    template <typename Body>
    void for_neighbours(int64_t box, Body&& body) const {
        for (int64_t k = structure_.neighbour_offset[box]; k < structure_.neighbour_offset[box + 1]; ++k) {
            const int64_t first = structure_.source_offset[structure_.neighbour[k]];
            const int64_t count = structure_.source_offset[structure_.neighbour[k] + 1] - first;
            if (count > 0)
                body(first, count);
        }
    }
    int64_t target_point(int64_t slot) const {
        return structure_.target_index.empty() ? slot : structure_.target_index[slot];
    }
    int64_t source_point(int64_t slot) const {
        const auto& index = structure_.same ? structure_.target_index : structure_.source_index;
        return index.empty() ? slot : index[slot];
    }
    const T* axis_of(const Coordinates<T>& points, int axis) const {
        return axis == 0 ? points.x : axis == 1 ? points.y : points.z;
    }
    /// Boxes a thread takes at once.
    int64_t block() const {
        return std::max<int64_t>(1,
                                 std::min<int64_t>(64, structure_.target_boxes() / (8 * executor_.threads)));
    }
    /// All groups of components of one box by a vector loop; `tile` has places, runs, self and targets.
    /// charge(component) is where the charges of a component stand.
    template <typename ChargeOf>
    void run_groups(Tile<V>& tile, double* sums, ChargeOf&& charge) const {
        tile.stride = stride();
        for (int32_t done = 0, g = 0; done < sums_.components; done += group_size_[g], ++g) {
            for (int32_t p = 0; p < group_components; ++p)
                tile.charge[p] = charge(std::min(done + p, sums_.components - 1));
            tile.sums = sums + sums_per_component * done;
            group_loop_[g](constants_, tile);
        }
    }
    void choose_loops(bool columns);

    const Structure& structure_;
    Sums sums_;
    int64_t most_bytes_;
    backend::Executor executor_;
    Shape shape_;
    Constants<V> constants_;
    Store<V> table_;
    Coordinates<T> targets_{}, sources_{};
    Charges<T> charges_{};
    std::vector<int64_t> chunk_begin_; // boxes
    std::array<TileFunction<V>, most_components> group_loop_{};
    std::array<int32_t, most_components> group_size_{};

  private:
    void sum_boxes(int64_t begin, int64_t end, const Fields<T>& fields);
    void write_box(int64_t box, const double* sums, const Fields<T>& fields, bool add) const;

    Store<double> scratch_; // a block a thread
    Times times_;
    std::array<double, 2> scale_{1, 1}; // of potential and gradient
};

template <typename T, typename V>
template <typename Unit>
double HostBase<T, V>::divide_by(double fixed_bytes, double most_bytes, Unit&& unit) {
    const int64_t boxes = structure_.target_boxes();
    fixed_bytes += common_bytes(shape_, executor_.threads);
    double held = 0, largest = 0;
    chunk_begin_.assign(1, 0);
    for (int64_t b = 0; b < boxes; ++b) {
        double bytes = unit(b, b == 0);
        if (held > 0 && fixed_bytes + held + bytes > most_bytes) {
            chunk_begin_.push_back(b);
            held = 0;
            bytes = unit(b, true);
        }
        held += bytes;
        largest = std::max(largest, held);
    }
    chunk_begin_.push_back(boxes);
    return fixed_bytes + largest;
}

} // namespace graft::near
