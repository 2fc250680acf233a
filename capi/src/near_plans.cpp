// SPDX-License-Identifier: BSD-3-Clause
// Plans by their address, and their figures by name.
#include "near_plans.hpp"

#include "core/error.hpp"
#include "option_use.hpp"
#include "settings/choices.hpp"

#include <algorithm>

namespace graft::capi {

using core::fail;
using core::Status;

namespace {

near::Precision near_precision(settings::Precision precision) {
    switch (precision) {
    case settings::Precision::fp32:
        return near::Precision::fp32;
    case settings::Precision::mixed:
        return near::Precision::mixed;
    default:
        return near::Precision::fp64;
    }
}

} // namespace

NearDefaults near_defaults(const Options& options) {
    const NearKeys& near = options.near;
    NearDefaults d;
    d.layout = near.study_layout != near::near_layout_auto ? near.study_layout : near.layout;
    d.precision = near.precision >= 0 ? static_cast<near::Precision>(near.precision)
                                      : near_precision(settings::precision_of(engine_settings(options)));
    d.most = near.most != 0 ? near.most : d.most;
    d.devices = near.devices > 0 ? near.devices : 1;
    d.memory_bytes = near.memory_bytes;
    d.expected_executes = near.expected_executes;
    if (!options.machine_file.empty()) {
        model::Machine machine;
        for (const auto& [key, text] : options.machine)
            model::set_machine(machine, key, text);
        if (machine.name.empty())
            machine.name = options.machine_file;
        d.machine = std::make_shared<const model::Machine>(std::move(machine));
        d.machine_file = options.machine_file;
    }
    return d;
}

graft_near_plan* NearPlans::add(std::unique_ptr<graft_near_plan> plan) {
    plans_.push_back(std::move(plan));
    return last_ = plans_.back().get();
}

near::NearPlan& NearPlans::use(graft_near_plan* plan) {
    const auto found = std::ranges::find(plans_, plan, &std::unique_ptr<graft_near_plan>::get);
    if (plan == nullptr || found == plans_.end())
        fail(Status::argument,
             "near field: %s; expected one made by near_field_create with this context, and not "
             "destroyed since",
             plan == nullptr ? "plan is NULL" : "this plan is not one of this context's");
    last_ = plan;
    return plan->plan;
}

void NearPlans::remove(graft_near_plan* plan) {
    const graft_near_plan* const last = last_;
    use(plan);
    last_ = last == plan ? nullptr : const_cast<graft_near_plan*>(last);
    std::erase_if(plans_, [&](const auto& one) { return one.get() == plan; });
}

namespace {

void add_times(Figures::Numbers& numbers, const char* group, const near::Times& t) {
    const std::pair<const char*, double> list[] = {{"collection", t.collection_s}, {"charges", t.charges_s},
                                                   {"transfer", t.transfer_s},     {"kernel", t.kernel_s},
                                                   {"scatter", t.scatter_s},       {"total", t.total_s}};
    for (const auto& [name, value] : list)
        numbers.emplace_back(core::format("%s.%s", group, name), value);
}

Figures::Numbers numbers_of(const near::NearReport& r) {
    Figures::Numbers numbers = {{"pairs", static_cast<double>(r.shape.pairs)},
                                {"targets", static_cast<double>(r.shape.targets)},
                                {"sources", static_cast<double>(r.shape.sources)},
                                {"boxes", static_cast<double>(r.shape.boxes)},
                                {"neighbours", static_cast<double>(r.shape.neighbours)},
                                {"largest", static_cast<double>(r.shape.largest)},
                                {"density", r.boxes.cells > 0 ? r.boxes.density : r.shape.mean},
                                {"chunks", r.chunks},
                                {"executes", static_cast<double>(r.executes)},
                                {"updates", static_cast<double>(r.updates)},
                                {"time_s.create", r.create_s},
                                {"bytes.layout", static_cast<double>(r.bytes_layout)},
                                {"bytes.expected", r.bytes_expected},
                                {"bytes.structure", static_cast<double>(r.bytes_structure)},
                                {"bytes.copies", static_cast<double>(r.bytes_copies)},
                                {"bytes.kept", static_cast<double>(r.bytes_kept)}};
    if (r.boxes.height > 0)
        numbers.emplace_back("height", r.boxes.height);
    if (r.updates > 0)
        numbers.emplace_back("time_s.update", r.update_s);
    if (r.executed) {
        numbers.emplace_back("allocations", static_cast<double>(r.allocations));
        add_times(numbers, "time_s", r.times);
        numbers.emplace_back("time_s.import", r.import_s);
        numbers.emplace_back("time_s.export", r.export_s);
    }
    if (r.has_prediction)
        add_times(numbers, "predicted_s", r.predicted);
    if (r.has_prediction)
        numbers.emplace_back("prediction_error", r.prediction_error);
    return numbers;
}

} // namespace

Figures::Content NearPlans::figures() const {
    const near::NearReport& r = last_->plan.report();
    Figures::Content content{numbers_of(r)};
    content.words = {{"backend", r.backend},
                     {"layout", std::string(near::name(r.layout))},
                     {"kernel", std::string(near::name(r.shape.kernel))},
                     {"precision", std::string(near::name(r.shape.precision))},
                     {"reason", r.reason},
                     {"machine", r.machine}};
    if (!r.device_name.empty())
        content.words.emplace_back("device", r.device_name);
    return content;
}

} // namespace graft::capi
