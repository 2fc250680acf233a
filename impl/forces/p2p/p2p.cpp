// SPDX-License-Identifier: BSD-3-Clause
// The P2P kernel, compiled once per SIMD target; p2p.hpp says what it does.
//
// Inner loop: one vector of sources is loaded and met with `block` targets, whose places stay in registers (4
// targets with the 32 registers of AVX-512, else 2). Per pair in float: 3 subtractions, 11 multiply(-add)s, 1
// estimate of the root.
#include "forces/p2p/p2p.hpp"

#include "core/instruction_sets.hpp"
#include "forces/p2p/screen.hpp"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "forces/p2p/p2p.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "forces/vector_ops.hpp"
#include "forces/p2p/pair.hpp"
#include "forces/lane_sums.hpp"

HWY_BEFORE_NAMESPACE();
namespace graft::forces::HWY_NAMESPACE {

#if GRAFT_AVX512
inline constexpr int block = 4;
#else
inline constexpr int block = 2;
#endif

/// The polynomials of a Screen for one frame: r^2 in frame units, values over the Ops' factors.
template <typename T>
struct FrameScreen {
    T force[max_screen_terms], potential[max_screen_terms];
    int force_count = 0, potential_count = 0;
    double slope = 0, least = -1; // v = slope r^2 + least

    explicit FrameScreen(const Screening& screening) {
        if (screening.screen == nullptr)
            return;
        using Ops = VectorOps<T>;
        const double inverse = 1 / screening.cutoff;
        slope = 2 * inverse * inverse;
        least = slope * screening.softening * screening.softening - 1;
        force_count =
            scale(screening.screen->force(), inverse * inverse * inverse / Ops::force_factor, force);
        potential_count = scale(screening.screen->potential(), inverse / Ops::potential_factor, potential);
    }
    static int scale(const Screen::Polynomial& polynomial, double factor, T* to) {
        const std::vector<T>& terms = polynomial.terms<T>();
        for (size_t k = 0; k < terms.size(); ++k)
            to[k] = static_cast<T>(factor * static_cast<double>(terms[k]));
        return static_cast<int>(terms.size());
    }
};

template <typename T, Softening kind, bool per_particle, bool with_potential, bool screened>
struct Kernel {
    using Ops = VectorOps<T>;
    using Real = typename Ops::Real;
    static constexpr Ops ops{};
    static constexpr bool spline = kind == Softening::spline;
    static constexpr bool mask_zero = kind != Softening::plummer || per_particle;

    /// Horner for all targets of a block at once: one load of a coefficient serves them, and their chains
    /// overlap.
    static HWY_INLINE void horner(const T* terms, int count, const Real (&v)[block], Real (&value)[block]) {
        const typename Ops::D d;
        for (int k = 0; k < block; ++k)
            value[k] = hn::Set(d, terms[count - 1]);
        for (int i = count - 2; i >= 0; --i) {
            const Real term = hn::Set(d, terms[i]);
            for (int k = 0; k < block; ++k)
                value[k] = ops.fma(value[k], v[k], term);
        }
    }

    /// One vector of sources with the block's targets, short range only.
    static HWY_INLINE void meet_screened(const FrameScreen<T>& screen, const Real (&dx)[block],
                                         const Real (&dy)[block], const Real (&dz)[block], Real q,
                                         const Real (&soft)[block], const Real (&h)[block],
                                         PairSum<Real> (&sum)[block]) {
        Real v[block];
        LongRange<Ops> off[block];
        Real value[block];
        for (int k = 0; k < block; ++k) {
            const Real r2 = ops.fma(dx[k], dx[k], ops.fma(dy[k], dy[k], ops.mul(dz[k], dz[k])));
            v[k] = ops.fma(r2, ops.set(screen.slope), ops.set(screen.least));
            off[k].inside = ops.less(v[k], ops.set(1));
        }
        horner(screen.force, screen.force_count, v, value);
        for (int k = 0; k < block; ++k)
            off[k].force = off[k].potential = value[k];
        if constexpr (with_potential) {
            horner(screen.potential, screen.potential_count, v, value);
            for (int k = 0; k < block; ++k)
                off[k].potential = value[k];
        }
        for (int k = 0; k < block; ++k)
            add_pair<spline, with_potential, mask_zero>(ops, dx[k], dy[k], dz[k], q, soft[k], h[k], sum[k],
                                                        off[k]);
    }

    /// Targets first..first+block against sources begin..end.
    static HWY_INLINE void run_block(const FrameScreen<T>& screen, double length, const Sources<T>& sources,
                                     int64_t begin, int64_t end, const Targets<T>& targets, int64_t first,
                                     const FieldSums& out) {
        const typename Ops::D d;
        constexpr bool plummer = kind == Softening::plummer;
        const Real common =
            ops.set(plummer && !per_particle ? std::max(length * length, Ops::tiny) : Ops::tiny);
        const Real common_h = ops.set(length);
        Real x[block], y[block], z[block], s[block];
        PairSum<Real> sum[block];
        for (int k = 0; k < block; ++k) {
            x[k] = hn::Set(d, targets.x[first + k]);
            y[k] = hn::Set(d, targets.y[first + k]);
            z[k] = hn::Set(d, targets.z[first + k]);
            s[k] = per_particle ? hn::Set(d, targets.s[first + k]) : common;
            if (plummer && per_particle)
                s[k] = ops.add(s[k], common);
            sum[k].x = sum[k].y = sum[k].z = sum[k].potential = hn::Zero(d);
        }
        for (int64_t j = begin; j < end; j += static_cast<int64_t>(hn::Lanes(d))) {
            const Real sx = hn::Load(d, sources.x + j), sy = hn::Load(d, sources.y + j);
            const Real sz = hn::Load(d, sources.z + j), q = hn::Load(d, sources.q + j);
            const Real ss = per_particle ? hn::Load(d, sources.s + j) : common;
            if constexpr (screened) {
                Real dx[block], dy[block], dz[block], soft[block], h[block];
                for (int k = 0; k < block; ++k) {
                    dx[k] = ops.sub(sx, x[k]), dy[k] = ops.sub(sy, y[k]), dz[k] = ops.sub(sz, z[k]);
                    soft[k] = plummer && per_particle ? ops.add(s[k], ss) : common;
                    h[k] = per_particle ? ops.max(s[k], ss) : common_h;
                }
                meet_screened(screen, dx, dy, dz, q, soft, h, sum);
                continue;
            }
            for (int k = 0; k < block; ++k) {
                const Real soft = plummer && per_particle ? ops.add(s[k], ss) : common;
                const Real h = per_particle ? ops.max(s[k], ss) : common_h;
                add_pair<spline, with_potential, mask_zero>(ops, ops.sub(sx, x[k]), ops.sub(sy, y[k]),
                                                            ops.sub(sz, z[k]), q, soft, h, sum[k]);
            }
        }
        Real gather[block];
        add_sums(gather, sum, &PairSum<Real>::x, Ops::force_factor, out.ax + first);
        add_sums(gather, sum, &PairSum<Real>::y, Ops::force_factor, out.ay + first);
        add_sums(gather, sum, &PairSum<Real>::z, Ops::force_factor, out.az + first);
        if constexpr (with_potential)
            add_sums(gather, sum, &PairSum<Real>::potential, Ops::potential_factor, out.potential + first);
    }

    static HWY_INLINE void add_sums(Real (&gather)[block], const PairSum<Real> (&sum)[block],
                                    Real PairSum<Real>::*member, double factor, double* out) {
        for (int k = 0; k < block; ++k)
            gather[k] = sum[k].*member;
        add_lane_sums(typename Ops::D(), gather, factor, out);
    }

    static HWY_NOINLINE void run(const Screening& screening, double length, const Sources<T>& sources,
                                 const Targets<T>& targets, int64_t chunk, const FieldSums& out) {
        const FrameScreen<T> screen(screening);
        for (int64_t begin = 0; begin < sources.count; begin += chunk) {
            const int64_t end = std::min(sources.count, begin + chunk);
            for (int64_t first = 0; first < targets.count; first += block)
                run_block(screen, length, sources, begin, end, targets, first, out);
        }
    }
};

template <typename T, Softening kind, bool per_particle>
void choose_potential(const PairVariant& variant, double length, const Sources<T>& sources,
                      const Targets<T>& targets, int64_t chunk, const FieldSums& out,
                      const Screening& screening) {
    const bool screened = screening.screen != nullptr;
    if (variant.potential && screened)
        Kernel<T, kind, per_particle, true, true>::run(screening, length, sources, targets, chunk, out);
    else if (variant.potential)
        Kernel<T, kind, per_particle, true, false>::run(screening, length, sources, targets, chunk, out);
    else if (screened)
        Kernel<T, kind, per_particle, false, true>::run(screening, length, sources, targets, chunk, out);
    else
        Kernel<T, kind, per_particle, false, false>::run(screening, length, sources, targets, chunk, out);
}

template <typename T>
void choose(const PairVariant& v, double length, const Sources<T>& sources, const Targets<T>& targets,
            int64_t chunk, const FieldSums& out, const Screening& screening) {
    chunk =
        chunk <= 0 ? std::max(source_pad, sources.count) : (chunk + source_pad - 1) / source_pad * source_pad;
    if (v.softening == Softening::none)
        choose_potential<T, Softening::none, false>(v, length, sources, targets, chunk, out, screening);
    else if (v.softening == Softening::plummer && !v.per_particle)
        choose_potential<T, Softening::plummer, false>(v, length, sources, targets, chunk, out, screening);
    else if (v.softening == Softening::plummer)
        choose_potential<T, Softening::plummer, true>(v, length, sources, targets, chunk, out, screening);
    else if (!v.per_particle)
        choose_potential<T, Softening::spline, false>(v, length, sources, targets, chunk, out, screening);
    else
        choose_potential<T, Softening::spline, true>(v, length, sources, targets, chunk, out, screening);
}

void p2p_float(const PairVariant& variant, double length, const Sources<float>& sources,
               const Targets<float>& targets, int64_t chunk, const FieldSums& sums,
               const Screening& screening) {
    choose(variant, length, sources, targets, chunk, sums, screening);
}
void p2p_double(const PairVariant& variant, double length, const Sources<double>& sources,
                const Targets<double>& targets, int64_t chunk, const FieldSums& sums,
                const Screening& screening) {
    choose(variant, length, sources, targets, chunk, sums, screening);
}

} // namespace graft::forces::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace graft::forces {

HWY_EXPORT(p2p_float);
HWY_EXPORT(p2p_double);

template <>
void p2p<float>(const PairVariant& variant, double length, const Sources<float>& sources,
                const Targets<float>& targets, int64_t chunk, const FieldSums& sums,
                const Screening& screening) {
    HWY_DYNAMIC_DISPATCH(p2p_float)(variant, length, sources, targets, chunk, sums, screening);
}
template <>
void p2p<double>(const PairVariant& variant, double length, const Sources<double>& sources,
                 const Targets<double>& targets, int64_t chunk, const FieldSums& sums,
                 const Screening& screening) {
    HWY_DYNAMIC_DISPATCH(p2p_double)(variant, length, sources, targets, chunk, sums, screening);
}

} // namespace graft::forces
#endif
