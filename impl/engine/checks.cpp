// SPDX-License-Identifier: BSD-3-Clause
// See checks.hpp.
#include "engine/checks.hpp"

#include "core/error.hpp"
#include "moments/moment_terms.hpp"
#include "particles/charge_scale.hpp"
#include "settings/choices.hpp"

#include <cmath>
#include <limits>

namespace graft::engine {

using core::fail;
using core::Status;

void check_count(int64_t n, const char* what) {
    if (n < 0)
        fail(Status::argument, "%s: n = %lld; expected n >= 0", what, static_cast<long long>(n));
    if (n > std::numeric_limits<int32_t>::max())
        fail(Status::argument,
             "%s: n = %lld; one process of this version takes at most 2^31 - 1 = 2147483647 particles. "
             "Split them over ranks",
             what, static_cast<long long>(n));
}

void check_charge_all(double charge) {
    if (!std::isfinite(charge))
        fail(Status::value, "charge_all is %g; expected a finite number", charge);
}

void refuse_infinite_charge() {
    fail(Status::value,
         "charge: the magnitudes add up to infinity; expected a finite sum. Choose other units");
}

double scale_of_charges(double magnitude) {
    const double scale = particles::charge_scale(magnitude);
    if (scale == 0)
        refuse_infinite_charge();
    return scale;
}

static_assert(settings::everywhere_order == moments::cartesian_order);
static_assert(settings::largest_order == moments::max_order);

void check_order(const settings::Settings& settings) {
    if (settings.method != settings::Method::tree || !moments::is_harmonic(settings.order))
        return;
    const bool plummer = settings.softening == settings::Softening::plummer;
    const bool split = settings.periodic && settings.lattice_sum != settings::LatticeSum::replicas;
    const char* const what = split     ? "in a periodic box without ewald.method replicas"
                             : plummer ? "with softening.kind plummer"
                                       : nullptr;
    if (what != nullptr)
        fail(Status::unsupported, "order %d %s; expected 0 to %d there", settings.order, what, moments::cartesian_order);
}

void check_kind(const settings::Settings& settings, bool each) {
    if (settings.mac_kind != settings::MacKind::max || settings.method == settings::Method::reference)
        return;
    const bool tree = settings.method == settings::Method::tree;
    const bool lengths = each && settings.softening == settings::Softening::plummer; // in a cell they are one
    const char* const what = settings.periodic                                            ? "a periodic box"
                             : settings.conserve_momentum                                 ? "conserve_momentum"
                             : tree && settings.mac != settings::MacType::error           ? "mac.type edge or box"
                             : tree && settings.tree_scope == settings::TreeScope::global ? "tree.scope global"
                             : tree && lengths                                            ? "Plummer lengths of particles"
                                                                                          : nullptr;
    if (what != nullptr)
        fail(Status::unsupported,
             "mac.kind max is not had with %s; expected mac.type error, an open box, tree.scope local, no conserve_momentum, and "
             "one softening length or splines; or mac.kind usual",
             what);
}

void check_part(const settings::Settings& settings) {
    if (settings.ewald_part != settings::EwaldPart::long_range)
        return;
    if (!settings.periodic)
        fail(Status::argument, "ewald.part long_range in a box without images; expected a periodic box: box.periodic or "
                               "context_set_box, or ewald.part all");
    if (settings.ewald_alpha == 0 && settings.ewald_cutoff == 0)
        fail(Status::argument,
             "ewald.part long_range, but nothing says where the host's pairs end; expected ewald.cutoff, or the "
             "ewald.alpha of these pairs");
    const bool replicas = settings.lattice_sum == settings::LatticeSum::replicas;
    const char* const what = replicas                                          ? "ewald.method replicas"
                             : settings.method == settings::Method::reference  ? "method reference"
                             : settings.softening != settings::Softening::none ? "softening"
                                                                               : nullptr;
    if (what != nullptr)
        fail(Status::unsupported,
             "ewald.part long_range is not had with %s; expected ewald.method split or auto, method tree or "
             "direct, and softening.kind none",
             what);
}

void refuse_needless_softening() {
    fail(Status::argument,
         "particles.softening is given but softening.kind is none; expected plummer or spline. "
         "Set softening.kind in the deck, or pass NULL");
}

void refuse_two_target_sets() {
    fail(Status::argument,
         "particles.active and particles.target_index are both given; expected at most one of them");
}

void check_lattice(const settings::Settings& settings, bool softened, bool virial_of_some) {
    if (virial_of_some)
        fail(Status::unsupported, "results.virial in a periodic box is that of all particles, but only some are "
                                  "active or targets; compute all, or leave the virial away");
    const bool slab_or_wire = settings.open_axis >= 0 || settings.wire_axis >= 0;
    if (slab_or_wire && softened && settings.softening == settings::Softening::plummer)
        fail(Status::unsupported,
             "softening.kind plummer in a slab or wire: its tail reaches the images across, which this version "
             "does not take off; expected spline or none, or a box with images along three axes that has a "
             "vacuum of its own");
}

void refuse_target(int64_t k, int64_t given, int64_t base, int64_t n) {
    fail(Status::value, "particles.target_index: entry %lld (counted from 0) is %lld; expected %lld to %lld",
         static_cast<long long>(k), static_cast<long long>(given), static_cast<long long>(base),
         static_cast<long long>(n) - 1 + base);
}

void refuse_target_twice(int64_t k, int64_t given) {
    fail(Status::value,
         "particles.target_index: %lld stands twice, again at entry %lld (counted from 0); expected each "
         "particle at most once",
         static_cast<long long>(given), static_cast<long long>(k));
}

void refuse_before_end(const char* entry) {
    fail(Status::call_order, "%s: a computation was begun but not ended; call compute_end first", entry);
}

void refuse_work() {
    fail(Status::call_order,
         "there is no work to weigh particles by: the last call was no compute that succeeded; compute "
         "the forces first, or balance by count");
}

} // namespace graft::engine
