// Instances of tile_gpu.cuh.
#include "near/tiles/tile_kernel_gpu.cuh"

namespace graft::near {

template void sum_tiles_of<Form::table, Precision::fp64, 3>(backend::Queue&, bool,
                                                            const SumView<Precision::fp64>&, const TilesView&,
                                                            int);

} // namespace graft::near
