// Small computations as CUDA graphs: the second of two equal calls is captured, all that follow are replayed.
//
// Equal are calls with the same settings, sizes, pointers and strides, between which no buffer has grown,
// with all inputs in device memory. Any other call drops the graph: what the host remembers of a computation
// is then that of the last one enqueued.
#pragma once

#include "engine/gpu/engine_gpu.cuh"

namespace graft::engine {

struct DeviceForce::Graph {
    ~Graph() { drop(); }
    void drop() noexcept {
        if (executable != nullptr)
            (void)cudaGraphExecDestroy(executable);
        executable = nullptr;
    }
    std::vector<uint64_t> last_key, key; // of the last call that succeeded; of the graph
    cudaGraphExec_t executable = nullptr;
    int64_t launches = 0;
    bool replayed = false, refused = false;
};

} // namespace graft::engine
