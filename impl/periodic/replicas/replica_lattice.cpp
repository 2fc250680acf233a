// SPDX-License-Identifier: BSD-3-Clause
// See replica_field.hpp. Which images are near, and the sums over all others, by Ewald's way.
//
// With B_0 = erfc(a n) / n, B_l+1 = -B_l' / n:
//     sum over n != 0 of R_lm(n) (B_l(n) - (2l - 1)!! / n^(2l+1) where n is near)
//     + 4 pi / V (-1)^(l/2) sum over k != 0 of R_lm(k) exp(-k^2 / 4 a^2) / k^2,
// times (l - m)! (l + m)! / (2l - 1)!!; of l = 0 less 2 a / sqrt(pi) + pi / (V a^2). What is near is taken
// off in long double: it is up to (reach / nearest)^(l+1) times what is left.
#include "periodic/replicas/replica_field.hpp"
#include "periodic/replicas/solid_harmonics.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

using Real = long double;
using Number = std::complex<Real>;
constexpr Real pi = 3.14159265358979323846264338327950288L;
constexpr int most_order = DistantImages::most_order;
constexpr int all_terms = (most_order + 1) * (most_order + 2) / 2;
constexpr Real enough = 45 + 1.5L * most_order; // exp(-enough) beside all else

/// The sums for m >= 0, and their derivatives by the six strains.
struct Sums {
    std::vector<Number> value = std::vector<Number>(7 * all_terms, Number(0));

    Number& of(int which, int l, int m) {
        return value[static_cast<size_t>(which) * all_terms + static_cast<size_t>(harmonic_at(l, m))];
    }
    /// Adds f[l] R_lm(p); slope[l] = f_l' / |p|. sign: 1 where p grows with the strain, -1 where it shrinks.
    /// `volume`: as it grows, f falls.
    void add(const Real (&p)[3], const Real* f, const Real* slope, Real sign, bool volume) {
        constexpr int pairs[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
        Number r[all_terms];
        solid_harmonics(p[0], p[1], p[2], most_order, r);
        for (int l = 0; l <= most_order; l += 2)
            for (int m = 0; m <= l; ++m) {
                const Number one = r[harmonic_at(l, m)], up = any_harmonic(r, l - 1, m + 1),
                             down = -any_harmonic(r, l - 1, m - 1), twice = (up - down) * Real(0.5);
                const Number by[3] = {
                    (up + down) * Real(0.5), {twice.imag(), -twice.real()}, any_harmonic(r, l - 1, m)};
                of(0, l, m) += f[l] * one;
                for (int c = 0; c < 6; ++c) { // a shear without turning: both ways, halved
                    const int a = pairs[c][0], b = pairs[c][1];
                    const Number turned = (p[a] * by[b] + p[b] * by[a]) * Real(0.5);
                    of(c + 1, l, m) += sign * (f[l] * turned + (p[a] * p[b] * slope[l]) * one);
                    if (volume && c < 3)
                        of(c + 1, l, m) -= f[l] * one;
                }
            }
    }
};

/// f(i, j, k) of all integer triples within these.
template <typename F>
void for_triples(const int (&most)[3], const F& f) {
    for (int i = -most[0]; i <= most[0]; ++i)
        for (int j = -most[1]; j <= most[1]; ++j)
            for (int k = -most[2]; k <= most[2]; ++k)
                f(i, j, k);
}

/// One of each pair of opposites, (0, 0, 0) not.
bool is_first_half(int i, int j, int k) {
    return i > 0 || (i == 0 && (j > 0 || (j == 0 && k > 0)));
}

void most_within(const geometry::Lattice& lattice, double length, int (&most)[3]) {
    for (int a = 0; a < 3; ++a)
        most[a] = static_cast<int>(length / lattice.width(a)) + 1;
}

void add_images(const geometry::Lattice& lattice, Real unit, Real alpha, double near, Sums& sums) {
    int most[3];
    most_within(lattice, std::max(static_cast<double>(unit * std::sqrt(enough) / alpha), near), most);
    for_triples(most, [&](int i, int j, int k) {
        if (!is_first_half(i, j, k))
            return;
        const geometry::Vec3 n = lattice.shift(i, j, k);
        const Real p[3] = {n.x / unit, n.y / unit, n.z / unit};
        const Real square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2], length = std::sqrt(square);
        const bool is_near = static_cast<double>(length * unit) < near;
        if (alpha * alpha * square > enough && !is_near)
            return;
        const Real gauss = std::exp(-alpha * alpha * square) / (alpha * std::sqrt(pi));
        Real b = std::erfc(alpha * length) / length, whole = 1 / length, power = 1;
        Real f[most_order + 2], slope[most_order + 1];
        for (int l = 0; l <= most_order + 1; ++l) {
            f[l] = 2 * (is_near ? b - whole : b); // and its opposite
            power *= 2 * alpha * alpha;
            b = ((2 * l + 1) * b + power * gauss) / square;
            whole *= (2 * l + 1) / square;
        }
        for (int l = 0; l <= most_order; ++l)
            slope[l] = -f[l + 1];
        sums.add(p, f, slope, 1, false);
    });
}

void add_waves(const geometry::Lattice& lattice, Real unit, Real alpha, Sums& sums) {
    const Real volume = lattice.volume() / (unit * unit * unit);
    int most[3]; // |index| = |g . edge| <= |g| |edge|
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        const double wave = static_cast<double>(alpha * std::sqrt(enough) / (pi * unit));
        most[a] = static_cast<int>(wave * std::sqrt(edge.x * edge.x + edge.y * edge.y + edge.z * edge.z)) + 1;
    }
    for_triples(most, [&](int i, int j, int k) {
        const geometry::Vec3 g = lattice.reciprocal(i, j, k);
        const Real p[3] = {2 * pi * g.x * unit, 2 * pi * g.y * unit, 2 * pi * g.z * unit};
        const Real square = p[0] * p[0] + p[1] * p[1] + p[2] * p[2], inverse = 1 / (4 * alpha * alpha);
        if (!is_first_half(i, j, k) || square * inverse > enough)
            return;
        const Real weight = 2 * 4 * pi / volume * std::exp(-square * inverse) / square;
        Real f[most_order + 1], slope[most_order + 1];
        for (int l = 0; l <= most_order; ++l) {
            f[l] = l / 2 % 2 == 0 ? weight : -weight;
            slope[l] = -f[l] * 2 * (1 / square + inverse);
        }
        sums.add(p, f, slope, -1, true);
    });
}

} // namespace

double DistantImages::diagonal(const geometry::Lattice& lattice) {
    double longest = 0;
    for (int corner = 0; corner < 4; ++corner) {
        const geometry::Vec3 d = lattice.shift(1, (corner & 1) != 0 ? 1 : -1, (corner & 2) != 0 ? 1 : -1);
        longest = std::max(longest, std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z));
    }
    return longest;
}

double DistantImages::near_count(const geometry::Lattice& lattice, double length) {
    return 4 * static_cast<double>(pi) / 3 * length * length * length / lattice.volume();
}

DistantImages::Near DistantImages::near_images(const geometry::Lattice& lattice, double length) {
    const double limit = length * (1 + 1e-9); // vectors of one length stay together
    Near near{{{0, 0, 0}}, 0};
    int most[3];
    most_within(lattice, limit + lattice.edge[0], most);
    for_triples(most, [&](int i, int j, int k) {
        const geometry::Vec3 n = lattice.shift(i, j, k);
        const double size = std::sqrt(n.x * n.x + n.y * n.y + n.z * n.z);
        if (size > 0 && size < limit)
            near.shifts.push_back(n);
        else if (size > 0 && (near.reach == 0 || size < near.reach))
            near.reach = size;
    });
    return near;
}

void DistantImages::choose(const geometry::Lattice& lattice, Near near) {
    if (lattice_ != lattice)
        known_.clear();
    lattice_.reset(); // until all is there: memory may be refused
    near_ = std::move(near);
    unit_ = std::cbrt(lattice.volume());
    background_ = 2 * static_cast<double>(pi) / 3 * unit_ * unit_ * unit_ / lattice.volume();
    const geometry::Vec3 half = lattice.shift(0.5, 0.5, 0.5);
    centre_ = {lattice.lower[0] + half.x, lattice.lower[1] + half.y, lattice.lower[2] + half.z};
    used_ = 0;
    while (used_ < known_.size() && known_[used_].reach != near_.reach)
        ++used_;
    if (used_ == known_.size()) {
        Coefficients found{near_.reach, std::vector<Complex>(7 * terms), std::vector<double>(most_order + 1)};
        find_coefficients(lattice, found);
        find_random(lattice, unit_, found);
        known_.push_back(std::move(found));
    }
    lattice_ = lattice;
}

void DistantImages::find_coefficients(const geometry::Lattice& lattice, Coefficients& found) const {
    const Real unit = unit_, alpha = std::sqrt(pi), volume = lattice.volume() / (unit * unit * unit);
    Sums sums;
    add_images(lattice, unit, alpha, near_.reach * (1 - 1e-9), sums);
    add_waves(lattice, unit, alpha, sums);
    const Real background = pi / (volume * alpha * alpha);
    sums.of(0, 0, 0) -= 2 * alpha / std::sqrt(pi) + background;
    for (int c = 1; c < 4; ++c)
        sums.of(c, 0, 0) += background;
    Real odd = 1; // (2l - 1)!!
    for (int l = 0; l <= most_order; l += 2, odd *= (2 * l - 1) * (2 * l - 3))
        for (int m = 0; m <= l; ++m) {
            Real factor = 1 / odd;
            for (int t = 2; t <= l + m; ++t)
                factor *= t <= l - m ? Real(t) * t : Real(t);
            for (int c = 0; c < 7; ++c) {
                const Number value = std::conj(sums.of(c, l, m)) * factor;
                found.value[static_cast<size_t>(c) * terms + static_cast<size_t>(harmonic_at(l, m))] = {
                    static_cast<double>(value.real()), static_cast<double>(value.imag())};
            }
        }
}

/// Pairs at random places (a Weyl sequence), order by order.
void DistantImages::find_random(const geometry::Lattice& lattice, double unit, Coefficients& found) {
    constexpr double primes[6] = {2, 3, 5, 7, 11, 13};
    constexpr int samples = 400;
    std::vector<Complex> one(terms);
    for (int l = 2; l <= most_order; l += 2) {
        double places[6] = {}, sum = 0;
        std::fill(one.begin(), one.end(), Complex(0));
        std::copy_n(found.value.begin() + harmonic_at(l, 0), l + 1, one.begin() + harmonic_at(l, 0));
        for (int s = 0; s < samples; ++s) {
            for (int a = 0; a < 6; ++a)
                places[a] = std::fmod(places[a] + std::sqrt(primes[a]), 1.0);
            const geometry::Vec3 w =
                lattice.shift(places[0] - places[3], places[1] - places[4], places[2] - places[5]);
            const Field f = at_point(one.data(), most_order, {w.x / unit, w.y / unit, w.z / unit});
            sum += f.x * f.x + f.y * f.y + f.z * f.z;
        }
        found.random[static_cast<size_t>(l)] = std::sqrt(sum / samples);
    }
}

} // namespace graft::periodic
