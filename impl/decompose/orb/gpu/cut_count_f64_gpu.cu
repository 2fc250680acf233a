// The counting pass for double coordinates.
#include "decompose/orb/gpu/cut_count_gpu.cuh"

namespace graft::decompose {

template void orb_count<double>(backend::Queue&, const OrbGround<double>&, int, int);
template void orb_count_again<double>(backend::Queue&, const OrbGround<double>&, int, int);

} // namespace graft::decompose
