// SPDX-License-Identifier: BSD-3-Clause
// Arguments of a study from text, its result as JSON.
#include "study/tools/simulate_tool.hpp"

#include "study/simulate/simulate_balance.hpp"
#include "core/error.hpp"
#include "study/simulate/simulate_forces.hpp"

#include <cmath>
#include <cstdlib>

namespace graft::study {

using core::fail;
using core::Status;

namespace {

double number_of(const std::string& key, const std::string& text, double least, double most) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= least) || !(value <= most))
        fail(Status::argument, "simulate: argument '%s: %s' is not a number from %g to %g", key.c_str(),
             text.c_str(), least, most);
    return value;
}

int64_t integer_of(const std::string& key, const std::string& text, double least, double most) {
    const double value = number_of(key, text, least, most);
    if (value != std::floor(value))
        fail(Status::argument, "simulate: argument '%s: %s' is no whole number", key.c_str(), text.c_str());
    return static_cast<int64_t>(value);
}

bool switch_of(const std::string& key, const std::string& text) {
    if (text != "true" && text != "false")
        fail(Status::argument, "simulate: argument '%s: %s'; expected true or false", key.c_str(),
             text.c_str());
    return text == "true";
}

constexpr double many = 1e12;

/// The machine; false: not one of its keys.
bool set_machine(Study& study, const std::string& key, const std::string& text) {
    if (key == "alpha")
        study.alpha_s = number_of(key, text, 0, many);
    else if (key == "beta")
        study.beta_s_per_byte = number_of(key, text, 0, many);
    else if (key == "gamma")
        study.gamma_s = text == "measured" ? -1 : number_of(key, text, 0, many);
    else if (key == "node_size")
        study.node_size = static_cast<int32_t>(integer_of(key, text, 1, 1 << 20));
    else if (key == "node_alpha")
        study.node_alpha_s = number_of(key, text, 0, many);
    else if (key == "node_beta")
        study.node_beta_s_per_byte = number_of(key, text, 0, many);
    else if (key == "free_split")
        study.free_split = switch_of(key, text);
    else
        return false;
    return true;
}

bool set_partition(decompose::Options& options, const std::string& key, const std::string& text) {
    if (key == "threshold_a")
        options.threshold_a = integer_of(key, text, 0, many);
    else if (key == "threshold_b")
        options.threshold_b = integer_of(key, text, 0, many);
    else if (key == "bins")
        options.bins = static_cast<int>(integer_of(key, text, 0, 1 << 20));
    else if (key == "tolerance")
        options.tolerance = number_of(key, text, 0, 1);
    else
        return false;
    return true;
}

bool set_problem(Study& study, const std::string& key, const std::string& text) {
    if (key == "strategy")
        study.kind = kind_of_name(text);
    else if (key == "level")
        study.level = switch_of(key, text);
    else if (key == "ranks")
        study.ranks = static_cast<int32_t>(integer_of(key, text, 1, 1 << 22));
    else if (key == "objects")
        study.objects = integer_of(key, text, 0, 1e10);
    else if (key == "objects_per_rank")
        study.objects_per_rank = number_of(key, text, 0, 1e6);
    else if (key == "load_sigma")
        study.load_sigma = number_of(key, text, 0, 10);
    else if (key == "seed")
        study.seed = static_cast<uint64_t>(integer_of(key, text, 0, 9e15));
    else
        return false;
    return true;
}

/// Arguments of the study of forces that that of the balancers has not.
bool set_forces(ForceStudy& study, const std::string& key, const std::string& text) {
    if (key == "forces") {
        if (text != "push" && text != "fetch")
            fail(Status::argument, "simulate: forces is '%s'; expected push or fetch", text.c_str());
        study.settings.exchange = text == "push" ? settings::Exchange::push : settings::Exchange::fetch;
    } else if (key == "particles_per_rank")
        study.particles_per_rank = integer_of(key, text, 0, 1e7);
    else if (key == "accuracy")
        study.settings.accuracy = number_of(key, text, 0, 1);
    else if (key == "theta")
        study.settings.theta = number_of(key, text, 0, 10);
    else
        return false;
    return true;
}

std::string forces_json(const ForceStudy& study, const ForceStudyResult& r) {
    return core::format(
        "{\"forces\":\"%s\",\"ranks\":%d,\"particles_per_rank\":%lld,\"time_s\":{\"total\":%.17g,\"wait_"
        "max\":%.17g,"
        "\"wait_mean\":%.17g},\"bytes_sent\":{\"max\":%lld,\"mean\":%.1f},\"messages\":{\"max\":%lld,"
        "\"mean\":%.1f},"
        "\"collectives\":%.1f,\"received\":{\"particles\":%.1f,\"nodes\":%.1f},\"rounds\":%lld,\"pairs\":%."
        "6g,"
        "\"cells\":%.6g,\"imbalance\":%.4f,\"rank_bytes_peak\":%lld,\"wall_s\":%.3f,\"checksum\":%.17g}",
        study.settings.exchange == settings::Exchange::push ? "push" : "fetch", study.ranks,
        static_cast<long long>(study.particles_per_rank), r.total_s, r.wait_max_s, r.wait_mean_s,
        static_cast<long long>(r.bytes_sent_max), r.bytes_sent_mean, static_cast<long long>(r.messages_max),
        r.messages_mean, r.collectives_mean, r.particles_mean, r.nodes_mean, static_cast<long long>(r.rounds),
        r.pairs, r.cells, r.imbalance, static_cast<long long>(r.rank_bytes_peak), r.wall_s, r.checksum);
}

std::string simulate_forces_tool(const Study& machine, ForceStudy& study) {
    study.ranks = machine.ranks;
    study.seed = machine.seed;
    study.gamma_s = machine.gamma_s;
    study.network = {machine.alpha_s, machine.beta_s_per_byte, machine.node_size, machine.node_alpha_s,
                     machine.node_beta_s_per_byte};
    return forces_json(study, simulate_forces(study));
}

std::string kinds_json(const StudyResult& r) {
    constexpr const char* names[] = {"barrier",  "broadcast", "allreduce", "allgather",
                                     "alltoall", "split",     "messages"};
    std::string text;
    for (int i = 0; i < 7; ++i)
        text += core::format("%s\"%s\":[%lld,%lld,%lld]", i == 0 ? "" : ",", names[i],
                             static_cast<long long>(r.kinds[i].calls),
                             static_cast<long long>(r.kinds[i].messages),
                             static_cast<long long>(r.kinds[i].bytes));
    return text;
}

std::string json_of(const StudyResult& r) {
    return core::format("\"time_s\":{\"init\":%.17g,\"strategy\":%.17g,\"total\":%.17g},\"wall_s\":%.3f,"
                        "\"messages\":%lld,\"bytes\":%lld,\"collectives\":%lld,"
                        "\"imbalance\":{\"before\":%.6f,\"after\":%.6f,\"count_after\":%.6f},"
                        "\"items_moved\":%lld,\"rank_bytes_peak\":%lld,\"owners_hash\":\"%016llx\"",
                        r.init_s, r.strategy_s, r.total_s, r.wall_s, static_cast<long long>(r.messages),
                        static_cast<long long>(r.bytes), static_cast<long long>(r.collectives),
                        r.imbalance_before, r.imbalance_after, r.imbalance_count_after,
                        static_cast<long long>(r.items_moved), static_cast<long long>(r.rank_bytes_peak),
                        static_cast<unsigned long long>(r.owners_hash));
}

} // namespace

std::string simulate_tool(const ToolArguments& arguments) {
    Study study;
    ForceStudy forces;
    bool of_forces = false;
    std::string strategy = "orb-distributed";
    for (const auto& [key, text] : arguments) {
        if (!set_machine(study, key, text) && !set_problem(study, key, text) &&
            !set_partition(study.decompose, key, text) && !set_forces(forces, key, text))
            fail(Status::argument,
                 "simulate: there is no argument '%s'; known: strategy, ranks, objects, objects_per_rank, "
                 "alpha, "
                 "beta, gamma, node_size, node_alpha, node_beta, free_split, level, load_sigma, seed, "
                 "threshold_a, "
                 "threshold_b, bins, tolerance, forces, particles_per_rank, accuracy, theta",
                 key.c_str());
        if (key == "strategy")
            strategy = text;
        of_forces = of_forces || key == "forces";
    }
    if (of_forces)
        return simulate_forces_tool(study, forces);
    const StudyResult result = simulate(study);
    return core::format(
               "{\"strategy\":\"%s\",\"ranks\":%d,\"alpha_s\":%g,\"beta_s_per_byte\":%g,\"gamma_s\":%s,",
               strategy.c_str(), study.ranks, study.alpha_s, study.beta_s_per_byte,
               study.gamma_s < 0 ? "\"measured\"" : core::format("%g", study.gamma_s).c_str()) +
           json_of(result) + ",\"calls_messages_bytes\":{" + kinds_json(result) + "}}";
}

} // namespace graft::study
