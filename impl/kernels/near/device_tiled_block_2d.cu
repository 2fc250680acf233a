// Instances of device_tiled_block.cuh.
#include "kernels/near/device_tiled_block.cuh"

namespace graft::kernels::near {

template void sum_blocks_of<Form::laplace, 2>(backend::Queue&, int32_t, const SumView<Precision::fp32>&,
                                              const TileBlock*, const int2*);

} // namespace graft::kernels::near
