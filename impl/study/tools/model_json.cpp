// SPDX-License-Identifier: BSD-3-Clause
// See model_json.hpp.
#include "study/tools/model_json.hpp"

#include "core/error.hpp"
#include "core/json_string.hpp"

#include <cmath>

namespace graft::study {

using core::format;

namespace {

std::string paper_json(const PaperOrb& paper, const model::Machine& machine) {
    if (machine.cpu.read_bandwidth_bytes_per_s <= 0 ||
        (machine.gpu.count > 0 && machine.link.bandwidth_bytes_per_s <= 0))
        return "null"; // his model compares with the CPU, and sends over the link
    const PaperTimes t = paper_times(paper, machine);
    std::string text = format("{\"precision_bits\":%g,\"bytes_per_particle\":%g,\"cpu_s\":%.8g",
                              paper.precision_bits, paper.bytes_per_particle, t.cpu_s);
    if (t.gpu_count_s > 0)
        text +=
            format(",\"gpu_count_s\":%.8g,\"gpu_count_speed_up\":%.8g,\"gpu_partition_s\":%.8g,"
                   "\"gpu_partition_speed_up\":%.8g",
                   t.gpu_count_s, t.cpu_s / t.gpu_count_s, t.gpu_partition_s, t.cpu_s / t.gpu_partition_s);
    return text + "}";
}

std::string prediction_json(const OrbPrediction& prediction) {
    std::string text = core::json_string(prediction.variant) + format(":{\"total_s\":%.8g", prediction.total_s());
    for (const OrbStep& step : prediction.steps)
        text += format(",\"%s\":{\"s\":%.8g,\"bytes\":%.10g,\"launches\":%.10g}", step.name, step.seconds,
                       step.bytes, step.launches);
    return text + "}";
}

std::string csv_line(const model::Machine& machine, const char* model, std::string_view variant,
                     const OrbStep& step) {
    std::string name = machine.name;
    for (char& c : name)
        c = c == ',' || c == '"' || c == '\n' ? ' ' : c;
    return format("%s,%s,%.*s,%s,%.8g,%.10g,%.10g\n", name.c_str(), model, static_cast<int>(variant.size()),
                  variant.data(), step.name, step.seconds, step.bytes, step.launches);
}

std::string roof_json(const model::Roof& roof) {
    constexpr double intensity = model::count_left_operations_per_byte;
    return format("\"flops\":%.6g,\"bandwidth_bytes_per_s\":%.6g,\"ridge_operations_per_byte\":%.6g,"
                  "\"count_left\":{\"operations_per_byte\":%g,\"attainable_flops\":%.6g,\"bound\":\"%s\"}",
                  roof.flops, roof.bandwidth_bytes_per_s, roof.ridge_operations_per_byte(), intensity,
                  roof.attainable_flops(intensity), roof.memory_bound(intensity) ? "memory" : "arithmetic");
}

} // namespace

std::string orb_json(const OrbRun& run, const PaperOrb& paper, const model::Machine& machine) {
    std::string text = format("{\"model\":\"orb\",\"machine\":%s,\"n\":%.17g,\"leaves\":%.17g,\"levels\":%d,"
                              "\"iterations\":%.6g,\"paper\":",
                              core::json_string(machine.name).c_str(), run.particles, run.leaves,
                              levels_of(run.leaves), orb_iterations(run));
    text += paper_json(paper, machine) + ",\"corrected\":{";
    const char* comma = "";
    for (const OrbPrediction& prediction : orb_predictions(run, machine)) {
        text += comma + prediction_json(prediction);
        comma = ",";
    }
    return text + "}}";
}

std::string orb_csv(const OrbRun& run, const PaperOrb& paper, const model::Machine& machine) {
    const PaperTimes t = paper_times(paper, machine);
    std::string text = csv_line(machine, "paper", "cpu", {"total", t.cpu_s});
    if (t.gpu_count_s > 0)
        text += csv_line(machine, "paper", "gpu-count", {"total", t.gpu_count_s}) +
                csv_line(machine, "paper", "gpu-partition", {"total", t.gpu_partition_s});
    for (const OrbPrediction& prediction : orb_predictions(run, machine)) {
        text += csv_line(machine, "corrected", prediction.variant, {"total", prediction.total_s()});
        for (const OrbStep& step : prediction.steps)
            text += csv_line(machine, "corrected", prediction.variant, step);
    }
    return text;
}

std::string roofline_json(const model::Machine& machine) {
    std::string text =
        format("{\"model\":\"roofline\",\"machine\":%s,\"cpu\":[", core::json_string(machine.name).c_str());
    const double all = model::known(machine.cpu.cores, "cpu.cores", "the roofline");
    for (double cores = 1;; cores = std::fmin(2 * cores, all)) {
        text += format("%s{\"cores\":%g,", cores > 1 ? "," : "", cores) +
                roof_json(model::cpu_roof(machine.cpu, cores)) + "}";
        if (cores >= all)
            break;
    }
    text += ']';
    if (machine.gpu.count > 0 && machine.gpu.flops > 0)
        text += ",\"gpu\":{" + roof_json(model::gpu_roof(machine.gpu)) + "}";
    return text + "}";
}

std::string machine_json(const model::Machine& machine, double seconds,
                         const CalibrationReport& report) {
    std::string text =
        format("{\"seconds\":%.3f,\"left_out\":%s,\"parts_s\":{", seconds, core::json_string(report.left_out).c_str());
    const char* comma = "";
    for (const auto& [name, part_s] : report.parts.list) {
        text += format("%s%s:%.3f", comma, core::json_string(name).c_str(), part_s);
        comma = ",";
    }
    text += "},\"machine\":{";
    comma = "";
    for (const auto& [key, value] : model::machine_values(machine, 6)) {
        text += format("%s\"%s\":", comma, key.c_str()) + (key.ends_with("name") ? core::json_string(value) : value);
        comma = ",";
    }
    return text + "}}";
}

std::string machine_schema_json() {
    std::string text = "[";
    for (const model::MachineKey& key : model::machine_keys())
        text += format("%s{\"key\":\"%s\",\"type\":\"%s\",\"unit\":\"%s\",\"meaning\":%s,\"items\":%d}",
                       text.size() > 1 ? ",\n" : "", key.name, key.text != nullptr ? "text" : "number",
                       key.unit, core::json_string(key.meaning).c_str(), key.most);
    return text + "]";
}

} // namespace graft::study
