// Periodic boxes for tests: crystals, random charges, settings, and the oracle's field.
#pragma once

#include "ranks_scene.hpp"
#include "reference/ewald_sum.hpp"

namespace graft::pipeline::testing {

struct PeriodicBox {
    double edge[3] = {1, 1, 1}, lower[3] = {0, 0, 0}, tilt[3] = {0, 0, 0};
};

inline Settings periodic_settings(const PeriodicBox& box, Method method = Method::direct,
                                  Precision precision = Precision::fp64) {
    Settings s;
    s.method = method;
    s.precision = precision;
    s.interaction = Interaction::coulomb;
    s.threads = 1;
    s.theta = 0; // all pairs: what the lattice sum alone gives
    s.has_box = s.periodic = true;
    for (int a = 0; a < 3; ++a) {
        s.box_lower[a] = box.lower[a], s.box_upper[a] = box.lower[a] + box.edge[a];
        s.box_tilt[a] = box.tilt[a];
    }
    return s;
}

inline void add(Cloud& cloud, double x, double y, double z, double q) {
    cloud.x.push_back(x), cloud.y.push_back(y), cloud.z.push_back(z), cloud.q.push_back(q);
    cloud.softening.push_back(0.01);
}

/// Random charges in the box, +-1 alternating or all +1.
inline Cloud random_charges(const PeriodicBox& box, int64_t n, bool neutral = true, unsigned seed = 7) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform;
    Cloud cloud;
    for (int64_t i = 0; i < n; ++i) {
        const double a = uniform(random), b = uniform(random), c = uniform(random);
        add(cloud, box.lower[0] + a * box.edge[0] + b * box.tilt[0] + c * box.tilt[1],
            box.lower[1] + b * box.edge[1] + c * box.tilt[2], box.lower[2] + c * box.edge[2],
            neutral && i % 2 != 0 ? -1 : (neutral ? 1 : 0.5 + 0.5 * uniform(random)));
    }
    return cloud;
}

inline Results compute_periodic(const Cloud& cloud, const Settings& settings, const Choice& choice = {}) {
    return compute_over(1, cloud, all_on(cloud, 0), settings, choice);
}

/// The message of a computation that is refused; empty: it was not.
inline std::string refusal(const Cloud& cloud, const Settings& settings) {
    try {
        compute_periodic(cloud, settings);
    } catch (const core::Error& error) {
        return error.what();
    }
    return "";
}

/// What the oracle says, with Coulomb's signs.
inline Results oracle(const Cloud& cloud, const Settings& s, double reach = 0, const Cloud* points = nullptr,
                      bool lengths = false) {
    const Cloud& at = points != nullptr ? *points : cloud;
    const auto n = at.x.size();
    Results r;
    for (std::vector<double>* values : {&r.ax, &r.ay, &r.az, &r.potential})
        values->assign(n, 0);
    reference::Cell cell{{{s.box_upper[0] - s.box_lower[0], 0, 0},
                          {s.box_tilt[0], s.box_upper[1] - s.box_lower[1], 0},
                          {s.box_tilt[1], s.box_tilt[2], s.box_upper[2] - s.box_lower[2]}}};
    const reference::Points sources{cloud.size(), cloud.x.data(), cloud.y.data(), cloud.z.data(),
                                    lengths ? cloud.softening.data() : nullptr};
    const reference::Points targets{at.size(), at.x.data(), at.y.data(), at.z.data(),
                                    lengths ? at.softening.data() : nullptr};
    const double sign = s.interaction == Interaction::coulomb ? 1 : -1;
    reference::ewald_sum(cell, sources, cloud.q.data(), targets,
                         static_cast<reference::Softening>(s.softening), s.softening_length, reach, 1,
                         {r.ax.data(), r.ay.data(), r.az.data(), r.potential.data()},
                         points != nullptr ? nullptr : &r.energy, points != nullptr ? nullptr : r.virial);
    for (size_t i = 0; i < n; ++i)
        r.ax[i] *= -sign, r.ay[i] *= -sign, r.az[i] *= -sign, r.potential[i] *= sign;
    r.energy *= sign;
    for (double& v : r.virial)
        v *= -sign;
    return r;
}

/// rms of a - b over rms of b.
inline double rms_error(const Results& a, const Results& b) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < b.ax.size(); ++i) {
        const double x = a.ax[i] - b.ax[i], y = a.ay[i] - b.ay[i], z = a.az[i] - b.az[i];
        difference += x * x + y * y + z * z;
        size += b.ax[i] * b.ax[i] + b.ay[i] * b.ay[i] + b.az[i] * b.az[i];
    }
    return std::sqrt(difference / size);
}

/// Actions and reactions cancel, to rounding.
inline void expect_no_net_force(const Cloud& cloud, const Results& r) {
    double net[3] = {0, 0, 0}, size = 0;
    for (size_t i = 0; i < cloud.x.size(); ++i) {
        net[0] += cloud.q[i] * r.ax[i], net[1] += cloud.q[i] * r.ay[i], net[2] += cloud.q[i] * r.az[i];
        size += std::abs(cloud.q[i]) * size_of(r, i);
    }
    for (const double force : net)
        EXPECT_LT(std::abs(force), 1e-12 * size) << "net force";
}

/// Masses attract each other as charges of their size repel each other.
inline void expect_opposite_gravity(const Cloud& cloud, Settings settings, const Results& coulomb) {
    settings.interaction = Interaction::gravity;
    Results r = compute_periodic(cloud, settings);
    for (std::vector<double>* axis : {&r.ax, &r.ay, &r.az})
        for (double& value : *axis)
            value = -value;
    EXPECT_LT(rms_error(r, coulomb), 1e-12) << "gravity";
}

} // namespace graft::pipeline::testing
