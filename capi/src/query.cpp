// SPDX-License-Identifier: BSD-3-Clause
// query and query_text: the figures of the last computation, and those of ranks, decompose, balance, migrate.
#include "context.hpp"
#include "entries.hpp"
#include "engine/buffer_tuning.hpp"

namespace graft::capi {

using core::fail;
using core::Status;

namespace {

/// What this rank has sent and waited for since set_communicator.
Figures::Numbers communicator_figures(const comm::Communicator& ranks) {
    const comm::Traffic& traffic = ranks.traffic();
    return {{"rank", ranks.rank()},
            {"size", ranks.size()},
            {"bytes_sent", static_cast<double>(traffic.bytes_sent)},
            {"messages", static_cast<double>(traffic.messages)},
            {"collectives", static_cast<double>(traffic.collectives)},
            {"wait_s", traffic.wait_s}};
}

/// N_leaf and N_group of the last tree, the blocks of liu2022's GPU kernels, and what its phases were
/// predicted to take.
Figures::Content sizes_figures(const engine::TreeTuning::Told& told,
                               const engine::BufferTuning::Told& buffers) {
    Figures::Content content{{{"leaf", told.sizes.leaf}, {"group", told.sizes.group}}};
    if (const model::BlockShape& block = told.sizes.block; block.x > 0)
        content.numbers.push_back({"block_x", block.x});
    if (const model::BlockShape& block = told.sizes.block; block.y > 0)
        content.numbers.push_back({"block_y", block.y});
    if (const model::TreeTimes& t = told.predicted; t.total_s() > 0)
        content.numbers.insert(content.numbers.end(), {{"predicted_s.sort", t.sort_s},
                                                       {"predicted_s.tree", t.tree_s},
                                                       {"predicted_s.moments", t.moments_s},
                                                       {"predicted_s.lists", t.lists_s},
                                                       {"predicted_s.forces", t.forces_s},
                                                       {"predicted_s.total", t.total_s()}});
    content.words = {{"by", told.by}};
    if (buffers.fed.buffer > 0) {
        const model::PaperFeedTimes& t = buffers.predicted;
        content.numbers.insert(content.numbers.end(), {{"buffer", static_cast<double>(buffers.fed.buffer)},
                                                       {"predicted_s.feed", t.total_s()},
                                                       {"predicted_s.feed_append", t.append_s},
                                                       {"predicted_s.feed_call", t.call_s},
                                                       {"predicted_s.feed_device", t.device_s}});
        content.words.emplace_back("buffer_by", buffers.by);
    }
    return content;
}

/// Refreshes "comm", which is there from set_communicator on, "sizes" and "near".
const Figures& figures_of(graft_context* context) {
    context->figures.set("comm", {communicator_figures(*context->ranks)});
    const engine::Report& report = context->solver.report();
    if (const auto& told = context->solver.tuning().told();
        report.valid && report.has_tree && told.sizes.leaf > 0)
        context->figures.set("sizes", sizes_figures(told, context->solver.buffers().told()));
    if (context->near_plans.last() != nullptr)
        context->figures.set("near", context->near_plans.figures());
    return context->figures;
}

bool find(graft_context* context, const std::string& key, double* value) {
    const engine::Report& report = context->solver.report();
    return (report.valid && report.find(key, value)) || figures_of(context).find(key, value);
}

std::string json(graft_context* context) {
    const engine::Report& report = context->solver.report();
    const std::string members = figures_of(context).json_members();
    if (!report.valid)
        return "{" + members + "}";
    std::string text = report.json();
    text.pop_back();
    return text + "," + members + "}";
}

/// Nothing has been done on this context yet: every figure is absent.
void require_something(graft_context* context) {
    if (!context->solver.report().valid && context->figures.empty() && context->ranks->alone() &&
        context->near_plans.last() == nullptr)
        fail(Status::absent,
             "query: no computation has succeeded on this context yet; call compute or field_at first");
}

} // namespace

int32_t query(graft_context* context, const char* key, double* value) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        if (key == nullptr || value == nullptr)
            fail(Status::argument, "query: key and value must not be NULL");
        require_something(context);
        if (!find(context, key, value))
            fail(Status::absent, "query: there is no figure '%s' of the last computation; there are %s", key,
                 json(context).c_str());
    });
}

int32_t query_text(graft_context* context, const char* key, graft_sink sink, void* user) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        if (key == nullptr || sink == nullptr)
            fail(Status::argument, "query_text: key and sink must not be NULL");
        require_something(context);
        const engine::Report& report = context->solver.report();
        const std::string name = key;
        double value = 0;
        std::string text;
        if (name.empty())
            text = json(context);
        else if (name == "backend" && !report.valid)
            text = "cpu"; // what decompose and balance compute on
        else if (!(report.valid && report.find_words(name, &text)) &&
                 !figures_of(context).find_words(name, &text)) {
            if (!find(context, name, &value))
                fail(Status::absent, "query_text: there is no figure '%s' of the last computation", key);
            text = core::format("%.17g", value);
        }
        sink(user, text.data(), static_cast<int64_t>(text.size()));
    });
}

} // namespace graft::capi
