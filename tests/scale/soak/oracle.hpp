// SPDX-License-Identifier: BSD-3-Clause
// Sums over all pairs in long double, by the textbook's formulas; with each the sum of absolute values, which
// errors are measured by. Shares no code with what it judges.
// Spline: Monaghan and Lattanzio 1985, potential as in Springel, Yoshida and White 2001 (appendix A).
#pragma once

#include "scene.hpp"

#include <algorithm>

namespace soak {

struct Exact {
    long double a[3] = {0, 0, 0}, phi = 0;
    long double a_size = 0, phi_size = 0; // sums of absolute values
    long double a_close = 0,
                phi_close = 0; // what single precision may lose of them in a frame of the whole scene
};

/// What single precision may lose of a pair at distance r in a frame of size `extent`. `most`: what is summed in
/// double instead (frame_resolution.hpp).
inline long double lost_share(long double r, long double extent, long double most) {
    return r > 0 ? std::min(most, 0x1p-20L * extent / r) : most;
}

/// Largest distance between two points, up to a factor of two.
inline long double extent_of(const Scene& scene) {
    long double extent = 0;
    for (const Points* points : {&scene.sources, &scene.points})
        for (const auto& axis : points->axis)
            for (const double x : axis)
                extent = std::max(extent, std::abs(static_cast<long double>(x) -
                                                   scene.sources.axis[&axis - points->axis][0]));
    return 2 * extent;
}

struct Law {
    long double constant = 1; // < 0: like charges repel
    std::string softening = "none";
    long double length = 0;

    explicit Law(const Case& c)
        : constant(std::strtold(c.deck("constant", "1").c_str(), nullptr)),
          softening(c.deck("softening.kind", "none")),
          length(std::strtold(c.deck("softening.length", "0").c_str(), nullptr)) {
        if (c.deck("interaction", "gravity") == "coulomb")
            constant = -constant;
        if (length == 0)
            softening = "none";
    }

    /// Of a unit charge at distance r: -phi, and field / r.
    void pair(long double r, long double& value, long double& slope) const {
        const long double u = length > 0 ? r / length : 1;
        if (softening == "plummer") {
            const long double s = std::hypot(r, length);
            value = 1 / s;
            slope = value / s / s;
        } else if (r == 0 && softening == "none") {
            value = slope = 0;
        } else if (softening == "none" || u >= 1) {
            value = 1 / r;
            slope = value / r / r;
        } else if (u < 0.5L) {
            value = (14 / 5.0L - u * u * (16 / 3.0L + u * u * (32 / 5.0L * u - 48 / 5.0L))) / length;
            slope = (32 / 3.0L + u * u * (32 * u - 192 / 5.0L)) / length / length / length;
        } else {
            value = (16 / 5.0L - 1 / (15 * u) -
                     u * u * (32 / 3.0L + u * (-16 + u * (48 / 5.0L - 32 / 15.0L * u)))) /
                    length;
            slope = (64 / 3.0L - 48 * u + 192 / 5.0L * u * u - 32 / 3.0L * u * u * u - 1 / (15 * u * u * u)) /
                    length / length / length;
        }
    }
};

/// At point t; `own` is the particle that does not act on itself, or -1.
inline Exact exact_at(const Law& law, const Scene& scene, const Points& targets, size_t t, int64_t own,
                      long double extent = 0, long double most = 0) {
    Exact sum;
    for (size_t j = 0; j < scene.charge.size(); ++j) {
        long double d[3];
        for (int k = 0; k < 3; ++k)
            d[k] = static_cast<long double>(scene.sources.axis[k][j]) - targets.axis[k][t];
        const long double r = std::hypot(d[0], d[1], d[2]);
        long double value = 0, slope = 0;
        law.pair(r, value, slope);
        const long double q = law.constant * scene.charge[j];
        if (static_cast<int64_t>(j) == own) { // kernels sum it, too, and take it off: rounded as it is
            sum.phi_size += std::abs(q * value);
            continue;
        }
        for (int k = 0; k < 3; ++k)
            sum.a[k] += q * slope * d[k];
        sum.phi -= q * value;
        sum.a_size += std::abs(q * slope * r);
        sum.phi_size += std::abs(q * value);
        sum.a_close += std::abs(q * slope * r) * lost_share(r, extent, most);
        sum.phi_close += std::abs(q * value) * lost_share(r, extent, most);
    }
    return sum;
}

/// The same with all images of a rectangular box, conducting boundary, uniform background: Ewald 1921 as in
/// Allen and Tildesley, section 6.2. All targets at once, since the waves' sums serve all.
class Lattice {
  public:
    Lattice(const Law& law, const Scene& scene, const double (&edge)[3]) : law_(law), scene_(scene) {
        const double least = std::min({edge[0], edge[1], edge[2]});
        alpha_ = 4.5L / least;
        for (int k = 0; k < 3; ++k) {
            edge_[k] = edge[k];
            images_[k] = static_cast<int>(std::ceil(1.5 * least / edge[k])) + 1;
            waves_[k] = static_cast<int>(std::ceil(13 * alpha_ * edge_[k] / tau));
        }
        sum_waves();
    }

    Exact at(const Points& targets, size_t t, int64_t own, long double most) const {
        Exact sum;
        const long double x[3] = {targets.axis[0][t], targets.axis[1][t], targets.axis[2][t]};
        for (size_t j = 0; j < scene_.charge.size(); ++j)
            add_images(sum, x, j, static_cast<int64_t>(j) == own, most);
        const long double volume = edge_[0] * edge_[1] * edge_[2];
        for (const Wave& w : sums_) {
            const long double phase = w.k[0] * x[0] + w.k[1] * x[1] + w.k[2] * x[2];
            const long double c = std::cos(phase), s = std::sin(phase);
            const long double factor = law_.constant * 2 * tau / volume * w.factor;
            sum.phi -= factor * (w.c * c + w.s * s);
            for (int k = 0; k < 3; ++k)
                sum.a[k] += factor * w.k[k] * (w.s * c - w.c * s);
            const long double size = factor * std::hypot(w.c, w.s);
            sum.phi_size += std::abs(size);
            sum.a_size += std::abs(size) * std::sqrt(w.k[0] * w.k[0] + w.k[1] * w.k[1] + w.k[2] * w.k[2]);
        }
        long double total = 0;
        for (const double q : scene_.charge)
            total += q;
        sum.phi += law_.constant * total * tau / 2 / volume / alpha_ / alpha_;
        if (own >= 0)
            sum.phi +=
                law_.constant * scene_.charge[static_cast<size_t>(own)] * 2 * alpha_ / std::sqrt(tau / 2);
        return sum;
    }

  private:
    struct Wave {
        long double k[3], factor, c, s;
    };
    static constexpr long double tau = 6.283185307179586476925286766559L;

    void sum_waves() {
        for (int a = -waves_[0]; a <= waves_[0]; ++a)
            for (int b = -waves_[1]; b <= waves_[1]; ++b)
                for (int c = -waves_[2]; c <= waves_[2]; ++c) {
                    Wave w{{tau * a / edge_[0], tau * b / edge_[1], tau * c / edge_[2]}, 0, 0, 0};
                    const long double k2 = w.k[0] * w.k[0] + w.k[1] * w.k[1] + w.k[2] * w.k[2];
                    if (k2 == 0 || k2 > 169 * alpha_ * alpha_)
                        continue;
                    w.factor = std::exp(-k2 / 4 / alpha_ / alpha_) / k2;
                    for (size_t j = 0; j < scene_.charge.size(); ++j) {
                        const auto& x = scene_.sources.axis;
                        const long double phase = w.k[0] * x[0][j] + w.k[1] * x[1][j] + w.k[2] * x[2][j];
                        w.c += scene_.charge[j] * std::cos(phase);
                        w.s += scene_.charge[j] * std::sin(phase);
                    }
                    sums_.push_back(w);
                }
    }

    void add_images(Exact& sum, const long double (&x)[3], size_t j, bool own, long double most) const {
        long double d[3];
        for (int k = 0; k < 3; ++k) {
            d[k] = scene_.sources.axis[k][j] - x[k];
            d[k] -= edge_[k] * std::round(d[k] / edge_[k]);
        }
        add_size(sum, std::hypot(d[0], d[1], d[2]), law_.constant * scene_.charge[j]);
        for (int a = -images_[0]; a <= images_[0]; ++a)
            for (int b = -images_[1]; b <= images_[1]; ++b)
                for (int c = -images_[2]; c <= images_[2]; ++c) {
                    const long double e[3] = {d[0] + a * edge_[0], d[1] + b * edge_[1], d[2] + c * edge_[2]};
                    add_pair(sum, e, scene_.charge[j], own, most);
                }
    }

    /// A pair and its images cancel where it is at one place; rounded it is as one at the distance of the images.
    void add_size(Exact& sum, long double r, long double q) const {
        const long double d = std::max(r, std::min({edge_[0], edge_[1], edge_[2]}));
        sum.phi_size += std::abs(q / d);
        sum.a_size += std::abs(q / d / d);
    }

    void add_pair(Exact& sum, const long double (&e)[3], double charge, bool own, long double most) const {
        const long double r = std::sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]);
        const long double q = law_.constant * charge;
        if (r == 0) {
            if (!own) // no pair; the waves' share of it is taken off
                sum.phi += q * 2 * alpha_ / std::sqrt(tau / 2);
            return;
        }
        const long double screened = std::erfc(alpha_ * r) / r;
        const long double slope =
            (screened + 2 * alpha_ / std::sqrt(tau / 2) * std::exp(-alpha_ * alpha_ * r * r)) / r / r;
        sum.phi -= q * screened;
        sum.phi_size += std::abs(q * screened);
        const long double lost = lost_share(r, 2 * std::max({edge_[0], edge_[1], edge_[2]}), most);
        sum.phi_close += lost * std::abs(q * screened);
        sum.a_close += lost * std::abs(q * slope * r);
        for (int k = 0; k < 3; ++k)
            sum.a[k] += q * slope * e[k];
        sum.a_size += std::abs(q * slope * r);
    }

    const Law& law_;
    const Scene& scene_;
    long double alpha_ = 0, edge_[3] = {0, 0, 0};
    int images_[3] = {0, 0, 0}, waves_[3] = {0, 0, 0};
    std::vector<Wave> sums_;
};

} // namespace soak
