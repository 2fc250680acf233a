// The counting pass for float coordinates.
#include "decompose/device_orb_count.cuh"

namespace graft::decompose {

template void orb_count<float>(backend::Queue&, const OrbGround<float>&, int, int);
template void orb_count_again<float>(backend::Queue&, const OrbGround<float>&, int, int);

} // namespace graft::decompose
