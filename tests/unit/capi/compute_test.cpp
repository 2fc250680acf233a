// SPDX-License-Identifier: BSD-3-Clause
// The engine through its ABI entries: every input that must work or be refused clearly.
#include "host.hpp"

#include <gtest/gtest.h>

#include <map>

#include <algorithm>
#include <cstring>
#include <limits>

using namespace graft;
using namespace graft::test;

namespace {

constexpr settings::Method methods[] = {settings::Method::direct, settings::Method::tree, settings::Method::reference};

bool mentions(const char* text) {
    return std::strstr(capi::last_error(), text) != nullptr;
}

double quantile(std::vector<double> values, double q) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

} // namespace

class EveryMethod : public ::testing::TestWithParam<settings::Method> {};
INSTANTIATE_TEST_SUITE_P(Methods, EveryMethod, ::testing::ValuesIn(methods));

TEST_P(EveryMethod, NoParticles) {
    Bodies b;
    Field f;
    Context context(options(GetParam()));
    Call call(b, f);
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(f.energy, 0);
}

TEST_P(EveryMethod, OneParticleFeelsNothing) {
    Bodies b;
    b.add(1, 2, 3, 5);
    Field f(1, 7.0);
    Context context(options(GetParam()));
    Call call(b, f);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(f.ax[0], 0);
    EXPECT_EQ(f.potential[0], 0);
}

TEST_P(EveryMethod, TwoParticlesByHand) {
    Bodies b;
    b.add(0, 0, 0, 3);
    b.add(2, 0, 0, 5);
    Field f(2);
    capi::Options o = options(GetParam());
    o.engine.constant = 10;
    Context context(o);
    Call call(b, f);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_NEAR(f.ax[0], 10 * 5 / 4.0, 1e-13);
    EXPECT_NEAR(f.ax[1], -10 * 3 / 4.0, 1e-13);
    EXPECT_NEAR(f.potential[0], -10 * 5 / 2.0, 1e-12);
    EXPECT_NEAR(f.energy, -10 * 15 / 2.0, 1e-12);
    EXPECT_NEAR(f.virial[0] + f.virial[1] + f.virial[2], f.energy, 1e-12);
}

TEST_P(EveryMethod, CoulombHasTheOtherSign) {
    Bodies b;
    b.add(0, 0, 0, 1);
    b.add(1, 0, 0, -2);
    Field f(2);
    capi::Options o = options(GetParam());
    o.engine.interaction = settings::Interaction::coulomb;
    Context context(o);
    Call call(b, f);
    call.results.flags = GRAFT_RESULTS_FORCE;
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_NEAR(f.ax[0], 2, 1e-13) << "opposite charges attract";
    EXPECT_NEAR(f.ax[1], -2, 1e-13);
    EXPECT_NEAR(f.energy, -2, 1e-13);
}

TEST_P(EveryMethod, AddModeAddsAndOverwriteForgets) {
    Bodies b = plummer(100);
    Field once(100), twice(100);
    Context context(options(GetParam()));
    Call first(b, once), second(b, twice);
    ASSERT_EQ(capi::compute(context, &first.particles, &first.results), GRAFT_OK);
    for (int k = 0; k < 2; ++k) {
        for (graft_array& result : second.out)
            result.flags = k == 0 ? 0 : GRAFT_ARRAY_ADD;
        ASSERT_EQ(capi::compute(context, &second.particles, &second.results), GRAFT_OK);
    }
    for (size_t i = 0; i < 100; ++i) {
        EXPECT_DOUBLE_EQ(twice.ax[i], 2 * once.ax[i]);
        EXPECT_DOUBLE_EQ(twice.potential[i], 2 * once.potential[i]);
    }
}

TEST_P(EveryMethod, NanIsNamedAndOutputsStay) {
    for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        Bodies b = plummer(50);
        b.y[17] = bad;
        b.y[31] = bad;
        Field f(50, 42.0);
        Context context(options(GetParam()));
        Call call(b, f);
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_VALUE);
        EXPECT_TRUE(mentions("position y")) << capi::last_error();
        EXPECT_TRUE(mentions("item 17 ")) << capi::last_error();
        EXPECT_EQ(std::count(f.ax.begin(), f.ax.end(), 42.0), 50);
    }
}

TEST_P(EveryMethod, ActiveMaskTargetsAndFullAgree) {
    const size_t n = 300;
    Bodies b = plummer(n);
    Field all(n), masked(n, -1.0), listed(n, -1.0);
    capi::Options o = options(GetParam());
    o.engine.theta = 0; // the same direct sum whatever the groups
    Context context(o);
    std::vector<int32_t> mask(n), list;
    for (size_t i = 0; i < n; ++i)
        if (i % 7 == 3) {
            mask[i] = 5;
            list.insert(list.begin(), static_cast<int32_t>(i) + 1);
        }
    Call whole(b, all), part(b, masked), indexed(b, listed);
    const graft_array mask_array = array_of(mask);
    graft_array list_array = array_of(list);
    list_array.flags = GRAFT_ARRAY_INDEX_FROM_1;
    part.particles.active = &mask_array;
    indexed.particles.target_index = &list_array;
    ASSERT_EQ(capi::compute(context, &whole.particles, &whole.results), GRAFT_OK);
    ASSERT_EQ(capi::compute(context, &part.particles, &part.results), GRAFT_OK) << capi::last_error();
    ASSERT_EQ(capi::compute(context, &indexed.particles, &indexed.results), GRAFT_OK) << capi::last_error();
    for (size_t i = 0; i < n; ++i) {
        if (mask[i] == 0) {
            EXPECT_EQ(masked.ax[i], -1.0);
            EXPECT_EQ(listed.ax[i], -1.0);
        } else {
            EXPECT_NEAR(masked.ax[i], all.ax[i], 1e-12);
            EXPECT_NEAR(listed.ax[i], all.ax[i], 1e-12);
            EXPECT_NEAR(listed.potential[i], all.potential[i], 1e-12);
        }
    }
}

TEST_P(EveryMethod, FieldAtPoints) {
    Bodies b = plummer(400), points(0);
    points.add(5, 0, 0, 0);
    points.add(0.1, 0.2, 0.3, 0);
    points.add(1000, -1000, 3, 0);         // far outside
    points.add(b.x[7], b.y[7], b.z[7], 0); // on a source: the source itself gives nothing
    Field f(4), self(400);
    capi::Options o = options(GetParam());
    o.engine.theta = 0;
    Context context(o);
    Call at(points, f), own(b, self);
    Call sources(b, self);
    at.results.virial = at.results.energy = nullptr;
    ASSERT_EQ(capi::field_at(context, &sources.particles, &at.particles, &at.results), GRAFT_OK)
        << capi::last_error();
    ASSERT_EQ(capi::compute(context, &own.particles, &own.results), GRAFT_OK);
    EXPECT_NEAR(f.ax[3], self.ax[7], 1e-12);
    EXPECT_NEAR(f.potential[3], self.potential[7], 1e-12);
    const double r = std::sqrt(2e6 + 9);
    EXPECT_NEAR(f.potential[2], -1 / r, 1e-5);
    at.results.flags = GRAFT_RESULTS_FORCE;
    EXPECT_EQ(capi::field_at(context, &sources.particles, &at.particles, &at.results), GRAFT_ERROR_ARGUMENT);
}

TEST_P(EveryMethod, AllCoincidentGivesZeroForce) {
    Bodies b;
    for (int i = 0; i < 500; ++i)
        b.add(0.25, -3, 8, 2);
    Field f(500, 1.0);
    Context context(options(GetParam()));
    Call call(b, f);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    for (size_t i = 0; i < 500; ++i) {
        ASSERT_EQ(f.ax[i], 0);
        ASSERT_EQ(f.potential[i], 0);
    }
}

TEST(Tree, LineAndPlaneMatchTheReference) {
    for (int degenerate : {1, 2}) {
        std::mt19937_64 random(5);
        std::uniform_real_distribution<double> uniform(-1, 1);
        Bodies b;
        for (int i = 0; i < 3000; ++i) {
            const double x = uniform(random), y = degenerate == 1 ? 0.5 : uniform(random), q = uniform(random) + 1.5;
            b.add(x, y, -0.25, q);
        }
        for (const auto type : {tree::TreeType::octree, tree::TreeType::orb}) {
            Field tree(3000), reference(3000);
            capi::Options o = options(settings::Method::tree);
            o.engine.tree_type = type;
            o.engine.theta = 0.4;
            Context a(o), r(options(settings::Method::reference));
            Call ca(b, tree), cr(b, reference);
            ASSERT_EQ(capi::compute(a, &ca.particles, &ca.results), GRAFT_OK) << capi::last_error();
            ASSERT_EQ(capi::compute(r, &cr.particles, &cr.results), GRAFT_OK);
            EXPECT_LT(quantile(errors(tree, reference), 0.99), 1.1e-3); // in planes a little beyond what is asked
        }
    }
}

TEST(Tree, ZeroChargesAndZeroTotal) {
    Bodies b = plummer(1000);
    std::fill(b.q.begin(), b.q.end(), 0.0);
    Field f(1000, 9.0), reference(1000);
    Context context(options(settings::Method::tree));
    Call call(b, f);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(std::count(f.ax.begin(), f.ax.end(), 0.0), 1000);
    for (size_t i = 0; i < 1000; ++i)
        b.q[i] = i % 2 == 0 ? 1 : -1;
    capi::Options o = options(settings::Method::tree);
    o.engine.theta = 0.4;
    Context a(o), r(options(settings::Method::reference));
    Call ca(b, f), cr(b, reference);
    ASSERT_EQ(capi::compute(a, &ca.particles, &ca.results), GRAFT_OK) << capi::last_error();
    ASSERT_EQ(capi::compute(r, &cr.particles, &cr.results), GRAFT_OK);
    EXPECT_LT(quantile(errors(f, reference), 0.9), 1e-3);
}

TEST(Tree, FarApartClustersCostLittleMore) {
    Bodies one = plummer(4000), two = plummer(4000);
    for (size_t i = 0; i < 2000; ++i)
        two.x[i] = two.x[i] * 1e-6, two.y[i] *= 1e-6, two.z[i] *= 1e-6,
        two.x[i + 2000] = two.x[i + 2000] * 1e-6 + 1e6, two.y[i + 2000] *= 1e-6, two.z[i + 2000] *= 1e-6;
    double pairs[2];
    int k = 0;
    for (const Bodies* b : {&one, &two}) {
        Field f(4000);
        Context context(options(settings::Method::tree));
        Call call(*b, f);
        ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
        double p2p = 0, m2p = 0;
        ASSERT_EQ(capi::query(context, "interactions.p2p", &p2p), GRAFT_OK);
        ASSERT_EQ(capi::query(context, "interactions.m2p", &m2p), GRAFT_OK);
        pairs[k++] = p2p + 8 * m2p;
    }
    EXPECT_LT(pairs[1], 3 * pairs[0]);
}

TEST(Tree, SameBitsForAnyThreadCount) {
    Bodies b = plummer(20000);
    for (const auto precision : {settings::Precision::fp32, settings::Precision::mixed, settings::Precision::fp64}) {
        Field first(20000);
        for (int threads : {1, 2, 3, 5}) {
            Field f(20000);
            capi::Options o = options(settings::Method::tree, precision);
            o.engine.threads = threads;
            Context context(o);
            Call call(b, f);
            ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
            if (threads == 1)
                first = f;
            EXPECT_EQ(f.ax, first.ax);
            EXPECT_EQ(f.potential, first.potential);
            EXPECT_EQ(f.energy, first.energy);
            EXPECT_EQ(f.virial, first.virial);
        }
    }
}

TEST(Compute, LayoutsGiveTheSameBits) {
    struct Particle { // 112 bytes, like a well-known host's
        double x, y, z, v[3], a[3], m;
        char rest[32];
    };
    static_assert(sizeof(Particle) == 112);
    const size_t n = 500;
    Bodies b = plummer(n);
    Field soa(n);
    Context context(options(settings::Method::tree));
    Call call(b, soa);
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK);

    std::vector<Particle> aos(n);
    std::vector<double> xyzh(4 * n), out(3 * n);
    for (size_t i = 0; i < n; ++i) {
        aos[i] = {b.x[i], b.y[i], b.z[i], {}, {}, b.q[i], {}};
        xyzh[4 * i] = b.x[i], xyzh[4 * i + 1] = b.y[i], xyzh[4 * i + 2] = b.z[i], xyzh[4 * i + 3] = -99;
    }
    const int64_t count = static_cast<int64_t>(n);
    Field unused(n);
    Call other(b, unused);
    graft_array position = array_of(&aos[0].x, GRAFT_F64, count, 3, 112, count * 112);
    graft_array mass = array_of(&aos[0].m, GRAFT_F64, count, 1, 112, count * 112 - 72);
    graft_array acceleration = array_of(&aos[0].a, GRAFT_F64, count, 3, 112, count * 112 - 48);
    other.particles.position[0] = &position;
    other.particles.position[1] = other.particles.position[2] = nullptr;
    other.particles.charge = &mass;
    other.results.acceleration[0] = &acceleration;
    other.results.acceleration[1] = other.results.acceleration[2] = nullptr;
    ASSERT_EQ(capi::compute(context, &other.particles, &other.results), GRAFT_OK) << capi::last_error();
    graft_array fortran = array_of(xyzh.data(), GRAFT_F64, count, 3, 32);
    graft_array packed = array_of(out.data(), GRAFT_F64, count, 3);
    other.particles.position[0] = &fortran;
    other.results.acceleration[0] = &packed;
    ASSERT_EQ(capi::compute(context, &other.particles, &other.results), GRAFT_OK) << capi::last_error();
    for (size_t i = 0; i < n; ++i) {
        EXPECT_EQ(aos[i].a[0], soa.ax[i]);
        EXPECT_EQ(aos[i].a[2], soa.az[i]);
        EXPECT_EQ(out[3 * i + 1], soa.ay[i]);
    }
}

TEST(Compute, WrongLayoutsAreRefused) {
    Bodies b = plummer(10);
    Field f(10, 3.0);
    Context context(options(settings::Method::tree));
    const auto attempt = [&](auto change) {
        Call call(b, f);
        change(call);
        return capi::compute(context, &call.particles, &call.results);
    };
    EXPECT_EQ(attempt([](Call& c) { c.arrays[0].bytes = 79; }), GRAFT_ERROR_ARRAY);
    EXPECT_TRUE(mentions("position[0]")) << capi::last_error();
    EXPECT_EQ(attempt([](Call& c) { c.arrays[0].item_stride = -8; }), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(attempt([](Call& c) { c.arrays[1].n = 9; }), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(attempt([](Call& c) { c.arrays[3].dtype = GRAFT_I32; }), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(attempt([](Call& c) { c.arrays[3].dtype = 77; }), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(attempt([](Call& c) { c.arrays[2].data = nullptr; }), GRAFT_ERROR_ARRAY);
    EXPECT_NE(attempt([](Call& c) { c.arrays[2].memory = GRAFT_MEMORY_DEVICE; }), GRAFT_OK);
    EXPECT_TRUE(mentions("position[2]")) << capi::last_error();
    EXPECT_EQ(attempt([](Call& c) { c.arrays[2].memory = 5; }), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(attempt([](Call& c) { c.arrays[2].reserved[3] = 1; }), GRAFT_ERROR_ABI);
    EXPECT_EQ(attempt([](Call& c) { c.arrays[2].struct_size = 3; }), GRAFT_ERROR_ABI);
    EXPECT_EQ(attempt([](Call& c) { c.particles.flags = 8; }), GRAFT_ERROR_ABI);
    EXPECT_EQ(attempt([](Call& c) { c.particles.n = -1; }), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(attempt([](Call& c) { c.results.flags = 4; }), GRAFT_ERROR_ABI);
    EXPECT_EQ(attempt([](Call& c) { c.particles.position[1] = nullptr; }), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(attempt([](Call& c) { c.results.acceleration[2] = nullptr; }), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::compute(context, nullptr, nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(capi::compute(nullptr, nullptr, nullptr), GRAFT_ERROR_ARGUMENT);
    EXPECT_EQ(std::count(f.ax.begin(), f.ax.end(), 3.0), 10);
}

TEST(Compute, OutputsThatOverlapEachOtherAreRefused) {
    Bodies b = plummer(50);
    Field f(50, 3.0), whole(50);
    Context context(options(settings::Method::direct));
    Call call(b, f);
    call.results.acceleration[2] = call.results.acceleration[1]; // ax, ay, ay
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
    EXPECT_TRUE(mentions("results.acceleration[1] and results.acceleration[2]")) << capi::last_error();
    call.results.virial = call.results.energy = nullptr;
    EXPECT_EQ(capi::field_at(context, &call.particles, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
    EXPECT_EQ(std::count(f.ay.begin(), f.ay.end(), 3.0), 50);
    call.results.acceleration[2] = &call.out[2];
    const graft_array inside = array_of(f.ax.data() + 1, GRAFT_F32, 50, 1, 4);
    call.results.potential = &inside;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
    call.results.potential = nullptr;
    Call apart(b, whole);
    ASSERT_EQ(capi::compute(context, &apart.particles, &apart.results), GRAFT_OK) << capi::last_error();
    for (int a = 0; a < 3; ++a)
        call.results.acceleration[a] = &call.arrays[a]; // results over inputs
    ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    EXPECT_EQ(b.x, whole.ax);
    EXPECT_EQ(b.z, whole.az);
}

TEST(Compute, SizesOfStructsThatNoVersionHadAreRefused) {
    Bodies b = plummer(10);
    Field f(10);
    Context context(options(settings::Method::direct));
    for (uint32_t size = 0; size < sizeof(graft_array) + 24; ++size) {
        struct {
            graft_array known;
            uint64_t newer[4];
        } big{};
        Call call(b, f);
        big.known = call.arrays[0];
        big.known.struct_size = size;
        call.particles.position[0] = &big.known;
        const bool fits = size >= sizeof(graft_array) && size % 8 == 0;
        EXPECT_EQ(capi::compute(context, &call.particles, &call.results), fits ? GRAFT_OK : GRAFT_ERROR_ABI) << size;
    }
}

TEST(Compute, MoreThanTwoToThe31IsRefusedWithoutOverflow) {
    double value = 0;
    Bodies b(1);
    Field f(1);
    Context context(options(settings::Method::tree));
    Call call(b, f);
    const int64_t many = (int64_t{1} << 31) + 5;
    call.particles.n = many;
    for (graft_array* a : {&call.arrays[0], &call.arrays[1], &call.arrays[2], &call.arrays[3]}) {
        *a = array_of(&value, GRAFT_F64, many, 1, 8, many * 8);
    }
    call.results.potential = call.results.virial = call.results.energy = nullptr;
    for (const graft_array*& axis : call.results.acceleration)
        axis = nullptr;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARGUMENT);
    EXPECT_TRUE(mentions("2147483653")) << capi::last_error();
    call.arrays[0].n = call.particles.n = INT64_MAX;
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_ERROR_ARRAY);
}

TEST(Compute, SofteningIsChecked) {
    capi::Options forgotten = options(settings::Method::tree);
    forgotten.engine.softening_length = 0.1;
    EXPECT_EQ(Context(forgotten).status, GRAFT_ERROR_ARGUMENT) << "a length without a kind would be ignored";
    EXPECT_TRUE(mentions("softening.kind")) << capi::last_error();
    Bodies b = plummer(10);
    Field f(10);
    std::vector<double> h(10, 0.1);
    const graft_array softening = array_of(h);
    Context none(options(settings::Method::tree));
    Call call(b, f);
    call.particles.softening = &softening;
    EXPECT_EQ(capi::compute(none, &call.particles, &call.results), GRAFT_ERROR_ARGUMENT);
    capi::Options o = options(settings::Method::tree);
    o.engine.softening = settings::Softening::plummer;
    Context plummer_context(o);
    EXPECT_EQ(capi::compute(plummer_context, &call.particles, &call.results), GRAFT_OK) << capi::last_error();
    h[4] = -0.1;
    EXPECT_EQ(capi::compute(plummer_context, &call.particles, &call.results), GRAFT_ERROR_VALUE);
    EXPECT_TRUE(mentions("item 4 ")) << capi::last_error();
}

TEST(Compute, SoftenedMethodsAgree) {
    Bodies b = plummer(2000);
    std::vector<double> h(2000);
    for (size_t i = 0; i < h.size(); ++i)
        h[i] = 0.01 + 0.1 * static_cast<double>(i % 5);
    const graft_array softening = array_of(h);
    for (const auto kind : {settings::Softening::plummer, settings::Softening::spline})
        for (bool per_particle : {false, true}) {
            std::map<settings::Method, Field> f;
            for (const settings::Method method : methods) {
                capi::Options o = options(method);
                o.engine.softening = kind;
                o.engine.softening_length = 0.2;
                o.asked.order = 4;
                o.engine.theta = 0.5;
                o.engine.accuracy = 1e-4;
                Context context(o);
                Call call(b, f[method] = Field(2000));
                if (per_particle)
                    call.particles.softening = &softening;
                ASSERT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK)
                    << capi::last_error();
            }
            const Field& reference = f[settings::Method::reference];
            EXPECT_LT(quantile(errors(f[settings::Method::direct], reference), 1.0), 1e-11);
            EXPECT_LT(quantile(errors(f[settings::Method::tree], reference), 0.99), 1e-4);
            EXPECT_NEAR(f[settings::Method::direct].energy, reference.energy, 1e-11);
            EXPECT_NEAR(f[settings::Method::tree].energy, reference.energy, 1e-4 * std::abs(reference.energy));
        }
}
