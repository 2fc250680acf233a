// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes for tests: crystals, random charges, settings, and the oracle's field.
#pragma once

#include "periodic_box.hpp"
#include "../engine/ranks_scene.hpp"

namespace graft::engine::testing {

using test::periodic_settings;
using test::PeriodicBox;
using test::random_charges;
using test::rms_error;

inline Results compute_periodic(const Cloud& cloud, const settings::Settings& settings, const Choice& choice = {}) {
    return compute_over(1, cloud, all_on(cloud, 0), settings, choice);
}

/// Particles 0, step, 2 step ... alone, without the virial, which wants all.
inline Choice every(int64_t step, const Cloud& cloud) {
    Choice choice;
    choice.virial = false;
    for (int64_t i = 0; i < cloud.size(); ++i)
        choice.active.push_back(i % step == 0);
    return choice;
}

/// The field at points of rank 0.
inline Choice field_at(const Cloud& points) {
    Choice choice;
    choice.points = &points;
    choice.point_owners = all_on(points, 0);
    return choice;
}

/// The message of a computation that is refused; empty: it was not.
inline std::string refusal(const Cloud& cloud, const settings::Settings& settings) {
    try {
        compute_periodic(cloud, settings);
    } catch (const core::Error& error) {
        return error.what();
    }
    return "";
}

/// What the oracle says, with Coulomb's signs.
inline Results oracle(const Cloud& cloud, const settings::Settings& s, double reach = 0, const Cloud* points = nullptr,
                      bool lengths = false) {
    return test::ewald_field<Results>(cloud, s, reach, points, lengths);
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

/// One sum, whoever has its particles, to rounding.
inline void expect_same_over_ranks(const Cloud& cloud, const settings::Settings& settings) {
    const Results one = compute_periodic(cloud, settings);
    for (const int ranks : {2, 3}) {
        const Results r = compute_over(ranks, cloud, scattered(cloud, ranks), settings);
        EXPECT_LT(rms_error(r, one), 1e-12) << ranks;
        EXPECT_NEAR(r.energy / one.energy, 1, 1e-12) << ranks;
    }
}

/// Masses attract each other as charges of their size repel each other.
inline void expect_opposite_gravity(const Cloud& cloud, settings::Settings settings, const Results& coulomb) {
    settings.interaction = settings::Interaction::gravity;
    Results r = compute_periodic(cloud, settings);
    for (std::vector<double>* axis : {&r.ax, &r.ay, &r.az})
        for (double& value : *axis)
            value = -value;
    EXPECT_LT(rms_error(r, coulomb), 1e-12) << "gravity";
}

} // namespace graft::engine::testing
