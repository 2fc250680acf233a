// SPDX-License-Identifier: BSD-3-Clause
// Only the near field, for codes with boxes of their own. Included by graft.hpp; not for itself.
//
//     graft::NearField field(2);
//     field.logarithm().target_positions(x, y).lists(offsets, list_offsets, lists);
//     graft::NearPlan plan(context, field);
//     plan.execute(graft::NearSums().charges(q).potentials(phi)); // again and again
//
// A sum is added to what stands there by potentials(add(phi)). What everything means stands with graft_near_field and
// near_field_create (graft/types.h, graft/api.h).
#ifndef GRAFT_NEAR_HPP
#define GRAFT_NEAR_HPP

#include <initializer_list>

namespace graft {

/// What a plan sums, over which boxes. Arrays are views: they must live until NearPlan has been made.
class NearField {
  public:
    explicit NearField(int32_t dimension = 3) {
        field_.struct_size = sizeof field_;
        field_.dimension = dimension;
    }
    /// 1/r, the default.
    NearField& laplace(double softening = 0) { return kernel(GRAFT_NEAR_LAPLACE, softening, 0); }
    NearField& logarithm() { return kernel(GRAFT_NEAR_LOGARITHM, 0, 0); }
    NearField& yukawa(double wave_number) { return kernel(GRAFT_NEAR_YUKAWA, 0, wave_number); }
    /// Charges and sums are complex: two components each.
    NearField& helmholtz(double wave_number) { return kernel(GRAFT_NEAR_HELMHOLTZ, 0, wave_number); }
    /// f(r) and f'(r) at r = begin + k step: knots is an array of n items, 2 components.
    NearField& table(double begin, double step, const graft_array& knots) {
        field_.table_begin = begin;
        field_.table_step = step;
        return keep(knot_slot, knots).kernel(GRAFT_NEAR_TABLE, 0, 0);
    }
    NearField& factor(double value) { return set(field_.factor, value); }
    /// Charges a source; complex ones count twice.
    NearField& components(int32_t count) { return set(field_.components, count); }
    /// GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT.
    NearField& outputs(int32_t which) { return set(field_.outputs, which); }
    /// GRAFT_PRECISION_...
    NearField& precision(int32_t which) { return set(field_.precision, which); }
    /// GRAFT_NEAR_LAYOUT_...
    NearField& layout(int32_t which) { return set(field_.layout, which); }
    NearField& memory(double bytes) { return set(field_.memory_bytes, bytes); }
    NearField& expected_executes(double count) { return set(field_.expected_executes, count); }

    template <class... Axes>
    NearField& target_positions(Axes&&... axes) {
        return points(0, {view(axes)...});
    }
    /// Where they are not the targets.
    template <class... Axes>
    NearField& source_positions(Axes&&... axes) {
        return points(3, {view(axes)...});
    }
    /// Offsets of the targets' boxes; offsets and items of the lists of source boxes.
    template <class O, class P, class L>
    NearField& lists(O&& target_offset, P&& list_offset, L&& list) {
        field_.boxes = GRAFT_NEAR_BOXES_LISTS;
        return keep(6, view(target_offset)).keep(8, view(list_offset)).keep(9, view(list));
    }
    template <class O>
    NearField& source_boxes(O&& offset) {
        return keep(7, view(offset));
    }
    /// The points of the boxes' slots, where they are not in order.
    template <class I>
    NearField& target_index(I&& index) {
        return keep(10, view(index));
    }
    template <class I>
    NearField& source_index(I&& index) {
        return keep(11, view(index));
    }
    NearField& grid(const std::array<int32_t, 3>& cells, const std::array<double, 3>& lower,
                    const std::array<double, 3>& upper) {
        field_.boxes = GRAFT_NEAR_BOXES_GRID;
        for (std::size_t a = 0; a < 3; ++a) {
            field_.cells[a] = cells[a];
            field_.lower[a] = lower[a];
            field_.upper[a] = upper[a];
        }
        return *this;
    }
    /// Boxes of the first level where none holds more than `most`, or of a tree of this height.
    NearField& level(int32_t most = 0, int32_t height = 0) {
        field_.boxes = GRAFT_NEAR_BOXES_LEVEL;
        field_.most = most;
        field_.height = height;
        return *this;
    }
    NearField& leaves(int32_t most = 0) {
        field_.boxes = GRAFT_NEAR_BOXES_LEAVES;
        field_.most = most;
        return *this;
    }
    /// The C struct; points into this object.
    graft_near_field c() const noexcept {
        graft_near_field f = field_;
        for (int a = 0; a < 3; ++a) {
            f.target_position[a] = at(a);
            f.source_position[a] = at(3 + a);
        }
        f.target_count = arrays_[0].n;
        f.source_count = arrays_[3].n;
        f.target_offset = at(6);
        f.source_offset = at(7);
        f.neighbour_offset = at(8);
        f.neighbour = at(9);
        f.target_index = at(10);
        f.source_index = at(11);
        f.table = at(knot_slot);
        return f;
    }

  private:
    static constexpr std::size_t knot_slot = 12;
    template <class T>
    NearField& set(T& field, T value) {
        field = value;
        return *this;
    }
    NearField& kernel(int32_t which, double softening, double wave_number) {
        field_.kernel = which;
        field_.softening = softening;
        field_.wave_number = wave_number;
        return *this;
    }
    NearField& points(std::size_t first, std::initializer_list<graft_array> axes) {
        for (std::size_t a = 0; a < 3; ++a)
            arrays_[first + a] = a < axes.size() ? axes.begin()[a] : graft_array{};
        return *this;
    }
    NearField& keep(std::size_t slot, const graft_array& array) {
        arrays_[slot] = array;
        return *this;
    }
    const graft_array* at(std::size_t slot) const noexcept {
        return arrays_[slot].struct_size ? &arrays_[slot] : nullptr;
    }
    const graft_array* at(int slot) const noexcept { return at(static_cast<std::size_t>(slot)); }
    graft_near_field field_{};
    std::array<graft_array, 13> arrays_{};
};

/// What an execution reads and writes: arrays give their components one after the other.
class NearSums {
  public:
    template <class... Arrays>
    NearSums& charges(Arrays&&... arrays) {
        return append(charge_, {view(arrays)...});
    }
    template <class... Arrays>
    NearSums& potentials(Arrays&&... arrays) {
        return append(potential_, {view(arrays)...});
    }
    /// d/dx of each component, then d/dy, then d/dz.
    template <class... Arrays>
    NearSums& gradients(Arrays&&... arrays) {
        return append(gradient_, {view(arrays)...});
    }
    /// The C struct; points into this object. Throws ARGUMENT for more arrays than it has room for.
    graft_near_sums c() const {
        graft_near_sums s{};
        s.struct_size = sizeof s;
        point(charge_, s.charge);
        point(potential_, s.potential);
        point(gradient_, s.gradient);
        return s;
    }

  private:
    NearSums& append(std::vector<graft_array>& list, std::initializer_list<graft_array> arrays) {
        list.insert(list.end(), arrays);
        return *this;
    }
    template <std::size_t Length>
    static void point(const std::vector<graft_array>& list, const graft_array* (&out)[Length]) {
        if (list.size() > Length)
            throw Error(GRAFT_ERROR_ARGUMENT, "near field: more arrays than components can be");
        for (std::size_t k = 0; k < list.size(); ++k)
            out[k] = &list[k];
    }
    std::vector<graft_array> charge_, potential_, gradient_;
};

/// A plan of a context, which it must not outlive. Moved-from plans may only be assigned to or destroyed.
class NearPlan {
  public:
    NearPlan(Context& context, const NearField& field)
        : library_(context.library()), context_(context.handle()) {
        const graft_near_field f = field.c();
        library_.check(library_.api().near_field_create(context_, &f, &plan_));
    }
    NearPlan(NearPlan&& other) noexcept
        : library_(other.library_), context_(other.context_), plan_(std::exchange(other.plan_, nullptr)) {}
    NearPlan& operator=(NearPlan&& other) noexcept {
        std::swap(library_, other.library_);
        std::swap(context_, other.context_);
        std::swap(plan_, other.plan_);
        return *this;
    }
    ~NearPlan() {
        if (plan_ != nullptr)
            library_.api().near_field_destroy(context_, &plan_);
    }
    /// New coordinates of the same points in the same boxes; only the positions are read.
    void update(const NearField& field) {
        const graft_near_field f = field.c();
        library_.check(library_.api().near_field_update(context_, plan_, &f));
    }
    void execute(const NearSums& sums) {
        const graft_near_sums s = sums.c();
        library_.check(library_.api().near_field_execute(context_, plan_, &s));
    }
    /// execute in two halves: the arrays must stay until end.
    void begin(const NearSums& sums) {
        const graft_near_sums s = sums.c();
        library_.check(library_.api().near_field_begin(context_, plan_, &s));
    }
    void end() { library_.check(library_.api().near_field_end(context_, plan_)); }

  private:
    Library library_;
    graft_context* context_;
    graft_near_plan* plan_ = nullptr;
};

} // namespace graft
#endif
