// SPDX-License-Identifier: BSD-3-Clause
// Kepler's equation by Newton steps held inside a bracket, in a form without cancellation near e = 1.
#include "ic/kepler.hpp"

#include "snapshot/error.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace graft::cli {

namespace {

constexpr double pi = std::numbers::pi;

// x - sin x (sign = -1) or sinh x - x (sign = +1), by its series for small x.
double excess(double x, double sign) {
    if (std::abs(x) > 0.5) {
        return sign < 0.0 ? x - std::sin(x) : std::sinh(x) - x;
    }
    double term = x * x * x / 6.0;
    double sum = 0.0;
    for (int k = 4; k < 30 && std::abs(term) > 1e-18 * std::abs(sum); k += 2) {
        sum += term;
        term *= sign * x * x / (k * (k + 1));
    }
    return sum;
}

// Root of an increasing, convex function in [low, high]: Newton steps then converge from any start, from
// above after the first; the bracket keeps rounding and the first step in bounds.
template <class Function>
double bracketed_root(double low, double high, double start, const Function& function) {
    double x = start;
    for (int k = 0; k < 200; ++k) {
        double slope = 0.0;
        const double value = function(x, slope);
        (value > 0.0 ? high : low) = x;
        const double next = std::clamp(x - value / slope, low, high);
        if (std::abs(next - x) <= 2e-16 * std::abs(next)) {
            return next;
        }
        x = next;
    }
    return x;
}

struct Vector {
    double x, y, z;
};

Vector cross(const double (&a)[3], const double (&b)[3]) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

double dot(const double (&a)[3], const double (&b)[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void check_elements(const OrbitalElements& o, double mu) {
    const bool ellipse = o.eccentricity >= 0.0 && o.eccentricity < 1.0 && o.semi_major > 0.0;
    const bool hyperbola = o.eccentricity > 1.0 && o.semi_major < 0.0;
    if (!(ellipse || hyperbola) || !(mu > 0.0) || !std::isfinite(mu)) {
        throw Error({"elements are no orbit", "Kepler orbit",
                     "e in [0, 1) with a > 0, or e > 1 with a < 0; mass > 0",
                     "e = " + number_text(o.eccentricity) + ", a = " + number_text(o.semi_major) +
                         ", mu = " + number_text(mu),
                     ""});
    }
}

// Position and velocity in the orbit's plane, pericentre along x.
struct PlaneState {
    double x, y, vx, vy;
};

PlaneState plane_ellipse(const OrbitalElements& o, double mu) {
    const double anomaly = eccentric_anomaly(o.mean_anomaly, o.eccentricity);
    const double half = std::sin(0.5 * anomaly);
    const double room = 1.0 - o.eccentricity;
    const double minor = std::sqrt(room * (1.0 + o.eccentricity));
    const double radius = o.semi_major * (room + 2.0 * o.eccentricity * half * half);
    const double speed = std::sqrt(mu * o.semi_major) / radius;
    return {o.semi_major * (room - 2.0 * half * half), o.semi_major * minor * std::sin(anomaly),
            -speed * std::sin(anomaly), speed * minor * std::cos(anomaly)};
}

PlaneState plane_hyperbola(const OrbitalElements& o, double mu) {
    const double anomaly = hyperbolic_anomaly(o.mean_anomaly, o.eccentricity);
    const double half = std::sinh(0.5 * anomaly);
    const double room = o.eccentricity - 1.0;
    const double minor = std::sqrt(room * (1.0 + o.eccentricity));
    const double a = -o.semi_major;
    const double radius = a * (room + 2.0 * o.eccentricity * half * half);
    const double speed = std::sqrt(mu * a) / radius;
    return {a * (room - 2.0 * half * half), a * minor * std::sinh(anomaly), -speed * std::sinh(anomaly),
            speed * minor * std::cosh(anomaly)};
}

double angle_0_2pi(double angle) {
    const double wrapped = std::fmod(angle, 2.0 * pi);
    return wrapped < 0.0 ? wrapped + 2.0 * pi : wrapped;
}

double mean_anomaly_of(double energy_anomaly_sine, double energy_anomaly_cosine, double e) {
    const double anomaly = std::atan2(energy_anomaly_sine, energy_anomaly_cosine);
    return angle_0_2pi((1.0 - e) * anomaly + e * excess(anomaly, -1.0));
}

} // namespace

double eccentric_anomaly(double mean_anomaly, double e) {
    const double reduced = std::remainder(mean_anomaly, 2.0 * pi);
    const double target = std::abs(reduced);
    const auto kepler = [&](double x, double& slope) {
        const double half = std::sin(0.5 * x);
        slope = (1.0 - e) + 2.0 * e * half * half;
        return (1.0 - e) * x + e * excess(x, -1.0) - target;
    };
    const double high = std::min(pi, target + e);
    const double root =
        target == 0.0 ? 0.0 : bracketed_root(target, high, std::min(high, target + 0.85 * e), kepler);
    return std::copysign(root, reduced);
}

double hyperbolic_anomaly(double mean_anomaly, double e) {
    const double target = std::abs(mean_anomaly);
    const auto kepler = [&](double x, double& slope) {
        const double half = std::sinh(0.5 * x);
        slope = (e - 1.0) + 2.0 * e * half * half;
        return (e - 1.0) * std::sinh(x) + excess(x, 1.0) - target;
    };
    const double start = std::asinh(target / e); // a lower bound: e sinh H = M + H
    double high = start + 1.0;
    for (double slope = 0.0; kepler(high, slope) < 0.0;) {
        high += high;
    }
    const double root = target == 0.0 ? 0.0 : bracketed_root(start, high, high, kepler);
    return std::copysign(root, mean_anomaly);
}

double mean_motion(double semi_major, double mu) {
    const double a = std::abs(semi_major);
    return std::sqrt(mu / a) / a;
}

OrbitalState state_of(const OrbitalElements& o, double mu) {
    check_elements(o, mu);
    const PlaneState p = o.eccentricity < 1.0 ? plane_ellipse(o, mu) : plane_hyperbola(o, mu);
    const double cn = std::cos(o.node);
    const double sn = std::sin(o.node);
    const double cw = std::cos(o.pericentre);
    const double sw = std::sin(o.pericentre);
    const double ci = std::cos(o.inclination);
    const double si = std::sin(o.inclination);
    const double along[3] = {cn * cw - sn * sw * ci, sn * cw + cn * sw * ci, sw * si};
    const double across[3] = {-cn * sw - sn * cw * ci, -sn * sw + cn * cw * ci, cw * si};
    OrbitalState state;
    for (int k = 0; k < 3; ++k) {
        state.position[k] = p.x * along[k] + p.y * across[k];
        state.velocity[k] = p.vx * along[k] + p.vy * across[k];
    }
    return state;
}

OrbitalElements elements_of(const OrbitalState& s, double mu) {
    const Vector h = cross(s.position, s.velocity);
    const double h_length = std::hypot(h.x, h.y, h.z);
    const double radius = std::sqrt(dot(s.position, s.position));
    const double speed2 = dot(s.velocity, s.velocity);
    const double radial = dot(s.position, s.velocity); // r dr/dt
    const double inverse_a = 2.0 / radius - speed2 / mu;
    if (!(h_length > 0.0) || inverse_a == 0.0) {
        throw Error({"radial or parabolic orbit has no elements", "Kepler orbit", "", "", ""});
    }
    OrbitalElements o;
    o.semi_major = 1.0 / inverse_a;
    const double e_cosine = 1.0 - radius * inverse_a; // e cos E (e cosh H)
    const double e_sine = radial * std::sqrt(std::abs(inverse_a) / mu);
    const bool ellipse = inverse_a > 0.0;
    o.eccentricity =
        ellipse ? std::hypot(e_cosine, e_sine) : std::sqrt(e_cosine * e_cosine - e_sine * e_sine);
    o.inclination = std::atan2(std::hypot(h.x, h.y), h.z);
    o.node = h.x == 0.0 && h.y == 0.0 ? 0.0 : angle_0_2pi(std::atan2(h.x, -h.y));
    const double cn = std::cos(o.node);
    const double sn = std::sin(o.node);
    const double ci = std::cos(o.inclination);
    const double si = std::sin(o.inclination);
    const double toward_node = s.position[0] * cn + s.position[1] * sn;
    const double from_node = (s.position[1] * cn - s.position[0] * sn) * ci + s.position[2] * si;
    const double latitude = std::atan2(from_node, toward_node); // pericentre + true anomaly
    const double true_anomaly =
        o.eccentricity > 0.0 ? std::atan2(radial * h_length, h_length * h_length - mu * radius) : 0.0;
    o.pericentre = angle_0_2pi(latitude - true_anomaly);
    if (ellipse) {
        o.mean_anomaly = o.eccentricity > 0.0 ? mean_anomaly_of(e_sine, e_cosine, o.eccentricity) : 0.0;
        if (o.eccentricity == 0.0) {
            o.mean_anomaly = o.pericentre;
            o.pericentre = 0.0;
        }
    } else {
        const double anomaly = std::asinh(e_sine / o.eccentricity);
        o.mean_anomaly = (o.eccentricity - 1.0) * std::sinh(anomaly) + excess(anomaly, 1.0);
    }
    return o;
}

} // namespace graft::cli
