// SPDX-License-Identifier: BSD-3-Clause
// Ranks with a GPU and ranks without in one computation, in process as in ranks_force_test.cu: against all pairs, and the
// same ranks on CPUs alone. Without a GPU: tests/unit/engine_gpu/ranks_beside_gpus_test.cpp.
#include "../../unit/engine/ranks_scene.hpp"

#include "library_fixture.hpp"
#include "small.hpp"

#include <cmath>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;
using namespace graft::engine::testing;
using graft::test::small_inputs;
using graft::test::test_size;

class GpuRanksMixed : public graft::test::LibraryTest {};

using Backends = std::vector<Backend>;
constexpr Backend cpu = Backend::cpu, gpu = Backend::cuda;
const Backends mixes[] = {{cpu, gpu}, {gpu, cpu, cpu}, {cpu, gpu, gpu, cpu}};

Results compute_on(const Backends& backends, const Cloud& cloud, const Owners& owners, const Settings& s,
                   Choice choice = {}) {
    choice.backends = backends;
    Results results = compute_over(static_cast<int>(backends.size()), cloud, owners, s, choice);
    for (size_t r = 0; r < backends.size(); ++r)
        EXPECT_STREQ(results.reports[r].backend, backends[r] == gpu ? "gpu" : "cpu");
    return results;
}

Results exact(const Cloud& cloud, Settings s, const Choice& choice = {}) {
    s.backend = cpu, s.method = Method::direct, s.precision = Precision::fp64;
    return compute_over(1, cloud, all_on(cloud, 0), s, choice);
}

Settings settings_of(MacType mac, double theta) {
    Settings s;
    s.mac = mac, s.theta = theta, s.accuracy = 1e-3, s.leaf = 32, s.group = 64;
    s.local = Local::off; // as for so few targets on GPUs
    return s;
}

TEST_F(GpuRanksMixed, ChargesThatDifferByMoreThanSinglePrecisionHolds) {
    Cloud cloud = make_cloud(2000, 7);
    cloud.q[0] = 1e36;
    Settings s = settings_of(MacType::error, 1);
    s.precision = Precision::mixed, s.softening = Softening::spline, s.softening_length = 0.02;
    Choice first;
    first.potential = first.virial = false;
    for (const Backends& mix : mixes) {
        const Results got = compute_on(mix, cloud, bisection(cloud, static_cast<int>(mix.size())), s, first);
        EXPECT_LT(errors(got, exact(cloud, s, first))[0], 4 * s.accuracy) << mix.size();
    }
}

TEST_F(GpuRanksMixed, ForcesAddUpToZero) {
    const Cloud cloud = make_cloud(3000, 8);
    for (const Backends& mix : mixes) {
        settings::Settings s = settings_of(MacType::error, 1);
        s.accuracy = 1e-2, s.conserve_momentum = true;
        const Owners owners = bisection(cloud, static_cast<int>(mix.size()));
        EXPECT_LT(net_force(cloud, compute_on(mix, cloud, owners, s)), 3e-15) << mix.size() << " ranks";
        Choice choice;
        choice.active.assign(cloud.q.size(), 1), choice.active[1] = 0;
        EXPECT_GT(net_force(cloud, compute_on(mix, cloud, owners, s, choice)), 1e-8) << mix.size() << " ranks";
    }
}

TEST_F(GpuRanksMixed, EveryTargetMeetsEverySourceOnce) {
    constexpr double length = 1099511627776; // 2^40: every interaction is the same number
    Cloud cloud = make_cloud(test_size(4000, 1500));
    std::fill(cloud.q.begin(), cloud.q.end(), 1.0);
    for (const double theta : {0.0, 0.4, 0.9})
        for (const Backends& mix : mixes) {
            Settings s = settings_of(MacType::box, theta);
            s.precision = Precision::fp64, s.order = 0;
            s.softening = Softening::plummer, s.softening_length = length;
            const auto ranks = static_cast<int>(mix.size());
            for (const Owners& owners : {slabs(cloud, ranks), scattered(cloud, ranks)}) {
                const Results met = compute_on(mix, cloud, owners, s);
                for (size_t i = 0; i < met.potential.size(); ++i)
                    ASSERT_NEAR(-met.potential[i] * length, static_cast<double>(cloud.size() - 1), 1e-3) << i;
            }
        }
}

TEST_F(GpuRanksMixed, ErrorsAreThoseOfCpusAlone) {
    const Cloud cloud = make_cloud(test_size(20000, 3000));
    const double room = small_inputs() ? 1.4 : 1.1;
    for (const Precision precision : {Precision::fp32, Precision::mixed, Precision::fp64})
        for (const MacType mac : {MacType::box, MacType::error}) {
            Settings s = settings_of(mac, mac == MacType::error ? 1 : 0.7);
            s.precision = precision;
            const Results whole = exact(cloud, s);
            for (const Backends& mix : mixes) {
                const auto ranks = static_cast<int>(mix.size());
                const Owners owners = bisection(cloud, ranks);
                const Results mixed = compute_on(mix, cloud, owners, s);
                const auto several = errors(mixed, whole);
                const auto alone = errors(compute_on(Backends(mix.size(), cpu), cloud, owners, s), whole);
                for (const double share : {0.5, 0.9, 0.99})
                    EXPECT_LT(percentile(several, share), room * percentile(alone, share))
                        << ranks << " ranks, MAC " << int(mac) << ", share " << share;
                EXPECT_NEAR(mixed.energy, whole.energy, 5e-4 * std::abs(whole.energy));
                for (const double energy : mixed.energies)
                    EXPECT_EQ(energy, mixed.energy);
            }
        }
}

TEST_F(GpuRanksMixed, SofteningLengthsHeapsAndHistory) {
    Cloud cloud = make_cloud(test_size(8000, 2500), 5);
    for (size_t i = 0; i < 900; ++i)
        cloud.x[i] = 0.5, cloud.y[i] = 0.25, cloud.z[i] = 0.125; // heaps on all ranks
    for (const Softening kind : {Softening::plummer, Softening::spline})
        for (const bool lengths : {false, true}) {
            Settings s = settings_of(MacType::error, 1);
            s.softening = kind, s.softening_length = 0.02, s.mac_history = true;
            Choice choice;
            choice.softening = lengths, choice.calls = 2;
            const Results mixed = compute_on({cpu, gpu, cpu}, cloud, scattered(cloud, 3), s, choice);
            choice.calls = 1;
            EXPECT_LT(percentile(errors(mixed, exact(cloud, s, choice)), 0.99), 4e-3) << int(kind) << lengths;
        }
}

} // namespace
