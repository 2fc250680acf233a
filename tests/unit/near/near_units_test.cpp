// SPDX-License-Identifier: BSD-3-Clause
// Near fields in any unit of length and charge: what the pairs' arithmetic could not hold is put into units
// of its own, which must not be seen.
#include "near_units.hpp"

using namespace graft;
using namespace graft::test;
namespace near = graft::near;

namespace {

class NearUnits : public testing::Test {
  protected:
    core::Memory memory;
    core::Log log;
    const NearRun run = [this](NearScene& scene) {
        near::NearPlan plan(memory, log, scene.request);
        plan.execute(scene.sums());
    };
};

} // namespace

TEST_F(NearUnits, AnyUnitOfLengthGivesTheSameBits) {
    any_unit_of_length_gives_the_same_bits(run);
}

TEST_F(NearUnits, AnyUnitOfChargeGivesTheSameBits) {
    any_unit_of_charge_gives_the_same_bits(run);
}

TEST_F(NearUnits, LargeAndSmallChargesHaveTheirGradients) {
    large_and_small_charges_have_their_gradients(run);
}

TEST_F(NearUnits, PointsThatAreTooCloseCountAsCoincident) {
    points_that_are_too_close_count_as_coincident(run);
}

TEST_F(NearUnits, PhasesThatAreLostAreRefused) {
    phases_that_are_lost_are_refused(settings::Backend::cpu, 1);
}

TEST_F(NearUnits, SofteningTooShortToBeSeenCountsAsNone) {
    softening_too_short_to_be_seen_counts_as_none(run);
}

TEST_F(NearUnits, NewCoordinatesMayBeInAnotherUnit) {
    new_coordinates_may_be_in_another_unit(settings::Backend::cpu);
}
