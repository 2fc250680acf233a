// The GPU's engine as a Solver holds it. For the solver_device*.cpp only.
#pragma once

#include "backend/gpu_library.hpp"
#include "engine/gpu/force_table.hpp"
#include "engine/ranks/ranks_on_gpus.hpp"
#include "engine/solver.hpp"

#include <string>

namespace graft::engine {

/// Fewer particles than this are on a CPU core before a GPU has launched its kernels
/// (docs/lab/gpu/engine.md).
inline constexpr int64_t least_for_gpu = 2048;

struct NamedView {
    const char* name = nullptr;
    const particles::ArrayView* view = nullptr;
};
/// The first array that only a GPU can reach; NULL: none.
NamedView device_array(const ParticleInput& particles, const ParticleInput* points, const Outputs& outputs);

/// The GPU's engine, made when it is first wanted.
struct Solver::DeviceSide {
    explicit DeviceSide(const backend::CudaTable& cuda, const settings::DeviceOptions& wanted)
        : table(*cuda.force), options(wanted) {
        backend::DeviceError error;
        backend::raise(table.create(&wanted, &engine, &error), error);
    }
    ~DeviceSide() { table.destroy(engine); }
    DeviceSide(const DeviceSide&) = delete;
    DeviceSide& operator=(const DeviceSide&) = delete;

    const DeviceForceTable& table;
    settings::DeviceOptions options;
    void* engine = nullptr;
    std::string said; // of a periodic box
};

} // namespace graft::engine
