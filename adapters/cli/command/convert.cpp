// `graft convert IN OUT`: snapshots into other formats.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/json.hpp"
#include "snapshot/formats.hpp"

#include <cstdio>

namespace graft::cli {

namespace {

std::string format_help() {
    std::string text = "Formats (--from, --to):\n";
    for (const FormatName& format : format_names()) {
        text += "  " + std::string(format.name) + ": " + format.help + " (" + format.extensions + " )" +
                (format.readable ? "" : ", written only") + "\n";
    }
    return text;
}

Arguments declare() {
    Arguments arguments(
        "convert", "IN OUT [options]",
        "Reads a snapshot (its content tells the format) and writes it in the format of OUT's\n"
        "extension. What the new format cannot keep is told on stderr.");
    arguments.positional("in")
        .positional("out")
        .value("from", "FORMAT", "format of IN, when its content does not tell it")
        .value("to", "FORMAT", "format of OUT, when its extension does not tell it")
        .value("byte-order", "ORDER", "tipsy output: little (default) or big");
    return arguments.epilogue(format_help());
}

std::optional<Format> output_format(const Arguments& arguments, const std::string& out) {
    const auto name = arguments.text("to");
    std::optional<Format> format = name ? std::optional(parse_format(*name)) : format_of_extension(out);
    const std::string order = arguments.text("byte-order").value_or("little");
    if (order != "little" && order != "big") {
        arguments.fail("unknown byte order", "little or big", quoted(order));
    }
    if (order == "big" && format == Format::Tipsy) {
        format = Format::TipsyBigEndian;
    } else if (arguments.has("byte-order") && format != Format::Tipsy && format != Format::TipsyBigEndian) {
        arguments.fail("--byte-order is for tipsy only", "a tipsy output", quoted(out));
    }
    return format;
}

} // namespace

int convert_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    const std::string in = arguments.required("in");
    const std::string out = arguments.required("out");
    const auto from = arguments.text("from");
    const Snapshot snapshot =
        read_snapshot_file(in, from ? std::optional(parse_format(*from)) : std::nullopt);
    const auto losses = write_snapshot_file(snapshot, out, output_format(arguments, out));
    JsonArray lost;
    for (const std::string& loss : losses) {
        lost.add(json_string(loss));
        if (!arguments.json()) {
            std::fprintf(stderr, "graft convert: %s\n", loss.c_str());
        }
    }
    if (arguments.json()) {
        std::printf("%s\n", JsonObject()
                                .add("in", in)
                                .add("out", out)
                                .add("n", snapshot.size())
                                .add("lost", lost)
                                .text()
                                .c_str());
    } else {
        std::printf("%s: %zu particles\n", out.c_str(), snapshot.size());
    }
    return 0;
}

} // namespace graft::cli
