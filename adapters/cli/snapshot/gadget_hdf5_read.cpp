// SPDX-License-Identifier: BSD-3-Clause
// Gadget-style HDF5: the reader. The HDF5 library checks its own structures; the sizes of ours are checked
// here.
#include "snapshot/gadget_hdf5.hpp"

#include "snapshot/error.hpp"
#include "snapshot/metadata.hpp"
#include "snapshot/rehearsal.hpp"

#include <algorithm>
#include <cstring>

#ifdef GRAFT_HAVE_HDF5
#include "snapshot/hdf5_handle.hpp"
#endif

namespace graft::cli {

bool looks_like_hdf5(Bytes bytes) noexcept {
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    return bytes.size() >= sizeof signature && std::memcmp(bytes.data(), signature, sizeof signature) == 0;
}

#ifdef GRAFT_HAVE_HDF5

using namespace hdf5;

namespace {

struct Header {
    std::uint64_t counts[component_count] = {};
    double masses[component_count] = {};
};

Header read_header(hid_t file, Snapshot& s, const std::string& where) {
    const Handle group(exists(file, "Header") ? H5Gopen2(file, "Header", H5P_DEFAULT) : -1, H5Gclose);
    const std::vector<double> counts =
        group.valid() ? read_numbers(group, "NumPart_ThisFile") : std::vector<double>{};
    if (counts.empty()) {
        throw Error({"no Gadget header", where, "group Header with attribute NumPart_ThisFile", "none",
                     "is it a snapshot, and of Gadget's layout?"});
    }
    const std::vector<double> files = read_numbers(group, "NumFilesPerSnapshot");
    if (!files.empty() && files[0] > 1) {
        throw Error({"snapshot is split over several files", where, "one file",
                     std::to_string(files[0]) + " files", "join them first"});
    }
    const std::vector<double> masses = read_numbers(group, "MassTable");
    Header header;
    for (std::size_t k = 0; k < component_count; ++k) {
        const double count = k < counts.size() ? counts[k] : 0.0;
        if (!(count >= 0.0 && count < 1e15)) {
            throw Error({"NumPart_ThisFile is not a count", where, "0 or more", std::to_string(count), ""});
        }
        header.counts[k] = static_cast<std::uint64_t>(count);
        header.masses[k] = k < masses.size() ? masses[k] : 0.0;
    }
    for (std::size_t k = component_count; k < counts.size(); ++k) {
        if (counts[k] != 0.0) {
            throw Error(
                {"particles of a type beyond 5", where, "types 0 to 5", "type " + std::to_string(k), ""});
        }
    }
    const std::vector<double> time = read_numbers(group, "Time");
    const std::vector<double> box = read_numbers(group, "BoxSize");
    s.time = time.empty() ? 0.0 : time[0];
    s.box_size = box.empty() ? 0.0 : box[0];
    return header;
}

void read_vectors(hid_t group, const char* name, std::size_t count, std::vector<double>* const (&to)[3],
                  const std::string& where) {
    const Handle dataset = open_dataset(group, name, count, 3, where);
    std::vector<double> rows(3 * count);
    read_all(dataset, H5T_NATIVE_DOUBLE, rows.data(), where + "/" + name);
    for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t old = to[k]->size();
        to[k]->resize(old + count);
        for (std::size_t i = 0; i < count; ++i) {
            (*to[k])[old + i] = rows[3 * i + k];
        }
    }
}

// Appends to `to`, which first gets zeros up to `begin` (types before this one may have lacked the field).
template <class T>
void read_scalars(hid_t group, const char* name, hid_t type, std::size_t begin, std::size_t count,
                  std::vector<T>& to, const std::string& where) {
    const Handle dataset = open_dataset(group, name, count, 1, where);
    to.resize(begin + count);
    read_all(dataset, type, to.data() + begin, where + "/" + name);
}

void read_ids(hid_t group, std::size_t begin, std::size_t count, Snapshot& s, const std::string& where) {
    if (exists(group, "ParticleIDs")) {
        read_scalars(group, "ParticleIDs", H5T_NATIVE_INT64, begin, count, s.id, where);
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        s.id.push_back(static_cast<std::int64_t>(begin + i));
    }
}

void read_names(hid_t group, std::size_t begin, std::size_t count, Snapshot& s, const std::string& where) {
    const Handle dataset = open_dataset(group, "Names", count, 1, where);
    const Handle type(H5Dget_type(dataset), H5Tclose);
    const std::size_t width = H5Tget_size(type);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 || width == 0 || width > 256) {
        throw Error(
            {"names are not fixed-length text", where + "/Names", "strings of 1 to 256 bytes", "", ""});
    }
    std::vector<char> raw(width * count);
    read_all(dataset, type, raw.data(), where + "/Names");
    s.names.resize(begin + count);
    for (std::size_t i = 0; i < count; ++i) {
        const char* from = raw.data() + i * width;
        s.names[begin + i].assign(from, std::find(from, from + width, '\0'));
    }
}

void read_masses(hid_t group, std::size_t begin, std::size_t count, double table_mass, Snapshot& s,
                 const std::string& where) {
    if (exists(group, "Masses")) {
        read_scalars(group, "Masses", H5T_NATIVE_DOUBLE, begin, count, s.mass, where);
    } else {
        s.mass.resize(begin + count, table_mass);
    }
}

void read_type(hid_t file, std::int32_t kind, const Header& header, Snapshot& s, const std::string& source) {
    const std::string name = "PartType" + std::to_string(kind);
    const std::string where = source + ":/" + name;
    const auto count = static_cast<std::size_t>(header.counts[kind]);
    const Handle group(exists(file, name.c_str()) ? H5Gopen2(file, name.c_str(), H5P_DEFAULT) : -1, H5Gclose);
    check(group, "open the group of a particle type that the header counts", where);
    const std::size_t begin = s.size();
    read_vectors(group, "Coordinates", count, {&s.x, &s.y, &s.z}, where);
    read_vectors(group, "Velocities", count, {&s.vx, &s.vy, &s.vz}, where);
    read_masses(group, begin, count, header.masses[kind], s, where);
    read_ids(group, begin, count, s, where);
    s.component.resize(begin + count, kind);
    for (const char* field : {"Softening", "Softenings"}) {
        if (exists(group, field)) {
            read_scalars(group, field, H5T_NATIVE_DOUBLE, begin, count, s.softening, where);
        }
    }
    if (exists(group, "Names")) {
        read_names(group, begin, count, s, where);
    }
}

bool take_line(const std::string& line, Snapshot& s) {
    const auto equals = line.find(" = ");
    if (equals == std::string::npos) {
        return false;
    }
    try {
        set_metadata(s, line.substr(0, equals), line.substr(equals + 3), "");
    } catch (const Error&) {
        return false;
    }
    return true;
}

// Lines "key = value". A line that is none, or a bad number, is left out and named: the particles are worth
// more than it.
void read_own(hid_t group, Snapshot& s) {
    constexpr std::size_t most_named = 80;
    std::string text = read_text(group, "Metadata");
    if (text.empty()) {
        s.left_out.push_back("Graft/Metadata");
    }
    while (!text.empty()) {
        const std::string line = text.substr(0, text.find('\n'));
        text.erase(0, line.size() + 1);
        if (!take_line(line, s)) {
            s.left_out.push_back("Graft/Metadata: " + line.substr(0, most_named));
        }
    }
}

constexpr const char* known_fields[] = {"Coordinates", "Velocities", "Masses", "ParticleIDs",
                                        "Softening",   "Softenings", "Names"};

/// Of the header: what is read, or follows from it.
constexpr const char* known_attributes[] = {"NumPart_ThisFile", "NumPart_Total", "NumPart_Total_HighWord", "NumFilesPerSnapshot",
                                            "MassTable", "Time", "BoxSize", "Flag_DoublePrecision"};

bool is_type(const std::string& name) {
    return name.size() == 9 && name.starts_with("PartType") && name[8] >= '0' &&
           name[8] < '0' + component_count;
}

/// Numbers that are 0, or what is written anyhow, are no loss.
bool says_nothing(hid_t header, const std::string& name) {
    const std::vector<double> value = read_numbers(header, name.c_str());
    const double ours = name == "HubbleParam" ? 1.0 : 0.0;
    return !value.empty() && std::ranges::all_of(value, [ours](double v) { return v == 0.0 || v == ours; });
}

void name_attributes(hid_t object, const std::string& where, Snapshot& s) {
    for (const std::string& name : attributes_of(object)) {
        const bool known = (where == "Graft" && name == "Metadata") ||
                           (where == "Header" && (std::ranges::find(known_attributes, name) != std::end(known_attributes) ||
                                                  says_nothing(object, name)));
        if (!known) {
            s.left_out.push_back(std::string(where).append("/").append(name));
        }
    }
}

/// What the file has and a Snapshot has no place for. Units are kept by Graft's own metadata only.
void name_left_out(hid_t file, Snapshot& s) {
    name_attributes(file, "", s);
    for (const std::string& name : names_in(file)) {
        if (is_type(name) || name == "Graft") { // of whose data sets none is read
            const Handle group(H5Gopen2(file, name.c_str(), H5P_DEFAULT), H5Gclose);
            name_attributes(group, name, s);
            for (const std::string& field : names_in(group)) {
                if (name == "Graft" || std::ranges::find(known_fields, field) == std::end(known_fields)) {
                    s.left_out.push_back(std::string(name).append("/").append(field));
                }
            }
        } else if (name != "Header" && (name != "Units" || !exists(file, "Graft"))) {
            s.left_out.push_back(name);
        }
    }
    const Handle header(H5Gopen2(file, "Header", H5P_DEFAULT), H5Gclose);
    name_attributes(header, "Header", s);
}

Snapshot read_open_file(hid_t file, const std::string& where) {
    Snapshot s;
    const Header header = read_header(file, s, where);
    for (std::int32_t kind = 0; kind < component_count; ++kind) {
        if (header.counts[kind] > 0) {
            read_type(file, kind, header, s, where);
        }
    }
    if (!s.softening.empty()) {
        s.softening.resize(s.size(), 0.0);
    }
    if (!s.names.empty()) {
        s.names.resize(s.size());
    }
    if (exists(file, "Graft")) {
        const Handle group(H5Gopen2(file, "Graft", H5P_DEFAULT), H5Gclose);
        read_own(group, s);
    }
    name_left_out(file, s);
    return s;
}

} // namespace

bool have_hdf5() noexcept {
    return true;
}

namespace {

Snapshot read_path(const std::string& path) {
    const Silence silence;
    const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    check(file, "open the file (missing, truncated or not HDF5)", path);
    return read_open_file(file, path);
}

Snapshot read_image(Bytes image, const std::string& where) {
    const Silence silence;
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    check(H5Pset_fapl_core(access, 1 << 16, false), "read from memory", where);
    // The library copies the image and only reads it; its interface lacks the const.
    check(H5Pset_file_image(access, const_cast<std::byte*>(image.data()), image.size()), "read from memory",
          where);
    const Handle file(H5Fopen("graft-image.hdf5", H5F_ACC_RDONLY, access), H5Fclose);
    check(file, "open the file image (truncated or not HDF5)", where);
    return read_open_file(file, where);
}

template <class Read>
Snapshot rehearse_and_read(const Read& read, const std::string& where) {
    const auto rehearsal = [&read] {
        leave_data_unread();
        read();
    };
    if (!survives_rehearsal(rehearsal)) {
        throw Error({"the HDF5 library crashes on this file", where, "a sound HDF5 file", "a damaged one",
                     "make or fetch the file again"});
    }
    return read();
}

} // namespace

Snapshot read_gadget_hdf5(const std::string& path) {
    return rehearse_and_read([&] { return read_path(path); }, path);
}

Snapshot read_gadget_hdf5(Bytes image, const std::string& where) {
    return rehearse_and_read([&] { return read_image(image, where); }, where);
}

#else

bool have_hdf5() noexcept {
    return false;
}

namespace {
[[noreturn]] void refuse(const std::string& where) {
    throw Error({"this build has no HDF5", where, "a build with GRAFT_WITH_HDF5=ON", "OFF",
                 "rebuild with HDF5, or use tipsy or CSV"});
}
} // namespace

Snapshot read_gadget_hdf5(const std::string& path) {
    refuse(path);
}

Snapshot read_gadget_hdf5(Bytes, const std::string& where) {
    refuse(where);
}

void write_gadget_hdf5(const Snapshot&, const std::string& path) {
    refuse(path);
}

#endif

} // namespace graft::cli
