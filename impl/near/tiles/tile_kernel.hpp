// SPDX-License-Identifier: BSD-3-Clause
// The loops of tile.hpp. Read once per instruction set, see forces/p2p/pair.hpp.
//
// A block of targets stays in registers while vectors of sources pass. Sums of up to `chunk` sources are kept
// in lanes of V and then added to the doubles of the tile, so that float sums stay short; a chunk is also
// what the first-level cache keeps while all targets of a box pass over it.
#if defined(GRAFT_KERNELS_NEAR_TILE_KERNEL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef GRAFT_KERNELS_NEAR_TILE_KERNEL_HPP
#undef GRAFT_KERNELS_NEAR_TILE_KERNEL_HPP
#else
#define GRAFT_KERNELS_NEAR_TILE_KERNEL_HPP
#endif

#include "core/instruction_sets.hpp"
#include "near/radial.hpp"
#include "near/tiles/tile.hpp"
#include "near/tiles/vector_math.hpp"
#include "forces/lane_sums.hpp"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace graft::near::HWY_NAMESPACE {

template <typename V, bool low, Form form, int dimension, int components, bool value, bool slope,
          bool columns>
struct Loop {
    using Ops = NearOps<V, slope && has_cube(form)>;
    using D = typename Ops::D;
    using Real = typename Ops::Real;
    using Sum = PointSum<Real, components, dimension>;
    static constexpr Ops ops{};
    static constexpr int64_t chunk = 1024;
    static constexpr bool light = form == Form::laplace || form == Form::softened;
    static constexpr bool many_registers = GRAFT_AVX512;
    /// Targets in registers: as many as leave the sums there too.
    static constexpr int block = !light || columns || components > 1 || (low && !many_registers)
                                     ? 1
                                     : (many_registers && !low ? 4 : 2);
    /// Costly forms have one loop for both dimensions: z is then any finite numbers, and not counted.
    static constexpr bool may_be_plane =
        dimension == 3 && (form == Form::yukawa || form == Form::helmholtz || form == Form::table);
    static constexpr double value_factor = light ? Ops::value_factor : 1;
    static constexpr double slope_factor = light ? Ops::slope_factor : 1;

    struct Position {
        Real high[dimension], rest[dimension];
    };

    static HWY_INLINE Position target_place(const Tile<V>& tile, int64_t i) {
        Position place;
        for (int axis = 0; axis < dimension; ++axis) {
            place.high[axis] =
                columns ? hn::LoadU(D(), tile.target[axis] + i) : hn::Set(D(), tile.target[axis][i]);
            if constexpr (low)
                place.rest[axis] = columns ? hn::LoadU(D(), tile.target_low[axis] + i)
                                           : hn::Set(D(), tile.target_low[axis][i]);
        }
        return place;
    }
    static HWY_INLINE Position source_place(const Tile<V>& tile, int64_t j) {
        Position place;
        for (int axis = 0; axis < dimension; ++axis) {
            place.high[axis] = hn::LoadU(D(), tile.source[axis] + j);
            if constexpr (low)
                place.rest[axis] = hn::LoadU(D(), tile.source_low[axis] + j);
        }
        return place;
    }

    /// Lanes of sources [j, j + lanes) that are not the source of target i itself.
    static HWY_INLINE typename Ops::Mask others(const Tile<V>& tile, int64_t i, int64_t j) {
        const V away = static_cast<V>(tile.self + i - j); // small: called near the target's own source
        if constexpr (columns)
            return hn::Ne(hn::Iota(D(), away), hn::Zero(D()));
        return hn::Ne(hn::Iota(D(), V(0)), hn::Set(D(), away));
    }

    static HWY_INLINE void meet(const Constants<V>& c, const Position& source, const Position& target,
                                const Real (&q)[components], const typename Ops::Mask* mask, Sum& sum) {
        Real d[dimension];
        for (int axis = 0; axis < dimension; ++axis) {
            d[axis] = ops.sub(source.high[axis], target.high[axis]);
            if constexpr (low)
                d[axis] = ops.add(d[axis], ops.sub(source.rest[axis], target.rest[axis]));
        }
        if constexpr (may_be_plane)
            d[2] = ops.mul(d[2], ops.set(c.third_axis));
        Real r2 = ops.mul(d[dimension - 1], d[dimension - 1]);
        for (int axis = dimension - 2; axis >= 0; --axis)
            r2 = ops.fma(d[axis], d[axis], r2);
        Radial<Real> k = HWY_NAMESPACE::radial<form, value, slope>(ops, r2, c);
        if (mask != nullptr) { // known at compile time: inlined
            if constexpr (value)
                k.value = ops.zero_unless(*mask, k.value);
            if constexpr (slope)
                k.slope = ops.zero_unless(*mask, k.slope);
        }
        HWY_NAMESPACE::add_charges<form, value, slope>(ops, d, q, k, sum);
    }

    template <int count>
    static HWY_INLINE void vector_of_sources(const Constants<V>& c, const Tile<V>& tile, int64_t first,
                                             const Position (&target)[count], int64_t j, int64_t at,
                                             int64_t left, Sum (&sum)[count]) {
        const int64_t lanes = static_cast<int64_t>(hn::Lanes(D()));
        const Position source = source_place(tile, at);
        Real q[components];
        for (int p = 0; p < components; ++p)
            q[p] = hn::LoadU(D(), tile.charge[p] + at);
        if (!columns && HWY_UNLIKELY(left < lanes))
            for (int p = 0; p < components; ++p)
                q[p] = hn::IfThenElseZero(hn::FirstN(D(), static_cast<size_t>(left)), q[p]);
        if constexpr (may_be_regular(form)) {
            const int64_t reach = columns ? 1 : lanes;
            if (j + reach > tile.self + first &&
                j < std::min(tile.self_end, tile.self + first + (columns ? lanes : count))) {
                for (int k = 0; k < count; ++k) {
                    const auto mask = others(tile, first + k, j);
                    meet(c, source, target[k], q, &mask, sum[k]);
                }
                return;
            }
        }
        for (int k = 0; k < count; ++k)
            meet(c, source, target[k], q, nullptr, sum[k]);
    }

    /// Targets [first, first + count) against the runs; columns: the vector of targets from `first`.
    template <int count>
    static HWY_INLINE void block_of_targets(const Constants<V>& c, const Tile<V>& tile, const Run* runs,
                                            int64_t run_count, int64_t first) {
        const int64_t lanes = static_cast<int64_t>(hn::Lanes(D()));
        Position target[count];
        Sum sum[count];
        for (int k = 0; k < count; ++k) {
            target[k] = target_place(tile, first + k);
            for (int p = 0; p < components; ++p) {
                sum[k].potential[p] = hn::Zero(D());
                for (int axis = 0; axis < dimension; ++axis)
                    sum[k].gradient[p][axis] = hn::Zero(D());
            }
        }
        for (const Run* run = runs; run != runs + run_count; ++run) {
            const int64_t end = int64_t{run->begin} + run->count;
            for (int64_t j = run->begin; j < end; j += columns ? 1 : lanes)
                vector_of_sources(c, tile, first, target, j, columns ? j * lanes : j, end - j, sum);
        }
        write_sums(tile, first, sum);
    }

    template <int count>
    static HWY_INLINE void write_sums(const Tile<V>& tile, int64_t first, const Sum (&sum)[count]) {
        if constexpr (slope && dimension == 3 && !columns) {
            for (int k = 0; k < count; ++k)
                for (int p = 0; p < components; ++p)
                    write_four(sum[k], p, tile.sums + (first + k) * tile.stride + sums_per_component * p);
            return;
        }
        for (int p = 0; p < components; ++p) {
            if constexpr (value)
                write_one(tile, first, 4 * p, value_factor, sum,
                          [p](const Sum& s) HWY_ATTR { return s.potential[p]; });
            if constexpr (slope)
                for (int axis = 0; axis < dimension; ++axis)
                    write_one(tile, first, 4 * p + 1 + axis, slope_factor, sum,
                              [p, axis](const Sum& s) HWY_ATTR { return s.gradient[p][axis]; });
        }
    }
    /// Potential and gradient of one component: four vectors are added up at once.
    static HWY_INLINE void write_four(const Sum& sum, int p, double* out) {
        const Real first = value ? sum.potential[p] : hn::Zero(D());
        const Real all[4] = {first, sum.gradient[p][0], sum.gradient[p][1], sum.gradient[p][dimension - 1]};
        double added[4] = {};
        forces::HWY_NAMESPACE::add_lane_sums(D(), all, slope_factor, added);
        out[0] += added[0] * (value_factor / slope_factor);
        for (int axis = 0; axis < 3; ++axis)
            out[1 + axis] += added[1 + axis];
    }
    template <int count, class Member>
    static HWY_INLINE void write_one(const Tile<V>& tile, int64_t first, int at, double factor,
                                     const Sum (&sum)[count], Member member) {
        double* out = tile.sums + first * tile.stride + at;
        if constexpr (columns) {
            HWY_ALIGN V lane[HWY_MAX_BYTES / sizeof(V)];
            hn::Store(member(sum[0]), D(), lane);
            for (size_t l = 0; l < hn::Lanes(D()); ++l)
                out[static_cast<int64_t>(l) * tile.stride] += factor * static_cast<double>(lane[l]);
        } else {
            Real all[count];
            double added[count] = {};
            for (int k = 0; k < count; ++k)
                all[k] = member(sum[k]);
            forces::HWY_NAMESPACE::add_lane_sums(D(), all, factor, added);
            for (int k = 0; k < count; ++k)
                out[k * tile.stride] += added[k];
        }
    }

    static HWY_INLINE void all_targets(const Constants<V>& c, const Tile<V>& tile, const Run* runs,
                                       int64_t run_count) {
        int64_t i = 0;
        if constexpr (columns) {
            for (; i < tile.targets; i += static_cast<int64_t>(hn::Lanes(D())))
                block_of_targets<1>(c, tile, runs, run_count, i);
            return;
        }
        if constexpr (block >= 4)
            for (; i + 4 <= tile.targets; i += 4)
                block_of_targets<4>(c, tile, runs, run_count, i);
        if constexpr (block >= 2)
            for (; i + 2 <= tile.targets; i += 2)
                block_of_targets<2>(c, tile, runs, run_count, i);
        for (; i < tile.targets; ++i)
            block_of_targets<1>(c, tile, runs, run_count, i);
    }

    static HWY_NOINLINE void run(const Constants<V>& c, const Tile<V>& tile) {
        int64_t begin = 0;
        while (begin < tile.run_count) {
            int64_t end = begin + 1, sources = tile.runs[begin].count;
            while (end < tile.run_count && sources + tile.runs[end].count <= chunk)
                sources += tile.runs[end++].count;
            if (sources <= chunk) {
                all_targets(c, tile, tile.runs + begin, end - begin);
            } else {
                const Run whole = tile.runs[begin];
                for (int64_t done = 0; done < whole.count; done += chunk) {
                    const Run part{static_cast<int32_t>(whole.begin + done),
                                   static_cast<int32_t>(std::min<int64_t>(chunk, whole.count - done))};
                    all_targets(c, tile, &part, 1);
                }
            }
            begin = end;
        }
    }
};

template <typename V, bool low, Form form, int dimension, int components, bool value, bool slope>
TileFunction<V> choose_columns(const Variant& v) {
    return v.columns ? &Loop<V, low, form, dimension, components, value, slope, true>::run
                     : &Loop<V, low, form, dimension, components, value, slope, false>::run;
}
/// The gradient alone has a loop of its own only where the potential would cost a part worth saving.
template <typename V, bool low, Form form, int dimension, int components>
TileFunction<V> choose_outputs(const Variant& v) {
    if (!v.slope)
        return choose_columns<V, low, form, dimension, components, true, false>(v);
    if constexpr (form == Form::laplace || form == Form::softened)
        if (!v.value && components == 1)
            return choose_columns<V, low, form, dimension, components, false, true>(v);
    return choose_columns<V, low, form, dimension, components, true, true>(v);
}
template <typename V, bool low, Form form, int dimension>
TileFunction<V> choose_components(const Variant& v) {
    if constexpr (form != Form::helmholtz)
        if (v.components == 1)
            return choose_outputs<V, low, form, dimension, 1>(v);
    if constexpr (form == Form::helmholtz || form == Form::laplace || form == Form::softened)
        if (v.components == 2)
            return choose_outputs<V, low, form, dimension, 2>(v);
    return choose_outputs<V, low, form, dimension, 4>(v);
}
template <typename V, bool low, Form form>
TileFunction<V> choose_dimension(const Variant& v) {
    if constexpr (form == Form::laplace || form == Form::softened || form == Form::logarithm)
        if (v.dimension == 2)
            return choose_components<V, low, form, 2>(v);
    return choose_components<V, low, form, 3>(v);
}

} // namespace graft::near::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
