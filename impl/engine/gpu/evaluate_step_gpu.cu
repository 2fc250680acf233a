// SPDX-License-Identifier: BSD-3-Clause
// See evaluate_step_gpu.cuh.
#include "engine/gpu/evaluate_step_gpu.cuh"

namespace graft::engine {

void EvaluateStep::pack(Computation& c, const forces::DeviceEvaluation& how, const tree::DeviceTree& tree,
                        const moments::DeviceMoments& moments) {
    evaluator.hold_cells(how, tree);
    far_ = evaluator.pack(c.queue, how, tree, moments);
}

void EvaluateStep::begin(const DeviceJob& job) {
    fed_report_ = {};
    if (!job.feeds())
        fed_.reset();
    else if (!fed_)
        fed_ = forces::require_variants().make_feed(memory_);
}

void EvaluateStep::batch(Computation& c, const forces::DeviceEvaluation& how, const TreeStep& from,
                         const lists::DeviceTargets& targets, const lists::DeviceLists& lists) {
    if (!c.job.feeds())
        return evaluator.evaluate(c.queue, how, from.tree, from.moments, targets, lists, field);
    fed_->evaluate(c.queue, how, c.job.settings.device.buffer, from.tree, from.moments, targets, lists, field);
    fed_report_.add(fed_->report());
}

void EvaluateStep::direct(Computation& c, const forces::DeviceSources& sources,
                          const forces::DeviceSources& targets) {
    direct_.evaluate(c.queue, c.job.evaluation(),
                     static_cast<forces::DirectStage>(c.job.settings.device.direct_stage), sources, targets,
                     field);
}

void EvaluateStep::clear(Computation& c) {
    for (backend::DeviceBuffer<double>* values : {&field.ax, &field.ay, &field.az, &field.potential})
        particles::fill(c.queue, values->data(), 0, values->size());
}

} // namespace graft::engine
