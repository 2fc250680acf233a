// SPDX-License-Identifier: BSD-3-Clause
// Periodic boxes over ranks with GPUs, in process as in ranks_force_test.cu: against one process on the CPU.
#include "../../unit/periodic/periodic_scene.hpp"

#include "library_fixture.hpp"

#include "small.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;
using namespace graft::engine::testing;
using graft::test::small_inputs;
using graft::test::test_size;

class GpuRanksBox : public graft::test::LibraryTest {};

const PeriodicBox tilted{{1, 1, 1.2}, {-3, 2, 10}, {0.4, -0.3, 0.5}},
    plane{{1, 1.3, 0.6}, {0, 0, 0}, {0.3, 0, 0}};

Settings on_gpu(Settings s) {
    s.backend = Backend::cuda;
    return s;
}

void expect_like(const Results& gpu, const Results& cpu, const std::string& what) {
    EXPECT_LT(rms_error(gpu, cpu), 2e-12) << what;
    double largest = 0, difference = 0;
    for (size_t i = 0; i < cpu.potential.size(); ++i) {
        largest = std::max(largest, std::abs(cpu.potential[i]));
        difference = std::max(difference, std::abs(gpu.potential[i] - cpu.potential[i]));
    }
    EXPECT_LT(difference, 1e-11 * largest) << what;
    EXPECT_NEAR(gpu.energy, cpu.energy, 4e-11 * std::abs(cpu.energy)) << what;
    for (int c = 0; c < 6; ++c)
        EXPECT_NEAR(gpu.virial[c], cpu.virial[c], 1e-10 * std::abs(cpu.energy)) << what << " virial " << c;
}

TEST_F(GpuRanksBox, IsTheSumOfOneProcess) {
    for (const bool neutral : {true, false}) {
        if (small_inputs() && neutral)
            continue;
        const Cloud cloud = random_charges(tilted, test_size(1200, 150), neutral);
        const Settings s = periodic_settings(tilted, Method::direct);
        const Results one = compute_periodic(cloud, s), alone = compute_periodic(cloud, on_gpu(s));
        expect_like(alone, one, "one process");
        for (const int ranks : {1, 2, 3, 4}) {
            if (small_inputs() && ranks != 3)
                continue;
            const std::string what = std::to_string(ranks) + " ranks";
            const Results gpu = compute_over(ranks, cloud, bisection(cloud, ranks), on_gpu(s));
            expect_like(gpu, one, what);
            EXPECT_LT(rms_error(gpu, alone), 1e-12) << what;
            expect_like(compute_over(ranks, cloud, scattered(cloud, ranks), on_gpu(s)), one,
                        what + " scattered");
            EXPECT_STREQ(gpu.reports[static_cast<size_t>(ranks) - 1].backend, "gpu");
        }
        expect_like(compute_over(3, cloud, all_on(cloud, 1), on_gpu(s)), one, "all on rank 1");
        expect_like(compute_over(3, cloud, bisection(cloud, 3), s), one, "the CPU over ranks");
    }
}

/// Long boxes and a short cut-off: a rank needs what is near its faces, across the box's ends, too.
TEST_F(GpuRanksBox, OnlyWhatIsNearTravels) {
    const PeriodicBox boxes[] = {{{3, 1, 1}, {-1, 5, 0}, {0, 0, 0}},
                                 {{1, 1, 3}, {0, 0, 2}, {0.2, -0.3, 0.4}}};
    for (const PeriodicBox& box : boxes) {
        if (small_inputs() && &box != boxes)
            continue;
        const Cloud cloud = random_charges(box, test_size(1500, 400));
        Settings s = periodic_settings(box, Method::direct);
        s.ewald_alpha = 20, s.ewald_accuracy = 1e-11;
        const Results one = compute_periodic(cloud, s);
        for (const int ranks : {2, 3, 4}) {
            if (small_inputs() && ranks != 3)
                continue;
            const Results gpu = compute_over(ranks, cloud, bisection(cloud, ranks), on_gpu(s));
            EXPECT_LT(rms_error(gpu, one), 1e-10) << ranks;
            for (const Report& report : gpu.reports) {
                EXPECT_LT(report.ranks.particles, cloud.size() - cloud.size() / ranks) << ranks;
                EXPECT_GT(report.ranks.particles, 50) << ranks;
            }
        }
    }
}

TEST_F(GpuRanksBox, SmallestForSanitizers) {
    const Cloud cloud = random_charges(plane, 150, false);
    Settings s = periodic_settings(plane, Method::direct);
    s.ewald_accuracy = 1e-6;
    const Results one = compute_periodic(cloud, s);
    EXPECT_LT(rms_error(compute_over(2, cloud, bisection(cloud, 2), on_gpu(s)), one), 1e-5);
    s.open_axis = 2, s.precision = Precision::mixed;
    const Results slab = compute_periodic(cloud, s);
    EXPECT_LT(rms_error(compute_over(3, cloud, all_on(cloud, 1), on_gpu(s)), slab), 1e-5);
}

TEST_F(GpuRanksBox, ForcesAddUpToZero) {
    const Cloud cloud = random_charges(tilted, test_size(1200, 150), false);
    Settings s = periodic_settings(tilted, Method::direct);
    s.ewald_accuracy = 1e-4, s.precision = Precision::mixed, s.conserve_momentum = true;
    Settings free = s;
    free.conserve_momentum = false;
    for (const int ranks : {1, 3})
        for (const bool one_owns_all : {false, true}) {
            const Owners owners = one_owns_all ? all_on(cloud, 0) : bisection(cloud, ranks);
            const Results with = compute_over(ranks, cloud, owners, on_gpu(s)),
                          without = compute_over(ranks, cloud, owners, on_gpu(free));
            EXPECT_LT(net_force(cloud, with), 3e-15) << ranks << " ranks";
            EXPECT_GT(net_force(cloud, without), 1e-12) << "there was nothing to take off";
            EXPECT_LT(rms_error(with, without), 1e-3) << ranks << " ranks";
            EXPECT_NEAR(with.energy, without.energy, 1e-12 * std::abs(without.energy));
            for (int c = 0; c < 6; ++c)
                EXPECT_NEAR(with.virial[c], without.virial[c], 1e-12 * std::abs(without.energy)) << c;
        }
}

TEST_F(GpuRanksBox, SlabsAndSoftening) {
    const Cloud cloud = random_charges(plane, test_size(900, 125), false);
    Settings slab = periodic_settings(plane, Method::direct);
    slab.open_axis = 2;
    expect_like(compute_over(3, cloud, bisection(cloud, 3), on_gpu(slab)), compute_periodic(cloud, slab),
                "slab");
    Choice each;
    each.softening = true;
    Cloud soft = cloud;
    for (size_t i = 0; i < soft.x.size();
         ++i) // the largest one is planned as it is: the cut-offs are the same
        soft.softening[i] = static_cast<double>(1 + i % 5) / 5 / 32;
    for (const Softening kind : {Softening::spline, Softening::plummer}) {
        Settings s = periodic_settings(plane, Method::tree);
        s.softening = kind, s.softening_length = 0.05, s.ewald_alpha = 11;
        const std::string what = "kind " + std::to_string(static_cast<int>(kind));
        expect_like(compute_over(3, soft, bisection(soft, 3), on_gpu(s)), compute_periodic(soft, s), what);
        expect_like(compute_over(4, soft, bisection(soft, 4), on_gpu(s), each),
                    compute_periodic(soft, s, each), what + " each");
    }
}

TEST_F(GpuRanksBox, PointsSubsetsPrecisionAndBits) {
    const Cloud cloud = random_charges(tilted, test_size(2000, 250));
    Settings s = periodic_settings(tilted, Method::direct);
    const Cloud points = random_charges(tilted, 100, true, 5);
    Choice at = field_at(points);
    const Results here = compute_periodic(cloud, s, at);
    at.point_owners = bisection(points, 3);
    EXPECT_LT(rms_error(compute_over(3, cloud, bisection(cloud, 3), on_gpu(s), at), here), 2e-12);
    at.point_owners = all_on(points, 0); // which has no particles
    EXPECT_LT(rms_error(compute_over(3, cloud, all_on(cloud, 2), on_gpu(s), at), here), 2e-12);
    const Results nothing = compute_over(2, Cloud(), Owners(), on_gpu(s), at); // no particles anywhere
    for (size_t i = 0; i < points.x.size(); ++i)
        EXPECT_EQ(std::abs(nothing.ax[i]) + std::abs(nothing.potential[i]), 0) << i;
    const Choice some = every(5, cloud);
    const Results active = compute_periodic(cloud, s, some),
                  gpu = compute_over(2, cloud, bisection(cloud, 2), on_gpu(s), some);
    for (size_t i = 0; i < cloud.x.size(); i += 5)
        EXPECT_NEAR(gpu.ax[i], active.ax[i], 1e-8 * std::abs(active.ax[i]) + 1e-7) << i;
    const Results exact = compute_periodic(cloud, s);
    s.precision = Precision::mixed;
    const Results mixed = compute_over(3, cloud, bisection(cloud, 3), on_gpu(s));
    const double of_cpu = rms_error(compute_over(3, cloud, bisection(cloud, 3), s), exact);
    std::printf("mixed: error %.2g over ranks, the CPU's %.2g\n", rms_error(mixed, exact), of_cpu);
    EXPECT_LT(rms_error(mixed, exact), std::max(2e-6, 1.5 * of_cpu));
    EXPECT_EQ(compute_over(3, cloud, bisection(cloud, 3), on_gpu(s)).ax, mixed.ax);
}

TEST_F(GpuRanksBox, TheLongRangePartAlone) {
    const Cloud cloud = random_charges(tilted, test_size(900, 120), false);
    for (const bool slab : {false, true}) {
        Settings s = periodic_settings(tilted, Method::direct);
        s.ewald_part = EwaldPart::long_range, s.ewald_alpha = 9, s.open_axis = slab ? 2 : -1, s.ewald_accuracy = 1e-13;
        if (slab)
            s.box_tilt[1] = s.box_tilt[2] = 0;
        const Results one = compute_periodic(cloud, s);
        for (const int ranks : {2, 3})
            expect_like(compute_over(ranks, cloud, bisection(cloud, ranks), on_gpu(s)), one, "long range");
        const Choice some = every(5, cloud);
        const Results of_some = compute_over(2, cloud, bisection(cloud, 2), on_gpu(s), some);
        for (size_t i = 0; i < cloud.x.size(); i += 5)
            EXPECT_NEAR(of_some.potential[i], one.potential[i], 1e-9 * std::abs(one.potential[i]) + 1e-9) << i;
    }
}

/// A pair that single precision does not resolve, on two ranks and across a face: all ranks change to double.
TEST_F(GpuRanksBox, ClosePairsInSinglePrecision) {
    Cloud cloud = random_charges(PeriodicBox{}, test_size(1200, 151));
    const size_t first = cloud.x.size();
    test::add(cloud, 0x1p-43, 0.5, 0.25, 1), test::add(cloud, 1 - 0x1p-43, 0.5, 0.25, -1);
    Owners owners = bisection(cloud, 3);
    owners[first] = 0, owners[first + 1] = 2;
    const Results exact = compute_periodic(cloud, periodic_settings(PeriodicBox{}, Method::direct));
    for (const Precision precision : {Precision::fp32, Precision::mixed}) {
        const Results found =
            compute_over(3, cloud, owners, on_gpu(periodic_settings(PeriodicBox{}, Method::direct, precision)));
        for (const size_t i : {first, first + 1})
            EXPECT_NEAR(found.ax[i] / exact.ax[i], 1, 1e-6) << i;
        EXPECT_LT(rms_error(found, exact), 1e-6);
    }
}

/// Particles that keep their ranks, leave the box and return on the other side; a slab drifts and widens.
TEST_F(GpuRanksBox, MovingParticlesAreFollowed) {
    constexpr int ranks = 3, calls = 4;
    for (const bool is_slab : {false, true}) {
        Settings s = periodic_settings(plane, Method::direct);
        s.open_axis = is_slab ? 2 : -1;
        const Cloud first = random_charges(plane, test_size(700, 100));
        std::vector<Cloud> at(calls, first);
        for (int call = 0; call < calls; ++call)
            for (size_t i = 0; i < first.x.size(); ++i) {
                const double t = call, k = static_cast<double>(i % 11) - 5;
                at[static_cast<size_t>(call)].x[i] += 0.11 * t * k;
                at[static_cast<size_t>(call)].y[i] -= 0.07 * t * k;
                at[static_cast<size_t>(call)].z[i] += is_slab ? 0.3 * t + 0.02 * t * k : 0.05 * t * k;
            }
        const Owners owners = bisection(first, ranks);
        std::vector<Results> found(calls);
        for (Results& r : found)
            for (std::vector<double>* values : {&r.ax, &r.ay, &r.az, &r.potential})
                values->assign(first.x.size(), 0);
        graft::test::run_ranks(ranks, [&](comm::Communicator& comm) {
            core::Memory memory;
            Solver solver(on_gpu(s), memory);
            solver.change_settings().threads = 1;
            solver.set_communicator(&comm);
            for (size_t call = 0; call < calls; ++call) {
                std::vector<double> own[4], out[4], energy(1);
                std::vector<size_t> index;
                for (size_t i = 0; i < first.x.size(); ++i)
                    if (const Cloud& now = at[call]; owners[i] == comm.rank()) {
                        index.push_back(i);
                        own[0].push_back(now.x[i]), own[1].push_back(now.y[i]), own[2].push_back(now.z[i]);
                        own[3].push_back(now.q[i]);
                    }
                ParticleInput input;
                Outputs outputs;
                input.n = static_cast<int64_t>(index.size());
                input.charge = view(own[3]), outputs.energy = view(energy);
                for (int c = 0; c < 4; ++c)
                    out[c].assign(index.size(), 0);
                for (int a = 0; a < 3; ++a)
                    input.position[a] = view(own[a]), outputs.acceleration[a] = view(out[a]);
                outputs.potential = view(out[3]);
                solver.compute(input, outputs);
                Results& r = found[call];
                for (size_t k = 0; k < index.size(); ++k) {
                    r.ax[index[k]] = out[0][k], r.ay[index[k]] = out[1][k], r.az[index[k]] = out[2][k];
                    r.potential[index[k]] = out[3][k];
                }
                if (comm.rank() == 0)
                    r.energy = energy[0];
            }
        });
        for (size_t call = 0; call < calls; ++call) {
            const Results expected = compute_periodic(at[call], s);
            EXPECT_LT(rms_error(found[call], expected), 2e-12) << is_slab << " call " << call;
            EXPECT_NEAR(found[call].energy, expected.energy, 4e-11 * std::abs(expected.energy));
        }
    }
}

/// Everything that ranks say of a computation of the box.
std::string said(int ranks, const Cloud& cloud, const Settings& s) {
    std::string text;
    std::mutex mutex;
    graft::test::run_ranks(ranks, [&](comm::Communicator& comm) {
        core::Memory memory;
        Solver solver(s, memory);
        solver.change_settings().threads = 1;
        struct Heard {
            std::string& text;
            std::mutex& mutex;
        } heard{text, mutex};
        solver.log().level = core::LogLevel::info, solver.log().user = &heard;
        solver.log().callback = [](void* user, int32_t, const char* line) {
            Heard& to = *static_cast<Heard*>(user);
            const std::lock_guard<std::mutex> lock(to.mutex);
            to.text += std::string(line) + "\n";
        };
        solver.set_communicator(&comm);
        const Owners owners = bisection(cloud, ranks);
        std::vector<double> own[4], out;
        for (size_t i = 0; i < cloud.x.size(); ++i)
            if (owners[i] == comm.rank()) {
                own[0].push_back(cloud.x[i]), own[1].push_back(cloud.y[i]), own[2].push_back(cloud.z[i]);
                own[3].push_back(cloud.q[i]), out.push_back(0);
            }
        ParticleInput input;
        Outputs outputs;
        input.n = static_cast<int64_t>(out.size());
        input.charge = view(own[3]), outputs.acceleration[0] = view(out);
        for (int a = 0; a < 3; ++a)
            input.position[a] = view(own[a]);
        for (int call = 0; call < 2; ++call) // what does not change is said once
            solver.compute(input, outputs);
    });
    return text;
}

TEST_F(GpuRanksBox, TheBackgroundIsSaidAsTheCpuSaysIt) {
    for (const Precision precision : {Precision::fp64, Precision::mixed})
        for (const bool neutral : {true, false}) {
            if (small_inputs() && neutral == (precision == Precision::fp64))
                continue;
            const Cloud cloud = random_charges(tilted, test_size(1500, 150), neutral);
            const Settings s = periodic_settings(tilted, Method::direct, precision);
            const std::string cpu = said(1, cloud, s);
            const size_t words = cpu.find("; the net charge");
            EXPECT_EQ(words == std::string::npos, neutral) << cpu;
            for (const int ranks : {1, 3}) {
                const std::string gpu = said(ranks, cloud, on_gpu(s));
                EXPECT_NE(gpu.find("periodic box: alpha"), std::string::npos) << gpu;
                EXPECT_EQ(gpu.find("periodic box: alpha"), gpu.rfind("periodic box: alpha")) << gpu;
                if (neutral)
                    EXPECT_EQ(gpu.find("background"), std::string::npos) << gpu;
                else
                    EXPECT_NE(gpu.find(cpu.substr(words)), std::string::npos) << gpu << cpu;
            }
        }
}

TEST_F(GpuRanksBox, WhatGpusDoNotSumIsRefusedOrTheCpus) {
    const Cloud cloud = random_charges(plane, 9000);
    for (const bool wire : {true, false}) {
        Settings s = periodic_settings(plane, Method::tree);
        wire ? void(s.wire_axis = 2) : void(s.lattice_sum = settings::LatticeSum::replicas);
        s.box_tilt[0] = 0, s.ewald_accuracy = 1e-3, s.theta = 0.6, s.precision = Precision::mixed;
        try {
            (void)compute_over(2, cloud, bisection(cloud, 2), on_gpu(s));
            ADD_FAILURE() << "computed";
        } catch (const core::Error& error) {
            EXPECT_NE(std::string(error.what()).find(wire ? "a wire" : "replicas"), std::string::npos)
                << error.what();
        }
        s.backend = Backend::auto_;
        EXPECT_STREQ(compute_over(2, cloud, bisection(cloud, 2), s).reports[1].backend, "cpu");
    }
    int32_t devices = 0;
    backend::DeviceError error;
    backend::raise(backend::require_cuda().device_count(&devices, &error), error);
    Settings s = periodic_settings(plane, Method::direct, Precision::mixed);
    s.backend = Backend::auto_, s.ewald_accuracy = 1e-5;
    EXPECT_STREQ(compute_over(2, cloud, bisection(cloud, 2), s).reports[0].backend,
                 devices >= 2 ? "gpu" : "cpu"); // one GPU for two ranks: backend gpu asks for that
}

} // namespace
