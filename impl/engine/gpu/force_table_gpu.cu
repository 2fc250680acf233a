// SPDX-License-Identifier: BSD-3-Clause
// The engine behind a C table.
#include "backend/block_cache_gpu.cuh"
#include "backend/context_id_gpu.cuh"
#include "backend/guard_gpu.cuh"
#include "engine/checks.hpp"
#include "engine/gpu/engine_gpu.cuh"
#include "engine/gpu/force_table_gpu.hpp"

#include <algorithm>
#include <memory>

namespace graft::engine {

namespace {

using backend::DeviceError;
using backend::guarded_device;

/// What a caller holds. An engine that has more memory than it may have from now on, or whose host now works
/// in another context of the device or has reset it, makes way for a new one, whose counters begin anew.
class Engine {
  public:
    explicit Engine(const settings::DeviceOptions& options) : options_(options) { make(); }
    ~Engine() { end(); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    DeviceForce& force() {
        if (!force_) // the last one could not be made
            make();
        return *force_;
    }
    backend::Context context() const { return mark_.context; }
    void obey(int64_t memory_limit) {
        DeviceForce& held = force();
        const bool too_large = memory_limit > 0 && held.memory().bytes_held() > memory_limit;
        const backend::Context now = backend::current_context();
        const bool lost = mark_.gone();
        const bool elsewhere =
            now != nullptr && now != mark_.context && backend::current_is_of(held.memory().device());
        if (!lost && (held.begun() || !(too_large || elsewhere)))
            return;
        end();
        backend::make_current(elsewhere || lost ? now : mark_.context);
        make();
    }

    /// All memory goes; the next computation takes it anew, from there.
    void use_allocator(const backend::GpuAllocator& allocator) {
        require_nothing_in_flight("set_allocator");
        end();
        allocator_ = allocator;
    }
    void give_back() {
        require_nothing_in_flight("give_back");
        end();
        (void)backend::DeviceCache::of(std::max(options_.device, 0)).clear();
    }

    /// Before what is in flight is ended.
    void require_context() {
        if (!mark_.gone())
            return;
        end();
        core::fail(core::Status::device,
                   "compute_end: the host has reset device %d since compute_begin, and the computation went "
                   "with it; compute again, and call cudaDeviceReset when nothing is in flight",
                   std::max(options_.device, 0));
    }

  private:
    void require_nothing_in_flight(const char* call) const {
        if (force_ && !mark_.gone() && force_->begun())
            refuse_before_end(call);
    }
    /// What was in a context that is gone is forgotten: an address or a stream of another one may be the
    /// same.
    void end() {
        if (mark_.gone())
            return (void)force_.release();
        const backend::InContext here(mark_.context);
        force_.reset();
    }
    /// In the current context, if that is one of the device.
    void make() {
        const bool there = backend::current_is_of(std::max(options_.device, 0));
        const backend::InContext here(there ? backend::current_context() : nullptr);
        force_ = std::make_unique<DeviceForce>(options_, allocator_);
        mark_ = backend::current_mark();
    }
    settings::DeviceOptions options_;
    backend::GpuAllocator allocator_;
    std::unique_ptr<DeviceForce> force_;
    backend::ContextMark mark_;
};

int32_t create(const settings::DeviceOptions* options, void** engine, DeviceError* error) {
    return guarded_device(error, [&] { *engine = new Engine(*options); });
}

void destroy(void* engine) {
    const backend::KeepsDevice keeps;
    delete static_cast<Engine*>(engine);
}

int32_t begin(void* engine, const settings::Settings* settings, const ParticleInput* particles,
              const ParticleInput* points, const Outputs* outputs, void* stream, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->obey(settings->device.memory_limit);
        const ForceAt force(engine);
        force->begin(*settings, *particles, points, *outputs, stream);
    });
}

int32_t end(void* engine, DeviceReport* report, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->require_context();
        (void)ForceAt(engine)->end(true, *report);
    });
}

int32_t end_once(void* engine, DeviceReport* report, int32_t* again, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->require_context();
        *again = ForceAt(engine)->end(false, *report) ? 0 : 1;
    });
}

int32_t poll(void* engine, int32_t* ended, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->require_context();
        *ended = ForceAt(engine)->ended() ? 1 : 0;
    });
}

int32_t event(void* engine, void** event, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->require_context();
        *event = ForceAt(engine)->event();
    });
}

int32_t set_allocator(void* engine, const backend::GpuAllocator* allocator, DeviceError* error) {
    return guarded_device(error, [&] {
        static_cast<Engine*>(engine)->use_allocator(allocator != nullptr ? *allocator : backend::GpuAllocator{});
    });
}

int32_t give_back(void* engine, DeviceError* error) {
    return guarded_device(error, [&] { static_cast<Engine*>(engine)->give_back(); });
}

int32_t work(void* engine, double expansion_pairs, double* work, int64_t n, int32_t* known, DeviceError* error) {
    return guarded_device(error, [&] { *known = ForceAt(engine)->work(expansion_pairs, work, n) ? 1 : 0; });
}

} // namespace

ForceAt::ForceAt(void* engine)
    : here_(static_cast<Engine*>(engine)->context()), force_(static_cast<Engine*>(engine)->force()) {}

const DeviceForceTable* device_force_table() {
    static const DeviceForceTable table = {create, destroy, begin, end, work, device_ranks_table(),
                                           end_once, poll, event, set_allocator, give_back};
    return &table;
}

} // namespace graft::engine
