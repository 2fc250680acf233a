// SPDX-License-Identifier: BSD-3-Clause
// The conductor: see solver.hpp.
#include "engine/solver.hpp"

#include "core/error.hpp"
#include "engine/buffer_tuning.hpp"
#include "engine/checks.hpp"
#include "engine/gpu_calls.hpp"
#include "settings/accuracy_reach.hpp"
#include "settings/choices.hpp"

#include <algorithm>
#include <utility>

namespace graft::engine {

using core::fail;
using core::Status;

Solver::Solver(const settings::Settings& settings, core::Memory& memory)
    : settings_(settings), buffers_(std::make_unique<BufferTuning>()), cpu_(memory),
      gpu_(std::make_unique<GpuEngine>(memory)) {}

Solver::~Solver() = default;

void Solver::set_tree_sizes(TreeSizesBy by, bool leaf_given, bool group_given,
                            const model::Machine* machine) {
    tuning_.set(by, leaf_given, group_given, machine);
    buffers_->set(machine);
}

void Solver::compute(const ParticleInput& particles, const Outputs& outputs) {
    require_nothing_begun("compute");
    begin({particles, nullptr, outputs});
    end();
}

void Solver::field_at(const ParticleInput& particles, const ParticleInput& points, const Outputs& outputs) {
    require_nothing_begun("field_at");
    begin({particles, &points, outputs});
    end();
}

void Solver::begin_compute(const ParticleInput& particles, const Outputs& outputs, void* stream) {
    require_nothing_begun("compute_begin");
    stream_ = stream;
    begin({particles, nullptr, outputs});
    begun_ = true;
    once_ = outputs.no_repair;
}

void Solver::end_compute() {
    if (!begun_)
        fail(Status::call_order, "compute_end: no computation was begun; expected compute_begin before it");
    begun_ = false;
    const bool once = std::exchange(once_, false);
    end(once);
}

bool Solver::poll() {
    return !on_gpu_ || gpu_->poll();
}

void* Solver::event() {
    return on_gpu_ ? gpu_->event() : nullptr;
}

void Solver::set_device_allocator(const DeviceAllocator& allocator) {
    gpu_->set_allocator(allocator);
}

void Solver::release() {
    require_nothing_begun("context_release_memory");
    cpu_.release();
    gpu_->release();
    released_ = true;
}

void Solver::require_nothing_begun(const char* entry) const {
    if (begun_)
        refuse_before_end(entry);
}

Environment Solver::environment() {
    return {*comm_, computed_, log_, tuning_, *buffers_, report_};
}

void Solver::begin(const Request& request) {
    report_.valid = released_ = false;
    const Placement placement = backend_choice_.choose(*comm_, settings_, request, gpu_->device());
    computed_ = settings::with_choices(settings_, placement.gpu || placement.beside_gpus, placement.call);
    say(placement);
    doubt(placement);
    on_gpu_ = placement.gpu;
    points_ = request.points != nullptr;
    if (on_gpu_)
        gpu_->begin(environment(), request, placement, stream_);
    else
        comm_->guarded([&] { cpu_.compute(environment(), request, placement); });
}

void Solver::end(bool once) {
    if (!on_gpu_)
        return; // the CPU has done it all
    gpu_->end(environment(), once);
    cpu_.forget_field();
}

/// Where it computes, when that changes.
void Solver::say(const Placement& placement) {
    std::string words = placement.words();
    if (words != said_ && settings_.backend != settings::Backend::cpu && log_.wants(core::LogLevel::info))
        log_.write(core::LogLevel::info, words);
    said_ = std::move(words);
}

/// What was not to be doubted before it was known that GPUs compute, whose orders are lower.
void Solver::doubt(const Placement& placement) {
    const bool gpus = placement.gpu || placement.beside_gpus;
    if (!to_doubt_ || !gpus || !log_.wants(core::LogLevel::warning))
        return;
    to_doubt_ = false;
    const std::vector<std::string> before = settings::accuracy_doubts(settings_);
    std::string words;
    for (const std::string& one : settings::accuracy_doubts(computed_, true))
        words += std::ranges::find(before, one) == before.end() ? one : "";
    if (words != doubted_ && !words.empty())
        log_.write(core::LogLevel::warning, words);
    doubted_ = std::move(words);
}

void Solver::work_of_particles(double* work) const {
    bool known = !released_ && report_.valid && !points_;
    if (known && on_gpu_)
        known = gpu_->work_of_particles(computed_, work);
    else if (known)
        cpu_.work_of_particles(*comm_, computed_, work);
    if (!known)
        refuse_work();
}

} // namespace graft::engine
