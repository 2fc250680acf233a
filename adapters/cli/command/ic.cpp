// SPDX-License-Identifier: BSD-3-Clause
// `graft ic KIND`: initial conditions into a snapshot file.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/json.hpp"
#include "command/models.hpp"
#include "snapshot/formats.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

Arguments declare() {
    Arguments arguments(
        "ic", "KIND --n N --seed S -o FILE",
        "Makes initial conditions; the same options give the same particles everywhere. The file's\n"
        "extension chooses the format (.hdf5 .tipsy .csv .vtu), or --format.");
    arguments.positional("kind")
        .value("n", "N", "10000", "particles (1e6 is understood)")
        .value("seed", "S", "42", "of the random numbers")
        .value("output,o", "FILE", "snapshot to write")
        .value("format", "NAME", "format when the extension does not tell it")
        .value("table", "FILE", "orbits, belt: CSV table of orbital elements and masses")
        .list("set", "NAME=VALUE", "a parameter of the model, e.g. --set mass=10 (repeatable)");
    return arguments.epilogue("Kinds and their parameters:\n" + model_help());
}

ModelRequest request_of(const Arguments& arguments) {
    ModelRequest request;
    request.kind = arguments.required("kind");
    request.n = static_cast<std::size_t>(arguments.integer("n", 0, 1ll << 40));
    request.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, INT64_MAX));
    request.table = arguments.text("table").value_or("");
    for (const std::string& pair : arguments.texts("set")) {
        const auto equals = pair.find('=');
        if (equals == std::string::npos) {
            arguments.fail("--set needs a name and a value", "NAME=VALUE", in_quotes(pair));
        }
        request.parameters[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    return request;
}

std::optional<Format> format_of(const Arguments& arguments) {
    const auto name = arguments.text("format");
    return name ? std::optional(parse_format(*name)) : std::nullopt;
}

void report(const Arguments& arguments, const Snapshot& snapshot, const std::string& path) {
    if (arguments.json()) {
        std::printf("%s\n", JsonObject()
                                .add("file", path)
                                .add("n", snapshot.size())
                                .add("gravitational_constant", snapshot.units.gravitational_constant)
                                .add("length", snapshot.units.length)
                                .add("mass", snapshot.units.mass)
                                .add("time", snapshot.units.time)
                                .add("suggested_softening", snapshot.suggested_softening)
                                .add("suggested_time_step", snapshot.suggested_time_step)
                                .text()
                                .c_str());
        return;
    }
    const auto& units = snapshot.units;
    const std::string names = units.length == "model"
                                  ? "model units"
                                  : "units " + units.length + ", " + units.mass + ", " + units.time;
    std::printf("%s: %zu particles; G = %.9g (%s); suggested softening %.3g, time step %.3g\n", path.c_str(),
                snapshot.size(), units.gravitational_constant, names.c_str(), snapshot.suggested_softening,
                snapshot.suggested_time_step);
}

} // namespace

int ic_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    const ModelRequest request = request_of(arguments);
    const std::string path = arguments.required("output");
    const auto format = format_of(arguments);
    const Snapshot snapshot = make_model(request);
    for (const std::string& loss : write_snapshot_file(snapshot, path, format)) {
        std::fprintf(stderr, "graft ic: %s: %s\n", path.c_str(), loss.c_str());
    }
    report(arguments, snapshot, path);
    return 0;
}

} // namespace graft::cli
