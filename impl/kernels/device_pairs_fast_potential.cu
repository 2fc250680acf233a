// See device_pairs_fast.cuh: with the potential.
#include "kernels/device_pairs_fast.cuh"

namespace graft::kernels::fast_pairs {

template void launch<false, true>(backend::Queue&, const EvaluationView&, const UnitView&);
template void launch<true, true>(backend::Queue&, const EvaluationView&, const UnitView&);

} // namespace graft::kernels::fast_pairs
