// SPDX-License-Identifier: BSD-3-Clause
// `graft convert IN OUT`: snapshots into other formats.
#include "command/arguments.hpp"
#include "command/commands.hpp"
#include "command/json.hpp"
#include "picture/render.hpp"
#include "snapshot/file_io.hpp"
#include "snapshot/formats.hpp"

#include <cstdio>
#include <filesystem>

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
        "extension. What the new format cannot keep is told on stderr before anything is written.");
    arguments.positional("in")
        .positional("out")
        .value("from", "FORMAT", "format of IN, when its content does not tell it")
        .value("to", "FORMAT", "format of OUT, when its extension does not tell it")
        .value("byte-order", "ORDER", "tipsy output: little (default) or big")
        .value("title", "TEXT", "PNG: title (default: the name of IN)")
        .value("half-width", "L", "PNG: half the width of each view")
        .value("like", "SNAPSHOT", "PNG: the scale and colours that this snapshot's picture has, to compare")
        .value("pixels", "N", "800", "PNG: width of each of the two views")
        .flag("components", "PNG: a colour for each component");
    return arguments.epilogue(format_help() +
                              "  png: a picture, face-on and edge-on, logarithmic surface density (.png ), "
                              "written only");
}

std::optional<Format> output_format(const Arguments& arguments, const std::string& out) {
    const auto name = arguments.text("to");
    std::optional<Format> format = name ? std::optional(parse_format(*name)) : format_of_extension(out);
    if (!format) {
        throw Error({"the extension names no format", out, ".tipsy, .std, .hdf5, .csv, .vtu, .vtk or .png",
                     in_quotes(std::filesystem::path(out).extension().string()),
                     "one of these, or --to FORMAT"});
    }
    const std::string order = arguments.text("byte-order").value_or("little");
    if (order != "little" && order != "big") {
        arguments.fail("unknown byte order", "little or big", in_quotes(order));
    }
    if (order == "big" && format == Format::Tipsy) {
        format = Format::TipsyBigEndian;
    } else if (arguments.has("byte-order") && format != Format::Tipsy && format != Format::TipsyBigEndian) {
        arguments.fail("--byte-order is for tipsy only", "a tipsy output", in_quotes(out));
    }
    return format;
}

bool is_picture(const Arguments& arguments, const std::string& out) {
    const std::string to = arguments.text("to").value_or("");
    return to == "png" || (to.empty() && out.ends_with(".png"));
}

PictureOptions picture_options(const Arguments& arguments, const std::string& in) {
    PictureOptions options;
    options.panel_pixels = static_cast<std::size_t>(arguments.integer("pixels", 100, 8000));
    options.tint_components = arguments.has("components");
    if (arguments.has("half-width")) {
        options.half_width = arguments.number("half-width");
    }
    if (const auto other = arguments.text("like")) {
        options.scale = render(read_snapshot_file(*other), options).scale;
    }
    options.title = arguments.text("title").value_or(std::filesystem::path(in).stem().string());
    return options;
}

void write_picture(const Arguments& arguments, const Snapshot& snapshot, const std::string& in,
                   const std::string& out) {
    write_png(render(snapshot, picture_options(arguments, in)).image, out);
}

void require_output_apart(const Arguments& arguments, const std::string& in, const std::string& out) {
    for (const std::string& input : {in, arguments.text("like").value_or(in)}) {
        if (is_same_file(input, out)) {
            throw Error({"the output is an input", out, "another file than " + input, "the same file",
                         "another name, then mv"});
        }
    }
}

/// What will be missing, on stderr; `format` none: a picture.
std::vector<std::string> name_losses(const Snapshot& snapshot, std::optional<Format> format) {
    std::vector<std::string> lost = format ? losses(snapshot, *format) : std::vector<std::string>();
    for (const std::string& name : snapshot.left_out) {
        lost.push_back(name + " is not known here and is left out");
    }
    for (const std::string& loss : lost) {
        std::fprintf(stderr, "graft convert: %s\n", loss.c_str());
    }
    return lost;
}

void report(const Arguments& arguments, const std::string& in, const std::string& out, std::size_t n,
            const std::vector<std::string>& losses) {
    JsonArray lost;
    for (const std::string& loss : losses) {
        lost.add(json_string(loss));
    }
    if (arguments.json()) {
        const JsonObject answer = JsonObject().add("in", in).add("out", out).add("n", n).add("lost", lost);
        std::printf("%s\n", answer.text().c_str());
    } else {
        std::printf("%s: %zu particles\n", out.c_str(), n);
    }
}

} // namespace

int convert_command(const Words& words) {
    Arguments arguments = declare();
    if (!arguments.parse(words)) {
        return 0;
    }
    const std::string in = arguments.required("in");
    const std::string out = arguments.required("out");
    require_output_apart(arguments, in, out);
    const auto from = arguments.text("from");
    const Snapshot snapshot =
        read_snapshot_file(in, from ? std::optional(parse_format(*from)) : std::nullopt);
    const std::optional<Format> format =
        is_picture(arguments, out) ? std::nullopt : output_format(arguments, out);
    const std::vector<std::string> lost = name_losses(snapshot, format);
    if (format) {
        write_snapshot_file(snapshot, out, format);
    } else {
        write_picture(arguments, snapshot, in, out);
    }
    report(arguments, in, out, snapshot.size(), lost);
    return 0;
}

} // namespace graft::cli
