// SPDX-License-Identifier: BSD-3-Clause
// A right answer that the host's arrays cannot hold, or that is no finite number: VALUE, the array and the first item by the
// caller's index, and nothing written. The same on a GPU: tests/gpu/engine/strays_test.cu.
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace graft;
using namespace graft::test;

namespace {

constexpr size_t count = 700, first = 17, second = 333; // of the close pair: no neighbours in memory

/// The pair's accelerations are far larger than all others.
Bodies with_a_close_pair(double distance = 1e-4) {
    Bodies b = plummer(count);
    b.x[first] = b.x[second] + distance, b.y[first] = b.y[second], b.z[first] = b.z[second];
    return b;
}

/// Of one rank: particles, results of either type with something in them, the call.
class Host {
  public:
    Host(const Bodies& b, size_t targets, int32_t dtype, double start = 0.25)
        : call(b, field_), single_(4, std::vector<float>(targets, static_cast<float>(start))),
          double_(4, std::vector<double>(targets, start)), sums_(7, start) {
        for (size_t k = 0; k < 4; ++k)
            call.out[k] = array_of(dtype == GRAFT_F32 ? static_cast<void*>(single_[k].data()) : double_[k].data(), dtype,
                                   static_cast<int64_t>(targets));
        call.out[4] = array_of(sums_.data(), GRAFT_F64, 1, 6);
        call.out[5] = array_of(sums_.data() + 6, GRAFT_F64, 1);
        want(true, false, false);
        before_single_ = single_, before_double_ = double_, before_sums_ = sums_;
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    void want(bool potential, bool virial, bool energy) {
        call.results.potential = potential ? &call.out[3] : nullptr;
        call.results.virial = virial ? &call.out[4] : nullptr;
        call.results.energy = energy ? &call.out[5] : nullptr;
    }
    void add() {
        for (graft_array& out : call.out)
            out.flags = GRAFT_ARRAY_ADD;
    }
    bool untouched() const {
        return single_ == before_single_ && double_ == before_double_ && sums_ == before_sums_;
    }

  private:
    Field field_; // unused: the arrays are this class's
  public:
    Call call;

  private:
    std::vector<std::vector<float>> single_, before_single_;
    std::vector<std::vector<double>> double_, before_double_;
    std::vector<double> sums_, before_sums_;
};

capi::Options with_constant(settings::Method method, double constant) {
    capi::Options o = options(method);
    o.engine.constant = constant;
    return o;
}

void expect_refused(int32_t status, const Host& host, const std::string& item, const std::string& what) {
    const std::string text = capi::last_error();
    EXPECT_EQ(status, GRAFT_ERROR_VALUE) << what << ": " << text;
    EXPECT_NE(text.find(item), std::string::npos) << what << ": " << text << "; expected " << item;
    EXPECT_TRUE(host.untouched()) << what;
}

std::string of(const char* array, size_t item) {
    return std::string(array) + ": item " + std::to_string(item) + " (";
}

void expect_good(graft_context* context, const std::string& what) {
    const Bodies calm = plummer(count);
    Field field(count);
    Call call(calm, field);
    EXPECT_EQ(capi::compute(context, &call.particles, &call.results), GRAFT_OK) << what << ": " << capi::last_error();
    EXPECT_TRUE(std::isfinite(field.energy)) << what;
}

constexpr settings::Method methods[] = {settings::Method::tree, settings::Method::direct, settings::Method::reference};

std::string name_of(settings::Method method) {
    return "method " + std::to_string(static_cast<int>(method));
}

} // namespace

TEST(ResultsThatAre, BeyondSinglePrecisionAreValue) {
    const Bodies b = with_a_close_pair();
    for (const settings::Method method : methods)
        for (const bool add : {false, true})
            for (const bool force : {false, true})
                for (const bool potential : {false, true}) {
                    Context context(with_constant(method, force ? 1e37 : 1e34));
                    Host host(b, count, GRAFT_F32);
                    host.want(potential, false, false);
                    if (add)
                        host.add();
                    host.call.results.flags = force ? GRAFT_RESULTS_FORCE : 0;
                    const std::string what = name_of(method) + (add ? ", added" : "") + (force ? ", forces" : "");
                    expect_refused(capi::compute(context, &host.call.particles, &host.call.results), host,
                                   of("results.acceleration x", first), what);
                    EXPECT_NE(std::string(capi::last_error()).find("single precision"), std::string::npos);
                    Host wide(b, count, GRAFT_F64);
                    EXPECT_EQ(capi::compute(context, &wide.call.particles, &wide.call.results), GRAFT_OK)
                        << what << ": " << capi::last_error();
                }
}

TEST(ResultsThatAre, NotFiniteAreValue) {
    const Bodies b = with_a_close_pair();
    for (const settings::Method method : methods)
        for (const settings::Precision precision : {settings::Precision::mixed, settings::Precision::fp64})
            for (const bool add : {false, true}) {
                capi::Options o = with_constant(method, 1e304);
                o.asked.precision = precision;
                Context context(o);
                Host host(b, count, GRAFT_F64);
                if (add)
                    host.add();
                const std::string what = name_of(method) + (add ? ", added" : "");
                expect_refused(capi::compute(context, &host.call.particles, &host.call.results), host,
                               of("results.acceleration x", first), what);
                EXPECT_NE(std::string(capi::last_error()).find("no finite number"), std::string::npos);
                ASSERT_EQ(capi::context_change(context, [](capi::Options& c) { c.engine.constant = 1; }), GRAFT_OK);
                expect_good(context, what);
            }
}

/// What is added is finite, and so is what it is added to.
TEST(ResultsThatAre, NotFiniteAfterAddingAreValue) {
    Bodies b = with_a_close_pair();
    for (const settings::Method method : methods) {
        Context context(with_constant(method, 1e303));
        Host overwritten(b, count, GRAFT_F64, 1.7e308), added(b, count, GRAFT_F64, 1.7e308);
        added.add();
        expect_refused(capi::compute(context, &added.call.particles, &added.call.results), added,
                       of("results.acceleration x", second), name_of(method)); // the first is pulled the other way
        EXPECT_EQ(capi::compute(context, &overwritten.call.particles, &overwritten.call.results), GRAFT_OK)
            << capi::last_error();
    }
}

/// Accelerations and potentials are finite; their sums are not.
TEST(ResultsThatAre, SumsAndNotFiniteAreValue) {
    Bodies b = plummer(count);
    for (double& q : b.q)
        q *= 1e80;
    for (const settings::Method method : methods)
        for (const bool energy : {false, true})
            for (const bool add : {false, true}) {
                Context context(with_constant(method, 1e200));
                Host host(b, count, GRAFT_F64);
                host.want(true, !energy, energy);
                if (add)
                    host.add();
                expect_refused(capi::compute(context, &host.call.particles, &host.call.results), host,
                               of(energy ? "results.energy" : "results.virial", 0), name_of(method));
                host.want(true, false, false);
                EXPECT_EQ(capi::compute(context, &host.call.particles, &host.call.results), GRAFT_OK)
                    << capi::last_error();
            }
}

/// Active particles, listed ones (from 0 and from 1) and points.
TEST(ResultsThatAre, BadAreNamedByTheCallersIndex) {
    const Bodies b = with_a_close_pair();
    std::vector<int32_t> active, listed, from_one;
    for (size_t i = 0; i < count; ++i)
        active.push_back(i >= 300);
    for (int32_t i = 400; i >= 0; --i)
        listed.push_back(i), from_one.push_back(i + 1);
    graft_array masks = array_of(active), from_0 = array_of(listed), from_1 = array_of(from_one);
    from_1.flags = GRAFT_ARRAY_INDEX_FROM_1;
    for (const settings::Method method : methods)
        for (const bool add : {false, true}) {
            const std::string what = name_of(method) + (add ? ", added" : "");
            Context context(with_constant(method, 1e34));
            const auto refuse = [&](const graft_array* mask, const graft_array* list, size_t item) {
                Host host(b, count, GRAFT_F32);
                host.call.particles.active = mask, host.call.particles.target_index = list;
                if (add)
                    host.add();
                expect_refused(capi::compute(context, &host.call.particles, &host.call.results), host,
                               of("results.acceleration x", item), what);
            };
            refuse(&masks, nullptr, second);
            refuse(nullptr, &from_0, first);
            refuse(nullptr, &from_1, first);
            Bodies places = plummer(count, 5);
            places.x[211] = b.x[second] + 1e-5, places.y[211] = b.y[second], places.z[211] = b.z[second];
            Field unused;
            Call points(places, unused);
            Host host(b, count, GRAFT_F32);
            if (add)
                host.add();
            expect_refused(capi::field_at(context, &host.call.particles, &points.particles, &host.call.results), host,
                           of("results.acceleration x", 211), what + ", points");
        }
}

/// The pair is the last rank's; the others have nothing against their own results, and say the same.
TEST(ResultsThatAre, BadOnOneRankAreRefusedOnAll) {
    Bodies b = plummer(count);
    b.x[count - 2] = b.x[count - 1] + 1e-4, b.y[count - 2] = b.y[count - 1], b.z[count - 2] = b.z[count - 1];
    for (const settings::Method method : methods)
        for (const bool by_sums : {false, true}) {
            Bodies all = b;
            for (double& q : all.q)
                q *= by_sums ? 1e80 : 1;
            on_contexts(2, with_constant(method, by_sums ? 1e200 : 1e34), [&](int rank, graft_context* context) {
                const Bodies mine = share_of(all, rank, 2);
                Host host(mine, mine.size(), by_sums ? GRAFT_F64 : GRAFT_F32);
                host.want(true, by_sums, by_sums);
                const std::string what = name_of(method) + ", rank " + std::to_string(rank);
                expect_refused(capi::compute(context, &host.call.particles, &host.call.results), host,
                               by_sums ? of("results.virial", 0) : of("results.acceleration x", mine.size() - 2), what);
                ASSERT_EQ(capi::context_change(context, [](capi::Options& o) { o.engine.constant = 1; }), GRAFT_OK);
                expect_good(context, what);
            });
        }
}

TEST(ResultsThatAre, BadAtPointsOfOneRankAreRefusedOnAll) {
    const Bodies b = plummer(count);
    for (const settings::Method method : methods)
        on_contexts(2, with_constant(method, 1e34), [&](int rank, graft_context* context) {
            const Bodies mine = share_of(b, rank, 2);
            Bodies places = plummer(40, 6);
            if (rank == 1)
                places.x[30] = b.x[second], places.y[30] = b.y[second], places.z[30] = b.z[second] + 1e-5;
            Field unused;
            Call points(places, unused);
            Host host(mine, places.size(), GRAFT_F32);
            expect_refused(capi::field_at(context, &host.call.particles, &points.particles, &host.call.results), host,
                           of("results.acceleration z", 30), name_of(method));
        });
}
