// SPDX-License-Identifier: BSD-3-Clause
// The GPU's M2L and L2P, a lane at a time, on the host: the same text (forces/m2l/m2l_body.hpp, packed_cell.hpp) in
// plain numbers, against the CPU's kernels in double.
#include "cloud.hpp"
#include "forces/m2l/m2l.hpp"
#include "forces/m2l/m2l_body.hpp"
#include "forces/m2l/m2l_terms.hpp"
#include "forces/m2p/packed_cell.hpp"
#include "moments/expansion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using namespace graft;
using support::Cloud;

namespace {

using namespace graft::forces;

struct PlainOps {
    using Real = float;
    static float set(double v) { return static_cast<float>(v); }
    static float add(float a, float b) { return a + b; }
    static float mul(float a, float b) { return a * b; }
    static float fma(float a, float b, float c) { return std::fma(a, b, c); }
    static float fnma(float a, float b, float c) { return std::fma(-a, b, c); }
};
using graft::forces::HWY_NAMESPACE::M2lBody;
using graft::forces::HWY_NAMESPACE::PointBody;

constexpr double charge_scale = 256;

/// As m2p_fast_gpu.cu packs.
PackedCell pack(const moments::Moments& m, const float* record, int64_t k, bool softened) {
    PackedCell cell{m.cx[k], m.cy[k], m.cz[k], 0, 0, {}, 0, 0};
    const double q = record[0] * charge_scale, size = std::abs(q), factor = charge_scale / (q * size);
    cell.a = static_cast<float>(std::copysign(1 / std::sqrt(size), q));
    cell.root_charge = static_cast<float>(std::copysign(std::sqrt(size), q));
    cell.exponent = m.radius[k] > 0 ? std::max(std::ilogb(m.rho[k]), -4000) : -4000;
    for (int i = 0; i < 5; ++i)
        cell.quadrupole[i] = static_cast<float>(record[4 + i] * factor);
    cell.quadrupole[5] = static_cast<float>(-(double{record[4]} + record[7]) * factor);
    cell.trace = softened ? static_cast<float>(record[9] * factor / size) : 0.0f;
    return cell;
}

GRAFT_BEFORE_BODIES(); // the bodies are inlined into what has their target alone
template <bool softened>
void add_cell(const PackedCell& cell, const double (&centre)[3], double length, float* sum) {
    float u[3] = {static_cast<float>(centre[0] - cell.x), static_cast<float>(centre[1] - cell.y),
                  static_cast<float>(centre[2] - cell.z)};
    const float eps2 = static_cast<float>(length * length);
    const float inverse = 1 / std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + eps2);
    for (float& x : u)
        x *= inverse;
    float w[10];
    packed_sources<softened>(cell, w);
    M2lBody<PlainOps, 2, softened, false>::add(
        u, inverse, std::ldexp(1.0f, std::max(cell.exponent, -60)) * inverse, w, sum);
}

template <bool softened>
void compare() {
    constexpr int degree = local_order(2), count = moments::term_count(degree);
    Cloud cloud(400, false, 16);
    moments::compute_moments(cloud.executor, cloud.tree, 2, cloud.moments);
    core::Buffer<float> records(cloud.memory);
    core::Buffer<double> full(cloud.memory);
    moments::fill_expansion(cloud.executor, cloud.moments, softened, records);
    moments::fill_expansion(cloud.executor, cloud.moments, softened, full);
    const double centre[3] = {2.1, -1.7, 1.9}, length = softened ? 0.8 : 0;
    std::vector<int32_t> nodes;
    float sum[count] = {};
    for (int32_t k = 0; k < std::min(100, cloud.tree.node_count()); ++k) {
        nodes.push_back(k);
        add_cell<softened>(
            pack(cloud.moments, records.data() + k * moments::record_size(2, softened), k, softened), centre,
            length, sum);
    }
    if (!softened)
        complete_terms(degree, sum);

    const CellVariant variant{2, softened, false, true};
    M2lSources<double> sources(cloud.memory);
    sources.fill(cloud.moments, full.data(), nodes.data(), static_cast<int64_t>(nodes.size()),
                 Frame{{0, 0, 0}, 1}, variant);
    LocalExpansion local;
    for (int a = 0; a < 3; ++a)
        local.centre[a] = centre[a];
    m2l(variant, length, sources, local);
    for (int k = 0; k < count; ++k)
        EXPECT_NEAR(sum[k] / charge_scale, local.value[static_cast<size_t>(k)],
                    2e-5 * (std::abs(local.value[static_cast<size_t>(k)]) + std::abs(local.value[0])))
            << "term " << k;

    const float h[3] = {0.11f, -0.07f, 0.05f};
    float field[4] = {0, 0, 0, 0}, force[4] = {0, 0, 0, 0};
    PointBody<PlainOps, degree>::add<true>(sum, h, field);
    PointBody<PlainOps, degree>::add<false>(sum, h, force);
    const double x = centre[0] + double{h[0]}, y = centre[1] + double{h[1]}, z = centre[2] + double{h[2]};
    double out[4] = {0, 0, 0, 0};
    l2p(variant, local, Targets<double>{&x, &y, &z, nullptr, 1},
        FieldSums{&out[0], &out[1], &out[2], &out[3]});
    for (int i = 0; i < 4; ++i)
        EXPECT_NEAR(field[i] / charge_scale, out[i], 1e-5 * std::abs(out[3])) << i;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(force[i], field[i]);
    EXPECT_EQ(force[3], 0);
}
GRAFT_AFTER_BODIES();

} // namespace

TEST(PackedLocal, IsTheCpusPolynomial) {
    compare<false>();
}
TEST(PackedLocal, IsTheCpusPolynomialSoftened) {
    compare<true>();
}
