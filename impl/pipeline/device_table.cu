// The engine behind a C table.
#include "backend/device_guard.hpp"
#include "pipeline/device_engine.cuh"
#include "pipeline/device_table.hpp"

namespace graft::pipeline {

namespace {

using backend::DeviceError;
using backend::guarded_device;

int32_t create(const DeviceOptions* options, void** engine, DeviceError* error) {
    return guarded_device(error, [&] { *engine = new DeviceForce(*options); });
}

void destroy(void* engine) {
    delete static_cast<DeviceForce*>(engine);
}

int32_t begin(void* engine, const Settings* settings, const ParticleInput* particles,
              const ParticleInput* points, const Outputs* outputs, void* stream, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<DeviceForce*>(engine)->begin(*settings, *particles, points, *outputs, stream);
    });
}

int32_t end(void* engine, DeviceReport* report, DeviceError* error) {
    return guarded_device(error, [&] { static_cast<DeviceForce*>(engine)->end(*report); });
}

int32_t work(void* engine, double expansion_pairs, double* work, int64_t n, DeviceError* error) {
    return guarded_device(error, [&] { static_cast<DeviceForce*>(engine)->work(expansion_pairs, work, n); });
}

} // namespace

const DeviceForceTable* device_force_table() {
    static const DeviceForceTable table = {create, destroy, begin, end, work};
    return &table;
}

} // namespace graft::pipeline
