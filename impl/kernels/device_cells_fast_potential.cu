// See device_cells_fast.cuh: with the potential.
#include "kernels/device_cells_fast.cuh"

namespace graft::kernels::fast_cells {

template void launch<false, true>(backend::Queue&, const EvaluationView&, const UnitView&, const PackedCell*,
                                  const ChargeSigns*);
template void launch<true, true>(backend::Queue&, const EvaluationView&, const UnitView&, const PackedCell*,
                                 const ChargeSigns*);

} // namespace graft::kernels::fast_cells
