// Instances of device_tiled.cuh.
#include "kernels/near/device_tiled_kernel.cuh"

namespace graft::kernels::near {

template void sum_tiles_of<Form::logarithm, Precision::mixed, 3>(backend::Queue&, bool,
                                                                 const SumView<Precision::mixed>&,
                                                                 const TilesView&, int);

} // namespace graft::kernels::near
