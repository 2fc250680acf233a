// The engine behind a C table.
#include "backend/device_guard.cuh"
#include "pipeline/device_engine.cuh"
#include "pipeline/device_table.hpp"

#include <memory>

namespace graft::pipeline {

namespace {

using backend::DeviceError;
using backend::guarded_device;

/// What a caller holds. An engine that has more memory than it may have from now on makes way for a new one,
/// whose counters begin anew.
struct Engine {
    DeviceOptions options;
    std::unique_ptr<DeviceForce> force;
    void obey(int64_t memory_limit) {
        if (memory_limit > 0 && force->memory().bytes_held() > memory_limit && !force->begun()) {
            force.reset();
            force = std::make_unique<DeviceForce>(options);
        }
    }
};

int32_t create(const DeviceOptions* options, void** engine, DeviceError* error) {
    return guarded_device(error, [&] {
        *engine = new Engine{*options, std::make_unique<DeviceForce>(*options)};
    });
}

void destroy(void* engine) {
    const backend::KeepsDevice keeps;
    delete static_cast<Engine*>(engine);
}

int32_t begin(void* engine, const Settings* settings, const ParticleInput* particles,
              const ParticleInput* points, const Outputs* outputs, void* stream, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->obey(settings->device.memory_limit);
        force_of(engine).begin(*settings, *particles, points, *outputs, stream);
    });
}

int32_t end(void* engine, DeviceReport* report, DeviceError* error) {
    return guarded_device(error, [&] { force_of(engine).end(*report); });
}

int32_t work(void* engine, double expansion_pairs, double* work, int64_t n, DeviceError* error) {
    return guarded_device(error, [&] { force_of(engine).work(expansion_pairs, work, n); });
}

} // namespace

DeviceForce& force_of(void* engine) {
    return *static_cast<Engine*>(engine)->force;
}

const DeviceForceTable* device_force_table() {
    static const DeviceForceTable table = {create, destroy, begin, end, work, device_ranks_table()};
    return &table;
}

} // namespace graft::pipeline
