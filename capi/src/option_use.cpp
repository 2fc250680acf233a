// SPDX-License-Identifier: BSD-3-Clause
// From options to settings, and the checks between options.
#include "option_use.hpp"

#include "settings/key_traits.hpp"

#include <algorithm>
#include <cmath>

namespace graft::capi {

using core::fail;
using core::Status;

namespace {

int periodic_axes(const graft_box& box) {
    return box.periodic[0] + box.periodic[1] + box.periodic[2];
}

/// The first axis with this in `periodic`; -1: none.
int first_axis(const graft_box& box, int32_t periodic) {
    for (int a = 0; a < 3; ++a)
        if (box.periodic[a] == periodic)
            return a;
    return -1;
}

/// True when the box is periodic.
bool check_periodic(const graft_box& box, int dimension) {
    for (int a = 0; a < 3; ++a)
        if (box.periodic[a] != 0 && box.periodic[a] != 1)
            fail(Status::argument, "box.periodic[%d] is %d; expected 0 or 1", a, box.periodic[a]);
    const int count = periodic_axes(box);
    constexpr const char* names[3] = {"xy", "xz", "yz"};
    constexpr int along[3] = {0, 0, 1};
    for (int t = 0; t < 3; ++t) {
        const double tilt = box.tilt[t], edge = box.upper[along[t]] - box.lower[along[t]];
        if (!std::isfinite(tilt) || (count == 0 && tilt != 0))
            fail(Status::argument, "box.tilt (%s) is %g; expected %s", names[t], tilt,
                 count == 0 ? "0, since the box is not periodic" : "a finite number");
        if (std::abs(tilt) > 0.5 * edge * (1 + 1e-9))
            fail(Status::argument,
                 "box.tilt (%s) is %g, more than half the edge %g that it shifts along; the same lattice has "
                 "a tilt within. Add or take off whole edges",
                 names[t], tilt, edge);
    }
    if (count != 0 && dimension != 3)
        fail(
            Status::unsupported,
            "box.periodic is %d %d %d in %d dimensions; periodic boxes are computed in three dimensions. Set "
            "dimension: 3, or an open box (0 0 0)",
            box.periodic[0], box.periodic[1], box.periodic[2], dimension);
    constexpr int across[3] = {1, 2, 2};
    for (int t = 0; count != 0 && t < 3; ++t)
        if (box.tilt[t] != 0 && (box.periodic[along[t]] == 0 || box.periodic[across[t]] == 0))
            fail(Status::argument,
                 "box.tilt (%s) is %g, but axis %d has no images; expected 0, a tilt between two "
                 "periodic axes only",
                 names[t], box.tilt[t], first_axis(box, 0));
    return count != 0;
}

void check_box(const graft_box& box, int dimension) {
    for (int a = 0; a < dimension; ++a) {
        if (!std::isfinite(box.lower[a]) || !std::isfinite(box.upper[a]) || box.lower[a] >= box.upper[a])
            fail(Status::argument, "box: axis %d goes from %g to %g; expected finite numbers, lower < upper",
                 a, box.lower[a], box.upper[a]);
    }
}

} // namespace

void take_box(const graft_box& b, settings::Settings& settings) {
    check_box(b, settings.dimension);
    settings.periodic = check_periodic(b, settings.dimension);
    settings.open_axis = periodic_axes(b) == 2 ? first_axis(b, 0) : -1;
    settings.wire_axis = periodic_axes(b) == 1 ? first_axis(b, 1) : -1;
    std::copy(b.lower, b.lower + 3, settings.box_lower);
    std::copy(b.upper, b.upper + 3, settings.box_upper);
    std::copy(b.tilt, b.tilt + 3, settings.box_tilt);
    settings.has_box = true;
}

void note_box(const settings::Settings& s, AskedKeys& asked) {
    const bool has = s.has_box;
    const auto edge = [&](int a) { return has ? s.box_upper[a] - s.box_lower[a] : 0; };
    const auto lower = [&](int a) { return has ? s.box_lower[a] : 0; };
    const auto tilt = [&](int t) { return has ? s.box_tilt[t] : 0; };
    asked.periodic = !has || !s.periodic ? 0
                     : s.open_axis >= 0  ? 2 + s.open_axis
                     : s.wire_axis >= 0  ? 5 + s.wire_axis
                                         : 1;
    asked.box_x = edge(0);
    asked.box_y = edge(1);
    asked.box_z = edge(2);
    asked.box_lower_x = lower(0);
    asked.box_lower_y = lower(1);
    asked.box_lower_z = lower(2);
    asked.box_xy = tilt(0);
    asked.box_xz = tilt(1);
    asked.box_yz = tilt(2);
}

namespace {

/// Of the deck keys box.*, where they make one.
void take_box_keys(const AskedKeys& v, settings::Settings& settings) {
    const double edge[3] = {v.box_x, v.box_y, v.box_z},
                 lower[3] = {v.box_lower_x, v.box_lower_y, v.box_lower_z};
    if (edge[0] == 0 && edge[1] == 0 && edge[2] == 0) {
        if (v.periodic != 0)
            fail(Status::argument,
                 "box.periodic is not none but box.x, box.y, box.z are 0; expected the edges of the box");
        return;
    }
    graft_box box{};
    for (int a = 0; a < 3; ++a) {
        // 2, 3, 4: all but x, y, z; 5, 6, 7: x, y, z only
        box.periodic[a] = v.periodic > 4 ? v.periodic == 5 + a : v.periodic != 0 && v.periodic != 2 + a;
        const bool of_no_account = v.periodic != 0 && box.periodic[a] == 0 && edge[a] == 0;
        box.lower[a] = lower[a];
        box.upper[a] = lower[a] + (of_no_account ? std::max({edge[0], edge[1], edge[2]}) : edge[a]);
    }
    box.tilt[0] = v.box_xy;
    box.tilt[1] = v.box_xz;
    box.tilt[2] = v.box_yz;
    take_box(box, settings);
}

} // namespace

settings::Settings engine_settings(const Options& options) {
    const AskedKeys& asked = options.asked;
    settings::Settings s = options.engine;
    s.backend = asked.backend;
    s.tuned = asked.leaf != 0 || asked.group != 0;
    s.leaf = asked.leaf;
    s.group = asked.group;
    s.order = asked.order;
    s.precision = asked.precision;
    if (asked.walk == WalkAsked::transposed)
        s.walk = settings::Walk::transposed;
    if (asked.walk == WalkAsked::thread)
        s.device.walk = settings::walk_thread;
    take_box_keys(asked, s);
    return s;
}

uint64_t fingerprint(const void* data, size_t bytes, uint64_t seed) noexcept {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (size_t i = 0; i < bytes; ++i)
        seed = (seed ^ byte[i]) * 1099511628211ull;
    return seed;
}

uint64_t shared_fingerprint(const Options& o) {
    using namespace settings;
    uint64_t seed = fingerprint(nullptr, 0);
    const auto add = [&seed](auto value, int traits) {
        const double number = static_cast<double>(value) + 0.0; // minus zero is zero
        if ((traits & shared) != 0)
            seed = fingerprint(&number, sizeof number, seed);
    };
#define ENGINE_KEY(type, field, standard, name, takes, unit, meaning, traits) add(o.engine.field, traits);
#define GPU_KEY(type, field, standard, name, takes, unit, meaning, traits) add(o.engine.device.field, traits);
#define DECOMPOSE_KEY(type, field, standard, name, takes, unit, meaning, traits)                             \
    add(o.balance.decompose.field, traits);
#define BALANCE_KEY(type, field, standard, name, takes, unit, meaning, traits) add(o.balance.field, traits);
#define NEAR_KEY(type, field, standard, name, takes, unit, meaning, traits) add(o.near.field, traits);
#define ASKED_KEY(type, field, standard, name, takes, unit, meaning, traits) add(o.asked.field, traits);
#include "settings/keys.inc"
    return seed;
}

void take_live_keys(const Options& changed, settings::Settings& s) {
    using namespace settings;
#define ENGINE_KEY(type, field, standard, name, takes, unit, meaning, traits)                                \
    if constexpr (((traits)&live) != 0)                                                                      \
        s.field = changed.engine.field;
#define GPU_KEY(type, field, standard, name, takes, unit, meaning, traits)                                   \
    if constexpr (((traits)&live) != 0)                                                                      \
        s.device.field = changed.engine.device.field;
#include "settings/keys.inc"
    s.order = changed.asked.order;
}

void check_options(const Options& options) {
    const settings::Settings& s = options.engine;
    if (s.softening == settings::Softening::none && s.softening_length > 0)
        fail(Status::argument,
             "softening.length is %g but softening.kind is none, which would ignore it; expected kind "
             "plummer or spline, or length 0",
             s.softening_length);
    if (s.ewald_part == settings::EwaldPart::all && (s.ewald_alpha != 0 || s.ewald_cutoff != 0))
        fail(Status::argument,
             "ewald.%s is %g, but ewald.part is all, whose pairs are Graft's own; expected ewald.part long_range, or no such key",
             s.ewald_alpha != 0 ? "alpha" : "cutoff", s.ewald_alpha != 0 ? s.ewald_alpha : s.ewald_cutoff);
}

} // namespace graft::capi
