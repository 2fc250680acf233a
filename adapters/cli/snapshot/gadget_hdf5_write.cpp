// SPDX-License-Identifier: BSD-3-Clause
// Gadget-style HDF5: the writer. All attributes that yt, pynbody and Gadget itself ask for are present.
#ifdef GRAFT_HAVE_HDF5

#include "snapshot/gadget_hdf5.hpp"
#include "snapshot/hdf5_handle.hpp"
#include "snapshot/metadata.hpp"

#include <algorithm>

namespace graft::cli {

using namespace hdf5;

namespace {

using Indices = std::vector<std::size_t>;

void write_number(hid_t group, const char* name, double value, const std::string& where) {
    write_numbers(group, name, H5T_NATIVE_DOUBLE, &value, 1, where);
}

void write_flag(hid_t group, const char* name, std::int32_t value, const std::string& where) {
    write_numbers(group, name, H5T_NATIVE_INT32, &value, 1, where);
}

void write_header(hid_t file, const Snapshot& s, const Indices (&of_kind)[component_count],
                  const std::string& where) {
    const Handle group = create_group(file, "Header", where);
    std::uint32_t low[component_count];
    std::uint32_t high[component_count];
    const double table[component_count] = {};
    for (int k = 0; k < component_count; ++k) {
        low[k] = static_cast<std::uint32_t>(of_kind[k].size() & 0xffffffffu);
        high[k] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(of_kind[k].size()) >> 32);
    }
    // 32-bit counts as Gadget-2 wrote them, unless they do not fit.
    std::uint64_t wide[component_count];
    std::transform(std::begin(of_kind), std::end(of_kind), wide, [](const Indices& i) { return i.size(); });
    const bool fits = std::all_of(std::begin(high), std::end(high), [](std::uint32_t h) { return h == 0; });
    write_numbers(group, "NumPart_ThisFile", fits ? H5T_NATIVE_UINT32 : H5T_NATIVE_UINT64,
                  fits ? static_cast<const void*>(low) : wide, component_count, where);
    write_numbers(group, "NumPart_Total", H5T_NATIVE_UINT32, low, component_count, where);
    write_numbers(group, "NumPart_Total_HighWord", H5T_NATIVE_UINT32, high, component_count, where);
    write_numbers(group, "MassTable", H5T_NATIVE_DOUBLE, table, component_count, where);
    write_number(group, "Time", s.time, where);
    write_number(group, "BoxSize", s.box_size, where);
    write_number(group, "Redshift", 0.0, where);
    write_number(group, "Omega0", 0.0, where);
    write_number(group, "OmegaLambda", 0.0, where);
    write_number(group, "HubbleParam", 1.0, where);
    write_flag(group, "NumFilesPerSnapshot", 1, where);
    for (const char* flag : {"Flag_Sfr", "Flag_Cooling", "Flag_StellarAge", "Flag_Metals", "Flag_Feedback",
                             "Flag_Entropy_ICs"}) {
        write_flag(group, flag, 0, where);
    }
    write_flag(group, "Flag_DoublePrecision", 1, where);
}

void write_units(hid_t file, const Units& units, const std::string& where) {
    if (units.length_m <= 0.0 || units.mass_kg <= 0.0 || units.time_s <= 0.0) {
        return;
    }
    const Handle group = create_group(file, "Units", where);
    write_number(group, "Unit length in cgs (U_L)", units.length_m * 100.0, where);
    write_number(group, "Unit mass in cgs (U_M)", units.mass_kg * 1000.0, where);
    write_number(group, "Unit time in cgs (U_t)", units.time_s, where);
    write_number(group, "Unit current in cgs (U_I)", 1.0, where);
    write_number(group, "Unit temperature in cgs (U_T)", 1.0, where);
}

void write_own(hid_t file, const Snapshot& s, const std::string& where) {
    const Handle group = create_group(file, "Graft", where);
    // One text, not an attribute each: to list attributes is what corrupt files crash HDF5 1.10 with.
    std::string text;
    for (const auto& [key, value] : metadata_of(s)) {
        std::string line = key;
        line.append(" = ").append(value);
        std::replace(line.begin(), line.end(), '\n', ' ');
        text += line + "\n";
    }
    write_text(group, "Metadata", text, where);
}

template <class T>
std::vector<T> pick(const std::vector<T>& values, const Indices& indices) {
    std::vector<T> result;
    result.reserve(indices.size());
    for (const std::size_t i : indices) {
        result.push_back(values[i]);
    }
    return result;
}

void write_vectors(hid_t group, const char* name, const std::vector<double>& x, const std::vector<double>& y,
                   const std::vector<double>& z, const Indices& indices, const std::string& where) {
    std::vector<double> rows;
    rows.reserve(3 * indices.size());
    for (const std::size_t i : indices) {
        rows.insert(rows.end(), {x[i], y[i], z[i]});
    }
    write_dataset(group, name, H5T_NATIVE_DOUBLE, rows.data(), indices.size(), 3, where);
}

void write_names(hid_t group, const Snapshot& s, const Indices& indices, const std::string& where) {
    std::size_t width = 1;
    for (const std::size_t i : indices) {
        width = std::max(width, std::min<std::size_t>(s.names[i].size(), 256));
    }
    std::vector<char> raw(width * indices.size(), '\0');
    for (std::size_t k = 0; k < indices.size(); ++k) {
        s.names[indices[k]].copy(raw.data() + k * width, width);
    }
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, width);
    H5Tset_strpad(type, H5T_STR_NULLPAD);
    write_dataset(group, "Names", type, raw.data(), indices.size(), 1, where);
}

void write_type(hid_t file, int kind, const Snapshot& s, const Indices& indices, const std::string& source) {
    const std::string name = "PartType" + std::to_string(kind);
    const std::string where = source + ":/" + name;
    const Handle group = create_group(file, name.c_str(), where);
    write_vectors(group, "Coordinates", s.x, s.y, s.z, indices, where);
    write_vectors(group, "Velocities", s.vx, s.vy, s.vz, indices, where);
    write_dataset(group, "Masses", H5T_NATIVE_DOUBLE, pick(s.mass, indices).data(), indices.size(), 1, where);
    write_dataset(group, "ParticleIDs", H5T_NATIVE_INT64, pick(s.id, indices).data(), indices.size(), 1,
                  where);
    if (!s.softening.empty()) {
        write_dataset(group, "Softening", H5T_NATIVE_DOUBLE, pick(s.softening, indices).data(),
                      indices.size(), 1, where);
    }
    const auto named = [&s](std::size_t i) { return !s.names[i].empty(); };
    if (!s.names.empty() && std::any_of(indices.begin(), indices.end(), named)) {
        write_names(group, s, indices, where);
    }
}

// The file is made in memory and written by us: after a failed write of its own (disk full), HDF5 1.10 keeps
// the broken file open and crashes at the program's exit.
std::vector<std::byte> file_image(const Snapshot& s, const Indices (&of_kind)[component_count],
                                  const std::string& where) {
    constexpr std::size_t bytes_per_particle = 120;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_fapl_core(access, (1u << 20) + bytes_per_particle * s.size(), false), "work in memory",
          where);
    const Handle file(H5Fcreate("graft-image.hdf5", H5F_ACC_TRUNC, timeless(H5P_FILE_CREATE), access),
                      H5Fclose);
    check(file, "create a file in memory", where);
    write_header(file, s, of_kind, where);
    write_units(file, s.units, where);
    write_own(file, s, where);
    for (int kind = 0; kind < component_count; ++kind) {
        if (!of_kind[kind].empty()) {
            write_type(file, kind, s, of_kind[kind], where);
        }
    }
    check(H5Fflush(file, H5F_SCOPE_LOCAL), "finish the file in memory", where);
    const ssize_t size = H5Fget_file_image(file, nullptr, 0);
    check(size, "take the file from memory", where);
    std::vector<std::byte> image(static_cast<std::size_t>(size));
    check(H5Fget_file_image(file, image.data(), image.size()), "take the file from memory", where);
    return image;
}

} // namespace

void write_gadget_hdf5(const Snapshot& s, const std::string& path) {
    s.validate(path);
    const Silence silence;
    Indices of_kind[component_count];
    for (std::size_t i = 0; i < s.size(); ++i) {
        of_kind[s.component[i]].push_back(i);
    }
    write_file_atomically(path, file_image(s, of_kind, path));
}

} // namespace graft::cli

#endif
