// SPDX-License-Identifier: BSD-3-Clause
// What a call's arguments are refused for, in one place for CPU and GPU. All throw core::Error.
#pragma once

#include "settings/settings.hpp"

#include <cstdint>

namespace graft::engine {

/// Error(argument) for n < 0 and n >= 2^31; `what`: particles or points.
void check_count(int64_t n, const char* what);
/// Error(value): charge_all must be finite.
void check_charge_all(double charge);
[[noreturn]] void refuse_infinite_charge();
/// The power of two that charges with this sum of |charge| are multiplied by. Throws Error(value) for a sum that is
/// not finite.
double scale_of_charges(double magnitude);
/// Orders that this computation has no expansions of.
void check_order(const settings::Settings& settings);
/// Error(unsupported): where not all forces are within mac.accuracy (mac.kind max). each: particles have softening lengths.
void check_kind(const settings::Settings& settings, bool each);
/// Error(argument, unsupported): what a long-range part alone (ewald.part) is not had of.
void check_part(const settings::Settings& settings);
[[noreturn]] void refuse_needless_softening();
[[noreturn]] void refuse_two_target_sets();
/// Error(unsupported) for what a periodic box that has particles does not have: the virial of some of them, and Plummer
/// softening where images are along fewer axes than three. softened: by any length.
void check_lattice(const settings::Settings& settings, bool softened, bool virial_of_some);
/// Entry k of a target list is `given`, not one of base ... n - 1 + base; or has stood there before.
[[noreturn]] void refuse_target(int64_t k, int64_t given, int64_t base, int64_t n);
[[noreturn]] void refuse_target_twice(int64_t k, int64_t given);
/// Error(call_order): of this entry, before compute_end.
[[noreturn]] void refuse_before_end(const char* entry);
/// Error(call_order): no compute has succeeded, so there is no work of particles.
[[noreturn]] void refuse_work();

inline constexpr const char* axis_names[3] = {"position x", "position y", "position z"};
inline constexpr const char* acceleration_names[3] = {"results.acceleration x", "results.acceleration y",
                                                      "results.acceleration z"};
inline constexpr const char *potential_name = "results.potential", *virial_name = "results.virial",
                            *energy_name = "results.energy";
inline constexpr double largest_position = 1e150; // larger ones would overflow when squared

} // namespace graft::engine
