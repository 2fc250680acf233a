// See p2p_fast_gpu.cuh: with the potential.
#include "forces/p2p/p2p_fast_gpu.cuh"

namespace graft::forces::fast_pairs {

template void launch<false, true>(backend::Queue&, const EvaluationView&, const UnitView&);
template void launch<true, true>(backend::Queue&, const EvaluationView&, const UnitView&);

} // namespace graft::forces::fast_pairs
