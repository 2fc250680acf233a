// SPDX-License-Identifier: BSD-3-Clause
// Chooses readers and writers; the table below is the only place that lists the formats.
#include "snapshot/formats.hpp"

#include "snapshot/csv.hpp"
#include "snapshot/gadget_hdf5.hpp"
#include "snapshot/tipsy.hpp"
#include "snapshot/vtk.hpp"

#include <algorithm>
#include <cctype>

namespace graft::cli {

namespace {

std::string_view as_text(Bytes bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string lower_extension(std::string_view path) {
    const auto dot = path.find_last_of("./");
    if (dot == std::string_view::npos || path[dot] == '/') {
        return {};
    }
    std::string extension(path.substr(dot));
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

std::string readable_names() {
    std::string names;
    for (const FormatName& entry : format_names()) {
        if (entry.readable) {
            names += (names.empty() ? "" : ", ") + std::string(entry.name);
        }
    }
    return names;
}

[[noreturn]] void refuse_unknown(const std::string& where) {
    throw Error({"unknown file format", where, readable_names(), "none of these",
                 "name the format, or use a known extension"});
}

std::vector<std::byte> encode(const Snapshot& s, Format format) {
    switch (format) {
    case Format::Tipsy:
        return encode_tipsy(s, ByteOrder::Little);
    case Format::TipsyBigEndian:
        return encode_tipsy(s, ByteOrder::Big);
    case Format::Vtu:
        return encode_vtu(s);
    case Format::Vtk:
        return encode_vtk(s);
    default: {
        const std::string text = encode_csv(s);
        const auto bytes = std::as_bytes(std::span(text));
        return {bytes.begin(), bytes.end()};
    }
    }
}

} // namespace

std::vector<std::string> losses(const Snapshot& s, Format format) {
    std::vector<std::string> lost;
    const bool tipsy = format == Format::Tipsy || format == Format::TipsyBigEndian;
    const bool vtk = format == Format::Vtu || format == Format::Vtk;
    if (tipsy) {
        lost.push_back("tipsy keeps single precision, and no ids or units");
        const auto merged = [](std::int32_t c) { return c == 2 || c == 3 || c == 5; };
        if (std::any_of(s.component.begin(), s.component.end(), merged)) {
            lost.push_back(
                "tipsy knows gas, dark and star particles only: disc and bulge become star, boundary dark");
        }
    }
    if ((tipsy || vtk) && !s.names.empty()) {
        lost.push_back("the names of the bodies are not kept");
    }
    if (!tipsy && !vtk) {
        return lost;
    }
    if (s.box_size > 0.0) {
        lost.push_back("the periodic box is not kept");
    }
    return lost;
}

const std::vector<FormatName>& format_names() {
    static const std::vector<FormatName> names = {
        {Format::Tipsy, "tipsy", ".tipsy .tip .bin", "tipsy, single precision, little-endian", true},
        {Format::TipsyBigEndian, "tipsy-big", ".std", "tipsy, single precision, big-endian (\"standard\")",
         true},
        {Format::GadgetHdf5, "hdf5", ".hdf5 .h5 .hdf", "Gadget-style HDF5, double precision (yt, pynbody)",
         true},
        {Format::Csv, "csv", ".csv .txt", "text with a header line, exact round trip", true},
        {Format::Vtu, "vtu", ".vtu", "VTK XML for ParaView (write only)", false},
        {Format::Vtk, "vtk", ".vtk", "VTK legacy, binary (write only)", false},
    };
    return names;
}

Format parse_format(std::string_view name) {
    std::string known;
    for (const FormatName& entry : format_names()) {
        if (name == entry.name) {
            return entry.format;
        }
        known += (known.empty() ? "" : ", ") + std::string(entry.name);
    }
    throw Error({"unknown format name", "", known, "'" + std::string(name) + "'", ""});
}

std::optional<Format> format_of_extension(std::string_view path) {
    const std::string extension = lower_extension(path);
    for (const FormatName& entry : format_names()) {
        const std::string padded = std::string(entry.extensions) + " ";
        if (!extension.empty() && padded.find(extension + " ") != std::string::npos) {
            return entry.format;
        }
    }
    return std::nullopt;
}

std::optional<Format> format_of_content(Bytes bytes) noexcept {
    if (looks_like_hdf5(bytes)) {
        return Format::GadgetHdf5;
    }
    if (looks_like_tipsy(bytes)) {
        return Format::Tipsy;
    }
    if (looks_like_csv(as_text(bytes))) {
        return Format::Csv;
    }
    return std::nullopt;
}

Snapshot read_snapshot(Bytes bytes, const std::string& where, std::optional<Format> format) {
    if (!format) {
        format = format_of_content(bytes);
    }
    if (!format) {
        refuse_unknown(where);
    }
    Snapshot s;
    switch (*format) {
    case Format::Tipsy:
    case Format::TipsyBigEndian:
        s = read_tipsy(bytes, where);
        break;
    case Format::GadgetHdf5:
        s = read_gadget_hdf5(bytes, where);
        break;
    case Format::Csv:
        s = read_csv(as_text(bytes), where);
        break;
    default:
        throw Error(
            {"VTK files can only be written", where, readable_names(), "", "convert from the original file"});
    }
    s.validate(where);
    return s;
}

Snapshot read_snapshot_file(const std::string& path, std::optional<Format> format) {
    require_regular_file(path); // HDF5 would open a pipe, and wait
    const bool by_name = format_of_extension(path) == Format::GadgetHdf5;
    if (format == Format::GadgetHdf5 || (!format && by_name)) {
        Snapshot s = read_gadget_hdf5(path); // in place: an image in memory would double the memory needed
        s.validate(path);
        return s;
    }
    const std::vector<std::byte> bytes = read_file(path);
    if (!format && !format_of_content(bytes)) {
        format = format_of_extension(path); // its reader says what is wrong
    }
    return read_snapshot(bytes, path, format);
}

std::vector<std::string> write_snapshot_file(const Snapshot& s, const std::string& path,
                                             std::optional<Format> format) {
    if (!format) {
        format = format_of_extension(path);
    }
    if (!format) {
        throw Error({"the extension names no format", path, ".tipsy, .std, .hdf5, .csv, .vtu or .vtk",
                     "'" + lower_extension(path) + "'", "use one of these, or name the format"});
    }
    s.validate(path);
    if (*format == Format::GadgetHdf5) {
        write_gadget_hdf5(s, path);
    } else {
        write_file_atomically(path, encode(s, *format));
    }
    return losses(s, *format);
}

} // namespace graft::cli
