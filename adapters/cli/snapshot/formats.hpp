// SPDX-License-Identifier: BSD-3-Clause
// The one door to snapshot files: formats by name, extension and content.
#pragma once

#include "snapshot/byte_order.hpp"
#include "snapshot/snapshot.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace graft::cli {

enum class Format { Tipsy, TipsyBigEndian, GadgetHdf5, Csv, Vtu, Vtk };

/// What a person types after --format, with a line of help each; in the order of Format.
struct FormatName {
    Format format;
    const char* name;       ///< "tipsy"
    const char* extensions; ///< " .tipsy .tip .bin"
    const char* help;
    bool readable;
};
const std::vector<FormatName>& format_names();

/// The format of that name ("hdf5"). Throws Error listing the names.
Format parse_format(std::string_view name);

/// The format that a path's extension stands for; none when the extension says nothing.
std::optional<Format> format_of_extension(std::string_view path);

/// The format that the content shows; none when it shows nothing known. Looks at the first line or bytes.
std::optional<Format> format_of_content(Bytes bytes) noexcept;

/// Reads a snapshot from memory; without a format the content decides. Safe on any bytes: throws Error only
/// (and std::bad_alloc). This is what the fuzzers drive. `where` names the source.
Snapshot read_snapshot(Bytes bytes, const std::string& where, std::optional<Format> format = std::nullopt);

/// Reads and validates a snapshot file: the content decides, then the extension. Throws Error.
Snapshot read_snapshot_file(const std::string& path, std::optional<Format> format = std::nullopt);

/// One sentence for everything that the format cannot keep.
std::vector<std::string> losses(const Snapshot& snapshot, Format format);

/// Writes atomically; without a format the extension decides. Returns losses() for the command to show. Throws Error; the old
/// file then is unchanged.
std::vector<std::string> write_snapshot_file(const Snapshot& snapshot, const std::string& path,
                                             std::optional<Format> format = std::nullopt);

} // namespace graft::cli
