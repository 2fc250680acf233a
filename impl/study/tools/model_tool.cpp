// SPDX-License-Identifier: BSD-3-Clause
// Arguments of the models from text, their answers as JSON, CSV or YAML; see model_tool.hpp.
#include "study/tools/model_tool.hpp"

#include "study/tools/argument_reader.hpp"
#include "core/error.hpp"
#include "core/timer.hpp"
#include "study/tools/model_json.hpp"
#include "study/calibrate/calibrate.hpp"

#include <cmath>

namespace graft::study {

using core::fail;
using core::Status;

namespace {

std::string orb(ArgumentReader& reader) {
    OrbRun run;
    PaperOrb paper;
    run.particles = paper.particles = reader.number("n", 1e9, 1, 1e18);
    run.leaves = paper.leaves = reader.number("leaves", 4096, 1, 1e9);
    run.iterations = reader.number("iterations", 0, 0, 1e6);
    run.miss_particles = reader.number("miss", 0.5, 0.5, 1e18);
    paper.precision_bits = reader.number("precision_bits", 32, 1, 64);
    const bool csv = reader.word("format", {"json", "csv"}) == "csv";
    reader.finish();
    if (run.leaves != std::floor(run.leaves))
        fail(Status::argument, "model orb: %g leaves; expected a whole number", run.leaves);
    return csv ? orb_csv(run, paper, reader.machine()) : orb_json(run, paper, reader.machine());
}

std::string calibrate(ArgumentReader& reader) {
    Calibration calibration;
    const std::string backend = reader.word("backend", {"auto", "cpu", "gpu"});
    calibration.gpu_needed = backend == "gpu";
    calibration.gpu_wanted = backend != "cpu";
    calibration.device = static_cast<int32_t>(reader.number("device", 0, 0, 1023));
    calibration.threads = static_cast<int>(reader.number("threads", 0, 0, 4096));
    calibration.repetitions = static_cast<int>(reader.number("repetitions", 5, 1, 100));
    const bool yaml = reader.word("format", {"json", "yaml"}) == "yaml";
    reader.finish();
    const core::Timer timer;
    CalibrationReport report;
    const model::Machine machine = study::calibrate(calibration, report);
    if (!yaml)
        return machine_json(machine, timer.seconds(), report);
    const std::string& why = report.left_out;
    std::string text = core::format(
        "# Measured by graft model calibrate in %.1f s%s%s\n", timer.seconds(),
        why.empty() ? "" : "; without a GPU: ", why.substr(0, why.find_first_of("(;\n")).c_str());
    for (const auto& [name, part_s] : report.parts.list)
        text += core::format("#   %6.2f s %s\n", part_s, name.c_str());
    return text + model::machine_yaml(machine);
}

} // namespace

std::string model_tool(const ToolArguments& arguments) {
    ArgumentReader reader("model", arguments);
    const std::string what = reader.word("what", {"orb", "roofline", "calibrate", "schema"});
    if (what == "orb")
        return orb(reader);
    if (what == "calibrate")
        return calibrate(reader);
    reader.finish();
    return what == "schema" ? machine_schema_json() : roofline_json(reader.machine());
}

} // namespace graft::study
