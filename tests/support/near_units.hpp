// SPDX-License-Identifier: BSD-3-Clause
// Near fields in any unit of length and charge: what the pairs' arithmetic could not hold is put into units
// of its own, which must not be seen. One body for the host and for GPUs.
#pragma once

#include "near_scene.hpp"

namespace graft::test {

/// Makes a plan of the scene's request and executes it.
using NearRun = std::function<void(NearScene&)>;

/// Potentials times the unit of length, then gradients times its square.
inline std::vector<double> without_unit(const NearScene& scene, double unit) {
    std::vector<double> all;
    for (const NearScene::Column& component : scene.potential)
        for (const double phi : component)
            all.push_back(phi * unit);
    for (const auto& component : scene.gradient)
        for (const NearScene::Column& axis : component)
            for (const double slope : axis)
                all.push_back(slope * unit * unit);
    return all;
}

/// The same points in kiloparsecs, metres or femtometres: the same bits but for the unit, although 1/r^3 is
/// no number of the pairs' type in most of them.
inline void any_unit_of_length_gives_the_same_bits(const NearRun& run) {
    struct Asked {
        near::Kernel kernel;
        double softening, wave_number;
    };
    for (const Asked& asked : {Asked{near::Kernel::laplace, 0, 0}, Asked{near::Kernel::laplace, 0.25, 0},
                               Asked{near::Kernel::yukawa, 0, 3}, Asked{near::Kernel::helmholtz, 0, 3}})
        for (const near::Precision precision :
             {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64}) {
            const bool wide = precision == near::Precision::fp64;
            std::vector<double> first;
            for (const double unit :
                 {1.0, std::ldexp(1, wide ? -300 : -53), std::ldexp(1, wide ? 450 : 55)}) {
                NearScene scene(400, 300, 3, 2);
                near::Sums& sums = scene.request.sums;
                sums.kernel = {asked.kernel, 1.5, asked.softening * unit, asked.wave_number / unit, {}};
                sums.precision = precision;
                sums.outputs = near::potential | near::gradient;
                scene.request.options.layout = static_cast<int32_t>(near::Layout::tiled);
                scene.multiply(unit);
                run(scene);
                const std::vector<double> found = without_unit(scene, unit);
                if (first.empty())
                    first = found;
                EXPECT_EQ(found, first) << "kernel " << static_cast<int>(asked.kernel) << ", precision "
                                        << static_cast<int>(precision) << ", unit " << unit;
                if (unit == 1 && asked.kernel != near::Kernel::yukawa && asked.softening == 0)
                    scene.expect_close("in its own unit");
            }
        }
}

/// A charge times 1/r^3 is no number of single precision between solar masses in kg that are close; the
/// gradients are.
inline void large_and_small_charges_have_their_gradients(const NearRun& run) {
    for (const near::Precision precision : {near::Precision::fp32, near::Precision::mixed})
        for (int32_t layout = 0; layout < near::layouts; ++layout)
            for (const double mass : {2e30, 1e-32})
                for (const near::Kernel kernel : {near::Kernel::laplace, near::Kernel::helmholtz}) {
                    const bool waves = kernel == near::Kernel::helmholtz;
                    NearScene scene(100, 0, 3, 2);
                    const auto first = static_cast<size_t>(scene.index[0][0]),
                               second = static_cast<size_t>(scene.index[0][1]);
                    for (NearScene::Column& axis : scene.coordinate[0])
                        axis[first] = axis[second] = 0;
                    scene.coordinate[0][0][second] = std::ldexp(1, -17);
                    scene.coordinate[1] = scene.coordinate[0]; // the plain loop's
                    for (double& q : scene.charge[0])
                        q *= mass;
                    for (double& q : scene.charge[1])
                        q *= waves ? mass : 1;
                    scene.request.sums.kernel.kernel = kernel;
                    scene.request.sums.kernel.wave_number = waves ? 2 : 0;
                    scene.request.sums.precision = precision;
                    scene.request.sums.outputs = near::potential | near::gradient;
                    scene.request.options.layout = layout;
                    run(scene);
                    scene.expect_close("at 2^-17, layout " + std::to_string(layout));
                }
}

/// Small charges that are far apart and large ones that are close, in units of 2^length and 2^charge: the
/// same bits but for the units, although a charge over the cube of a distance leaves the range in most of
/// them.
inline void any_unit_of_charge_gives_the_same_bits(const NearRun& run) {
    struct Units {
        int length, charge;
    };
    const std::vector<Units> narrow{{0, 0}, {11, -39}, {34, -39}, {36, -20}, {-53, 126}, {0, -900}},
        wide{{0, 0}, {99, -590}, {299, -300}, {-99, 590}, {-199, 590}};
    for (const near::Precision precision :
         {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64})
        for (const near::Kernel kernel : {near::Kernel::laplace, near::Kernel::helmholtz}) {
            std::vector<double> first;
            for (const Units& units : precision == near::Precision::fp64 ? wide : narrow) {
                NearScene scene(200, 150, 3, 2);
                scene.request.sums.kernel.kernel = kernel;
                scene.request.sums.kernel.wave_number =
                    kernel == near::Kernel::helmholtz ? std::ldexp(3, -units.length) : 0;
                scene.request.sums.precision = precision;
                scene.request.sums.outputs = near::potential | near::gradient;
                scene.multiply(std::ldexp(1, units.length));
                for (NearScene::Column& component : scene.charge)
                    for (double& q : component)
                        q = std::ldexp(q, units.charge);
                run(scene);
                std::vector<double> found = without_unit(scene, std::ldexp(1, units.length));
                for (double& value : found)
                    value = std::ldexp(value, -units.charge);
                if (first.empty())
                    first = found;
                EXPECT_EQ(found, first)
                    << "kernel " << static_cast<int>(kernel) << ", precision " << static_cast<int>(precision)
                    << ", lengths 2^" << units.length << ", charges 2^" << units.charge;
            }
        }
}

/// Points closer than the pairs' arithmetic tells apart have the sums of coincident ones, not infinite
/// gradients.
inline void points_that_are_too_close_count_as_coincident(const NearRun& run) {
    for (const near::Precision precision :
         {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64})
        for (int32_t layout = 0; layout < near::layouts; ++layout)
            for (const near::Kernel kernel :
                 {near::Kernel::laplace, near::Kernel::yukawa, near::Kernel::helmholtz}) {
                NearScene scene(100, 0, 3, 2);
                scene.request.sums.kernel.kernel = kernel;
                scene.request.sums.kernel.wave_number = kernel == near::Kernel::laplace ? 0 : 2;
                scene.request.sums.precision = precision;
                scene.request.sums.outputs = near::potential | near::gradient;
                scene.request.options.layout = layout;
                const auto first = static_cast<size_t>(scene.index[0][0]),
                           second = static_cast<size_t>(scene.index[0][1]);
                std::vector<std::vector<double>> found;
                for (const double distance : {0.0, precision == near::Precision::fp64 ? 1e-110 : 1e-16}) {
                    for (NearScene::Column& axis : scene.coordinate[0])
                        axis[first] = axis[second] = 0;
                    scene.coordinate[0][0][second] = distance;
                    run(scene);
                    found.push_back(without_unit(scene, 1));
                }
                for (size_t k = 0; k < found[0].size(); ++k)
                    ASSERT_NEAR(found[1][k], found[0][k], 1e-5 * std::abs(found[0][k]) + 1e-6)
                        << "layout " << layout << ", precision " << static_cast<int>(precision) << ", kernel "
                        << static_cast<int>(kernel);
            }
}

/// A softening so short that 1/eps^3 is no number of the pairs' type: coincident points then add nothing.
inline void softening_too_short_to_be_seen_counts_as_none(const NearRun& run) {
    for (const near::Precision precision :
         {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64}) {
        NearScene scene(100, 0, 3);
        const auto& slots = scene.index[0];
        for (auto& axis : scene.coordinate[0]) // two of one box, or of two that touch
            axis[static_cast<size_t>(slots[1])] = axis[static_cast<size_t>(slots[0])];
        scene.request.sums.precision = precision;
        scene.request.sums.outputs = near::potential | near::gradient;
        run(scene);
        const std::vector<double> without = without_unit(scene, 1);
        scene.request.sums.kernel.softening = precision == near::Precision::fp64 ? 1e-110 : 1e-18;
        run(scene);
        EXPECT_EQ(without_unit(scene, 1), without) << static_cast<int>(precision);
        for (const double value : without)
            EXPECT_TRUE(std::isfinite(value));
    }
}

/// By a new plan, and by one that has coordinates, which it keeps.
inline void phases_that_are_lost_are_refused(settings::Backend backend, double slack) {
    core::Memory memory;
    const core::Log log;
    for (const near::Precision precision :
         {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64}) {
        NearScene scene(60, 0, 3, 2);
        scene.slack = slack;
        scene.request.sums.kernel.kernel = near::Kernel::helmholtz;
        scene.request.sums.precision = precision;
        scene.request.options.layout = static_cast<int32_t>(near::Layout::tiled);
        scene.request.options.backend = backend;
        const double most = precision == near::Precision::fp64 ? 1e15 : 3e6;
        const auto expect_refused = [](const std::function<void()>& call) {
            try {
                call();
                ADD_FAILURE() << "taken";
            } catch (const core::Error& error) {
                EXPECT_EQ(error.status(), core::Status::argument);
                EXPECT_NE(std::string(error.what()).find("where phases are lost"), std::string::npos)
                    << error.what();
            }
        };
        scene.request.sums.kernel.wave_number = 2 * most;
        expect_refused([&] { near::NearPlan lost(memory, log, scene.request); });
        scene.request.sums.kernel.wave_number = most;
        near::NearPlan plan(memory, log, scene.request);
        const auto before = scene.coordinate;
        scene.multiply(2);
        expect_refused([&] { plan.update(scene.request.points); });
        scene.coordinate = before;
        plan.execute(scene.sums());
        scene.expect_close("the longest phases");
    }
}

inline void new_coordinates_may_be_in_another_unit(settings::Backend backend) {
    core::Memory memory;
    const core::Log log;
    NearScene scene(400, 0, 3);
    scene.request.sums.precision = near::Precision::fp32;
    scene.request.sums.outputs = near::potential | near::gradient;
    scene.request.sums.kernel.softening = 1e-3;
    scene.request.options.backend = backend;
    scene.request.options.layout = static_cast<int32_t>(near::Layout::replicated);
    near::NearPlan plan(memory, log, scene.request);
    for (const double factor : {1.0, std::ldexp(1, 45), std::ldexp(1, -90), std::ldexp(1, 40)}) {
        scene.multiply(factor);
        plan.update(scene.request.points);
        plan.execute(scene.sums());
        const std::vector<double> updated = without_unit(scene, 1);
        near::NearPlan anew(memory, log, scene.request);
        anew.execute(scene.sums());
        EXPECT_EQ(updated, without_unit(scene, 1)) << factor;
        for (const double value : updated)
            EXPECT_TRUE(std::isfinite(value)) << factor;
    }
}

inline void expect_all_near_units(const NearRun& run) {
    any_unit_of_length_gives_the_same_bits(run);
    any_unit_of_charge_gives_the_same_bits(run);
    large_and_small_charges_have_their_gradients(run);
    points_that_are_too_close_count_as_coincident(run);
    softening_too_short_to_be_seen_counts_as_none(run);
}

} // namespace graft::test
