// SPDX-License-Identifier: BSD-3-Clause
// The oracle of periodic boxes, see ewald_sum.hpp.
#include "reference/ewald_sum.hpp"
#include "reference/loop.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace graft::reference {
namespace {

using Real = long double;
using Complex = std::complex<Real>;
constexpr Real pi = 3.14159265358979323846264338327950288L;
constexpr Real enough = 6.5L; // exp(-x^2) = 4e-19

struct Vector {
    Real x = 0, y = 0, z = 0;
};
Real dot(const Vector& a, const Vector& b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
Vector cross(const Vector& a, const Vector& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
Vector times(Real f, const Vector& a) {
    return {f * a.x, f * a.y, f * a.z};
}
Vector plus(const Vector& a, const Vector& b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

struct Frame {
    Vector edge[3], dual[3];             // dual[i] edge[j] = 1 if i = j, else 0
    Real volume, alpha, cutoff, largest; // |k| <= largest
    int images[3], waves[3];
};

/// `reach`: how far images of the near part may be, at least; the waves do without.
Frame frame_of(const Cell& cell, int64_t count, double reach) {
    Frame f;
    for (int a = 0; a < 3; ++a)
        f.edge[a] = {cell.edge[a][0], cell.edge[a][1], cell.edge[a][2]};
    const Vector n = cross(f.edge[1], f.edge[2]);
    const Real signed_volume = dot(f.edge[0], n);
    f.volume = std::abs(signed_volume);
    for (int a = 0; a < 3; ++a)
        f.dual[a] = times(1 / signed_volume, cross(f.edge[(a + 1) % 3], f.edge[(a + 2) % 3]));
    f.alpha = 2.3L * std::pow(static_cast<Real>(std::max<int64_t>(count, 1)), 1 / 6.0L) / std::cbrt(f.volume);
    f.cutoff = enough / f.alpha;
    f.largest = 2 * f.alpha * enough;
    for (int a = 0; a < 3; ++a) {
        f.images[a] = static_cast<int>(
                          std::ceil(std::max<Real>(f.cutoff, reach) * std::sqrt(dot(f.dual[a], f.dual[a])))) +
                      1;
        f.waves[a] = static_cast<int>(f.largest / (2 * pi) * std::sqrt(dot(f.edge[a], f.edge[a])));
    }
    return f;
}

struct Pair {
    Real force = 0, potential = 0; // times q d, q
};

Pair newton(Real r) {
    return r > 0 ? Pair{1 / (r * r * r), 1 / r} : Pair{};
}

/// The softened pair (direct_sum.hpp says which), in long double.
Pair softened(Softening kind, Real r, Real length_i, Real length_j) {
    if (kind == Softening::plummer) {
        const Real s = std::sqrt(r * r + (length_i * length_i + length_j * length_j) / 2);
        return newton(s);
    }
    const Real h = std::max(length_i, length_j);
    if (kind == Softening::none || r >= h)
        return newton(r);
    const Real u = r / h, u2 = u * u, h3 = h * h * h;
    if (u < 0.5L)
        return {(32.0L / 3 - 38.4L * u2 + 32 * u2 * u) / h3,
                (2.8L - 16.0L / 3 * u2 + 9.6L * u2 * u2 - 6.4L * u2 * u2 * u) / h};
    return {(64.0L / 3 - 48 * u + 38.4L * u2 - 32.0L / 3 * u2 * u - 1 / (15 * u2 * u)) / h3,
            (3.2L - 1 / (15 * u) - 32.0L / 3 * u2 + 16 * u2 * u - 9.6L * u2 * u2 + 32.0L / 15 * u2 * u2 * u) /
                h};
}

/// erf(alpha r)/r and -1/r of its derivative.
Pair smooth(Real alpha, Real r) {
    const Real u = alpha * r, peak = 2 * alpha / std::sqrt(pi);
    if (u < 0.1L) { // series: sum (-1)^n u^2n / (n! (2n + 1)), and its derivative
        Pair p;
        Real term = 1;
        for (int n = 0; n < 14; ++n) {
            p.potential += term / static_cast<Real>(2 * n + 1);
            p.force += term / static_cast<Real>(2 * n + 3) * 2;
            term *= -u * u / static_cast<Real>(n + 1);
        }
        return {p.force * peak * alpha * alpha, p.potential * peak};
    }
    const Real value = std::erf(u) / r;
    return {(value - peak * std::exp(-u * u)) / (r * r), value};
}

/// Integral of f over [0, 1] that vanishes at 0 with all derivatives, by the double exponential rule.
template <typename F>
Real integral(const F& f) {
    constexpr Real step = 1 / 32.0L;
    Real sum = 0;
    for (int k = -128; k <= 128; ++k) {
        const Real t = step * static_cast<Real>(k), grow = std::exp(pi * std::sinh(t)); // z / (1 - z)
        const Real z = grow / (1 + grow), dz = pi * std::cosh(t) * z / (1 + grow);
        if (z > 0 && dz > 0)
            sum += f(z) * dz;
    }
    return sum * step;
}

/// erf(alpha s)/s, s^2 = r^2 + length^2, is 2 alpha / sqrt(pi) times the integral of exp(-alpha^2 z^2 s^2)
/// over z in [0, 1]: in waves, 2 pi / alpha^2 times that of z^-3 exp(-alpha^2 length^2 z^2 - k^2 / (4 alpha^2
/// z^2)).
struct Smooth {
    Real alpha, length;
    Real weight(Real square) const { return moment(square, 3) * 2 * pi / (alpha * alpha); }
    /// -d/d(k^2) of the weight over it.
    Real slope(Real square) const {
        if (length == 0)
            return 1 / square + 1 / (4 * alpha * alpha);
        return moment(square, 5) / (4 * alpha * alpha * moment(square, 3));
    }
    /// Integral of erfc(alpha s)/s over space.
    Real rest() const {
        const Real eta = alpha * alpha * length * length;
        return 2 * pi / (alpha * alpha) *
               (eta == 0 ? 0.5L : integral([&](Real z) { return z * std::exp(-eta / (z * z)); }));
    }

  private:
    Real moment(Real square, int power) const {
        const Real kappa = square / (4 * alpha * alpha), eta = alpha * alpha * length * length;
        if (length == 0)
            return std::exp(-kappa) / (2 * kappa);
        return integral([&](Real z) {
            return std::exp(-eta * z * z - kappa / (z * z)) / std::pow(z, static_cast<Real>(power));
        });
    }
};

struct Sum {
    Vector a;
    Real potential = 0, virial[6] = {};
    void add_virial(Real f, const Vector& d) {
        virial[0] += f * d.x * d.x;
        virial[1] += f * d.y * d.y;
        virial[2] += f * d.z * d.z;
        virial[3] += f * d.x * d.y;
        virial[4] += f * d.x * d.z;
        virial[5] += f * d.y * d.z;
    }
};

struct EwaldCase {
    const Frame& frame;
    const Points& sources;
    const double* charge;
    const Points& targets;
    Softening softening;
    double length, reach;
    Real mean; // Plummer's length in the smooth part

    Real length_of(const Points& points, int64_t i) const {
        return points.softening != nullptr ? points.softening[i] : length;
    }
};

/// rms length, by |charge|.
Real mean_length(const Points& sources, const double* charge, Softening softening, double length) {
    if (softening != Softening::plummer || sources.softening == nullptr)
        return softening == Softening::plummer ? length : 0;
    Real sum = 0, weight = 0;
    for (int64_t j = 0; j < sources.count; ++j) {
        weight += std::abs(charge[j]);
        sum += std::abs(charge[j]) * Real(sources.softening[j]) * sources.softening[j];
    }
    return weight > 0 ? std::sqrt(sum / weight) : 0;
}

/// All images of source j within the cut-off, or the reach of the softening.
void add_images(const EwaldCase& p, int64_t i, int64_t j, Sum& sum) {
    const Frame& f = p.frame;
    Vector d{Real(p.sources.x[j]) - p.targets.x[i], Real(p.sources.y[j]) - p.targets.y[i],
             Real(p.sources.z[j]) - p.targets.z[i]};
    for (int a = 0; a < 3; ++a) // nearly the nearest image
        d = plus(d, times(-std::round(dot(f.dual[a], d)), f.edge[a]));
    const Real length_i = p.length_of(p.targets, i), length_j = p.length_of(p.sources, j);
    const Real q = p.charge[j];
    for (int n = -f.images[0]; n <= f.images[0]; ++n)
        for (int m = -f.images[1]; m <= f.images[1]; ++m)
            for (int l = -f.images[2]; l <= f.images[2]; ++l) {
                const Vector s =
                    plus(plus(times(n, f.edge[0]), times(m, f.edge[1])), plus(times(l, f.edge[2]), d));
                const Real r = std::sqrt(dot(s, s)), far = std::sqrt(r * r + p.mean * p.mean);
                const bool soft = p.softening != Softening::none && far < p.reach;
                if (far > f.cutoff && !soft)
                    continue;
                const Pair all = soft ? softened(p.softening, r, length_i, length_j) : newton(far);
                const Pair off = far > f.cutoff ? newton(far) : smooth(f.alpha, far);
                const Real force = q * (all.force - off.force);
                sum.a = plus(sum.a, times(force, s));
                sum.potential += q * (all.potential - off.potential);
                sum.add_virial(-force, s);
            }
}

Vector wave_of(const Frame& f, int i, int j, int k) {
    return plus(times(2 * pi * i, f.dual[0]),
                plus(times(2 * pi * j, f.dual[1]), times(2 * pi * k, f.dual[2])));
}
Complex phase(const Vector& k, const Points& p, int64_t i) {
    const Real angle = dot(k, {p.x[i], p.y[i], p.z[i]});
    return {std::cos(angle), std::sin(angle)};
}

/// One wave vector and its opposite.
struct Wave {
    Vector k;
    Real weight; // 2 / V that of Smooth
    Complex structure;
};

std::vector<Wave> find_waves(const Frame& f, const Smooth& part) {
    std::vector<Wave> waves;
    for (int i = 0; i <= f.waves[0]; ++i)
        for (int j = i == 0 ? 0 : -f.waves[1]; j <= f.waves[1]; ++j)
            for (int k = i == 0 && j == 0 ? 1 : -f.waves[2]; k <= f.waves[2]; ++k) {
                const Vector wave = wave_of(f, i, j, k);
                const Real square = dot(wave, wave);
                if (square <= f.largest * f.largest)
                    waves.push_back({wave, 2 / f.volume * part.weight(square), {0, 0}});
            }
    return waves;
}

} // namespace

void ewald_sum(const Cell& cell, const Points& sources, const double* charge, const Points& targets,
               Softening softening, double length, double softening_reach, int threads, const Field& field,
               double* energy, double* virial) {
    const Frame frame = frame_of(cell, std::max(sources.count, targets.count),
                                 softening == Softening::none ? 0 : softening_reach);
    const Real mean = mean_length(sources, charge, softening, length);
    const EwaldCase p{frame, sources, charge, targets, softening, length, softening_reach, mean};
    const Smooth part{frame.alpha, mean};
    std::vector<Wave> waves = find_waves(frame, part);
    const auto wave_count = static_cast<int64_t>(waves.size());
    std::vector<Sum> sums(static_cast<size_t>(targets.count));
    for_each(wave_count, threads, 16, [&](int64_t w) {
        Wave& wave = waves[static_cast<size_t>(w)];
        for (int64_t j = 0; j < sources.count; ++j)
            wave.structure += static_cast<Real>(charge[j]) * phase(wave.k, sources, j);
    });
    Real net = 0;
    for (int64_t j = 0; j < sources.count; ++j)
        net += charge[j];
    const Real background = -net / frame.volume * part.rest();
    for_each(targets.count, threads, 1, [&](int64_t i) {
        Sum& sum = sums[static_cast<size_t>(i)];
        for (int64_t j = 0; j < sources.count; ++j)
            add_images(p, i, j, sum);
        for (const Wave& wave : waves) {
            const Complex value = wave.weight * std::conj(wave.structure) * phase(wave.k, targets, i);
            sum.potential += value.real();
            sum.a = plus(sum.a, times(-value.imag(), wave.k));
        }
        sum.potential += background;
        field.ax[i] = static_cast<double>(sum.a.x);
        field.ay[i] = static_cast<double>(sum.a.y);
        field.az[i] = static_cast<double>(sum.a.z);
        if (field.potential != nullptr)
            field.potential[i] = static_cast<double>(sum.potential);
    });
    if (energy == nullptr && virial == nullptr)
        return;
    Real total = 0, w[6] = {};
    for (int64_t i = 0; i < targets.count; ++i) {
        const Sum& sum = sums[static_cast<size_t>(i)];
        total += charge[i] * sum.potential / 2;
        for (int c = 0; c < 6; ++c)
            w[c] += charge[i] * sum.virial[c] / 2;
    }
    Sum smooth_part;
    for (const Wave& wave : waves) {
        const Real one = wave.weight * std::norm(wave.structure) / 2;
        smooth_part.add_virial(2 * one * part.slope(dot(wave.k, wave.k)), wave.k);
        for (int c = 0; c < 3; ++c)
            w[c] -= one;
    }
    for (int c = 0; c < 6; ++c)
        w[c] += smooth_part.virial[c] - (c < 3 ? net * background / 2 : 0);
    if (energy != nullptr)
        *energy = static_cast<double>(total);
    for (int c = 0; c < 6 && virial != nullptr; ++c)
        virial[c] = static_cast<double>(w[c]);
}

} // namespace graft::reference
