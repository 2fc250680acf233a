// The counting pass for float coordinates.
#include "decompose/orb/gpu/cut_count_gpu.cuh"

namespace graft::decompose {

template void orb_count<float>(backend::Queue&, const OrbGround<float>&, int, int);
template void orb_count_again<float>(backend::Queue&, const OrbGround<float>&, int, int);

} // namespace graft::decompose
