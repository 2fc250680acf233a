// Near fields in any unit of length and charge: what the pairs' arithmetic could not hold is put into units
// of its own, which must not be seen.
#include "near_units.hpp"

using namespace graft;
using namespace graft::test;
namespace near = graft::kernels::near;

namespace {

class NearUnits : public testing::Test {
  protected:
    core::Memory memory;
    core::Log log;
    const NearRun run = [this](NearScene& scene) {
        pipeline::NearPlan plan(memory, log, scene.request);
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
    for (const near::Precision precision :
         {near::Precision::fp32, near::Precision::mixed, near::Precision::fp64}) {
        NearScene scene(60, 0, 3, 2);
        scene.request.sums.kernel.kernel = near::Kernel::helmholtz;
        scene.request.sums.precision = precision;
        scene.request.options.layout = static_cast<int32_t>(near::Layout::tiled);
        const double most = precision == near::Precision::fp64 ? 1e15 : 3e6;
        scene.request.sums.kernel.wave_number = most;
        pipeline::NearPlan plan(memory, log, scene.request);
        plan.execute(scene.sums());
        scene.expect_close("the longest phases");
        scene.request.sums.kernel.wave_number = 2 * most;
        try {
            pipeline::NearPlan lost(memory, log, scene.request);
            ADD_FAILURE() << "taken with " << 2 * most;
        } catch (const core::Error& error) {
            EXPECT_EQ(error.status(), core::Status::argument);
            EXPECT_NE(std::string(error.what()).find("where phases are lost"), std::string::npos)
                << error.what();
        }
    }
}

TEST_F(NearUnits, SofteningTooShortToBeSeenCountsAsNone) {
    softening_too_short_to_be_seen_counts_as_none(run);
}

TEST_F(NearUnits, NewCoordinatesMayBeInAnotherUnit) {
    new_coordinates_may_be_in_another_unit(pipeline::Backend::cpu);
}
