// SPDX-License-Identifier: BSD-3-Clause
#include "settings/choices.hpp"

#include "settings/accuracy_reach.hpp"

#include <algorithm>
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

bool by_accuracy(const Settings& s) {
    return s.method == Method::tree && s.mac == MacType::error;
}

int order_of(const Settings& s, bool on_gpus) {
    if (!by_accuracy(s))
        return standard_order;
    if (on_gpus && s.accuracy >= least_accuracy[standard_order])
        return standard_order; // whose far cells become polynomials there
    const int order = std::find_if(std::begin(orders), std::end(orders), [&](const OrderChoice& choice) {
                          return s.accuracy >= choice.least;
                      })->order;
    return std::min(order, highest_order(s, on_gpus));
}

} // namespace

int highest_order(const Settings& s, bool on_gpus) {
    return on_gpus || (s.periodic && !s.replicas) || s.softening == Softening::plummer ? everywhere_order : largest_order;
}

Precision precision_of(const Settings& s) {
    if (s.precision != Precision::auto_)
        return s.precision;
    return by_accuracy(s) && s.accuracy < single_precision_floor ? Precision::fp64 : Precision::mixed;
}

Settings with_choices(const Settings& asked, bool on_gpus) {
    Settings s = asked;
    s.precision = precision_of(asked);
    if (s.order < 0)
        s.order = order_of(asked, on_gpus);
    if (!s.tuned)
        s.leaf = s.group = 0;
    const bool small = s.periodic && !s.replicas && !s.tuned; // a cut-off wants small boxes: what is met beyond it is lost
    const bool high = s.order > everywhere_order;
    if (s.leaf == 0)
        s.leaf = small ? 16 : 64;
    if (s.group == 0)
        s.group = small ? 32 : high ? 64 : 128;
    return s;
}

} // namespace graft::settings
