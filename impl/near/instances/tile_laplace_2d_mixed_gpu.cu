// Instances of tile_gpu.cuh.
#include "near/tiles/tile_kernel_gpu.cuh"

namespace graft::near {

template void sum_tiles_of<Form::laplace, Precision::mixed, 2>(backend::Queue&, bool,
                                                               const SumView<Precision::mixed>&,
                                                               const TilesView&, int);

} // namespace graft::near
