// Instances of tile_block_gpu.cuh.
#include "near/tiles/tile_block_gpu.cuh"

namespace graft::near {

template void sum_blocks_of<Form::laplace, 3>(backend::Queue&, int32_t, const SumView<Precision::fp32>&,
                                              const TileBlock*, const int2*);

} // namespace graft::near
