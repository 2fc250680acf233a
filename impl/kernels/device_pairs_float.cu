// Pairs of units in float, see device_pairs_general.cuh.
#include "kernels/device_pairs.cuh"
#include "kernels/device_pairs_general.cuh"

namespace graft::kernels {

void sum_pairs_float(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
                     const PairVariant& variant) {
    general_pairs::launch_any<float>(queue, view, units, variant);
}

} // namespace graft::kernels
