// SPDX-License-Identifier: BSD-3-Clause
#include "settings/choices.hpp"

#include "settings/accuracy_reach.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace graft::settings {

namespace {

/// From this accuracy on; the first row that holds is taken.
struct OrderChoice {
    double least;
    int order;
};
constexpr OrderChoice orders[] = {{5e-4, 2}, {5e-6, 4}, {2e-6, 6}, {5e-8, 8}, {2e-9, 10}, {0, largest_order}};
constexpr int standard_order = 2;
static_assert(std::size(least_accuracy) == largest_order + 1);

/// Of replicas: forces are what is left of fields that cancel, larger by the cube root of the number of particles where
/// these are even, so cells must be more exact than the forces.
constexpr OrderChoice replica_orders[] = {{5e-4, 4}, {5e-8, 8}, {2e-9, 10}, {0, largest_order}};
/// The same makes single precision end earlier; fewer particles have few images within the splitting's cut-off.
constexpr double least_replica_accuracy = 2e-5;
constexpr int64_t least_for_replicas = 50000;

bool by_accuracy(const Settings& s) {
    return s.method == Method::tree && s.mac == MacType::error;
}

/// On a GPU order 2 is by far the fastest (docs/lab/accuracy.md), so it is kept below what it holds by itself, with cells
/// that are the more exact.
bool stays_low(const Settings& s) {
    constexpr double least = 1e-5;
    return !s.periodic && s.accuracy >= least;
}

/// The accuracy of cells of order 2 with which 99 of 100 forces are as exact as `asked`: p99 is asked (asked / 1e-4)^-0.28
/// times 1.8, on Plummer spheres, cubes and cusps.
double accuracy_of_low_cells(double asked) {
    const double least = least_accuracy[standard_order];
    return asked < least ? 0.5 * asked * std::pow(asked / least, 0.39) : asked;
}

int order_of(const Settings& s, bool on_gpus) {
    if (!by_accuracy(s))
        return standard_order;
    if (on_gpus && (stays_low(s) || s.accuracy >= least_accuracy[standard_order]))
        return standard_order; // whose far cells become polynomials there
    const auto chosen = [&](const auto& rows) {
        return std::ranges::find_if(rows, [&](const OrderChoice& row) { return s.accuracy >= row.least; })->order;
    };
    return std::min(s.replicas ? chosen(replica_orders) : chosen(orders), highest_order(s, on_gpus));
}

/// Whether ewald.method auto may take replicas, for a call that suits them.
bool may_have_replicas(const Settings& s, bool on_gpus) {
    return s.periodic && s.lattice_sum == LatticeSum::auto_ && s.open_axis < 0 && s.wire_axis < 0 && !on_gpus && by_accuracy(s) &&
           s.theta > 0 && s.accuracy >= least_replica_accuracy && s.softening != Softening::plummer && s.ewald_accuracy == 0 &&
           s.ewald_part == EwaldPart::all && s.local != Local::off && s.walk == Walk::group && s.tree_scope == TreeScope::local &&
           s.exchange == Exchange::push;
}

/// Orders and sizes that are still left to Graft.
void choose_rest(Settings& s, bool on_gpus) {
    if (s.order < 0) {
        s.order = order_of(s, on_gpus);
        if (on_gpus && by_accuracy(s) && stays_low(s))
            s.accuracy = accuracy_of_low_cells(s.accuracy);
    }
    if (!s.tuned)
        s.leaf = s.group = 0;
    const bool small = s.periodic && !s.replicas && !s.tuned; // a cut-off wants small boxes: what is met beyond it is lost
    const bool high = s.order > everywhere_order;
    if (s.leaf == 0)
        s.leaf = small ? 16 : 64;
    if (s.group == 0)
        s.group = small ? 32 : high ? 64 : 128;
}

} // namespace

bool bounds_largest(const Settings& s) {
    return s.mac_kind == MacKind::max && by_accuracy(s) && s.theta > 0;
}

int highest_order(const Settings& s, bool on_gpus) {
    const bool split = s.periodic && s.lattice_sum != LatticeSum::replicas && !s.replicas;
    return on_gpus || split || s.softening == Softening::plummer ? everywhere_order : largest_order;
}

Precision precision_of(const Settings& s) {
    if (s.precision != Precision::auto_)
        return s.precision;
    if (s.mac_kind == MacKind::max) // of pairs that nearly cancel single precision keeps too little
        return Precision::fp64;
    const bool no_pairs = s.periodic && s.ewald_part == EwaldPart::long_range;
    const bool by_mac = (by_accuracy(s) || s.method == Method::direct) && !no_pairs && s.accuracy < single_precision_floor;
    const bool by_lattice = s.periodic && s.ewald_accuracy > 0 && s.ewald_accuracy < single_precision_of_split;
    return by_mac || by_lattice ? Precision::fp64 : Precision::mixed;
}

Settings with_choices(const Settings& asked, bool on_gpus, const Call& call) {
    Settings s = asked;
    s.order_left = s.order < 0;
    s.precision_left = s.precision == Precision::auto_;
    s.replicas = s.lattice_sum == LatticeSum::replicas ||
                 (may_have_replicas(s, on_gpus) && call.forces_alone && call.particles >= least_for_replicas);
    s.precision = precision_of(asked);
    if (bounds_largest(s))
        s.accuracy /= margin_of_largest;
    choose_rest(s, on_gpus);
    return s;
}

Settings split_instead(const Settings& chosen, double accuracy) {
    Settings s = chosen;
    s.replicas = false;
    s.accuracy = accuracy;
    s.order = s.order_left ? -1 : s.order;
    if (s.precision_left && by_accuracy(s) && accuracy < single_precision_of_split)
        s.precision = Precision::fp64;
    choose_rest(s, false);
    return s;
}

} // namespace graft::settings
