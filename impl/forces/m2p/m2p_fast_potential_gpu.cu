// See m2p_fast_gpu.cuh: with the potential.
#include "forces/m2p/m2p_fast_gpu.cuh"

namespace graft::forces::fast_cells {

template void launch<false, true>(backend::Queue&, const EvaluationView&, const UnitView&, const PackedCell*,
                                  const ChargeSigns*);
template void launch<true, true>(backend::Queue&, const EvaluationView&, const UnitView&, const PackedCell*,
                                 const ChargeSigns*);

} // namespace graft::forces::fast_cells
