// Instances of tile_gpu.cuh.
#include "near/tiles/tile_kernel_gpu.cuh"

namespace graft::near {

template void sum_tiles_of<Form::helmholtz, Precision::fp32, 3>(backend::Queue&, bool,
                                                                const SumView<Precision::fp32>&,
                                                                const TilesView&, int);

} // namespace graft::near
