// SPDX-License-Identifier: BSD-3-Clause
// VTK writers: one list of point fields serves both file kinds.
#include "snapshot/vtk.hpp"

#include "snapshot/byte_order.hpp"
#include "snapshot/metadata.hpp"

#include <string>

namespace graft::cli {

namespace {

void append_text(std::vector<std::byte>& to, const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

template <class T>
void append_values(std::vector<std::byte>& to, const std::vector<T>& values, ByteOrder order) {
    for (const T value : values) {
        store_number(to, value, order);
    }
}

std::vector<double> interleave(const std::vector<double>& x, const std::vector<double>& y,
                               const std::vector<double>& z) {
    std::vector<double> rows;
    rows.reserve(3 * x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
        rows.insert(rows.end(), {x[i], y[i], z[i]});
    }
    return rows;
}

std::vector<std::int64_t> counting(std::size_t n, std::int64_t first) {
    std::vector<std::int64_t> values(n);
    for (std::size_t i = 0; i < n; ++i) {
        values[i] = first + static_cast<std::int64_t>(i);
    }
    return values;
}

// Appended-data section: blocks of {UInt64 bytes, data}, each announced by a DataArray element with its
// offset.
class VtuArrays {
  public:
    template <class T>
    std::string add(const char* type, const char* name, int components, const std::vector<T>& values) {
        const std::size_t offset = data_.size();
        store_number(data_, static_cast<std::uint64_t>(values.size() * sizeof(T)), ByteOrder::Little);
        append_values(data_, values, ByteOrder::Little);
        return std::string("<DataArray type=\"") + type + "\" Name=\"" + name + "\" NumberOfComponents=\"" +
               std::to_string(components) + "\" format=\"appended\" offset=\"" + std::to_string(offset) +
               "\"/>\n";
    }
    const std::vector<std::byte>& data() const noexcept { return data_; }

  private:
    std::vector<std::byte> data_;
};

std::string point_data(const Snapshot& s, VtuArrays& arrays) {
    std::string xml = "<PointData Scalars=\"mass\" Vectors=\"velocity\">\n";
    xml += arrays.add("Float64", "mass", 1, s.mass);
    xml += arrays.add("Float64", "velocity", 3, interleave(s.vx, s.vy, s.vz));
    xml += arrays.add("Int32", "component", 1, s.component);
    xml += arrays.add("Int64", "id", 1, s.id);
    if (!s.softening.empty()) {
        xml += arrays.add("Float64", "softening", 1, s.softening);
    }
    return xml + "</PointData>\n";
}

std::string cells(std::size_t n, VtuArrays& arrays) {
    constexpr std::uint8_t vertex = 1;
    std::string xml = "<Cells>\n";
    xml += arrays.add("Int64", "connectivity", 1, counting(n, 0));
    xml += arrays.add("Int64", "offsets", 1, counting(n, 1));
    xml += arrays.add("UInt8", "types", 1, std::vector<std::uint8_t>(n, vertex));
    return xml + "</Cells>\n";
}

template <class T>
void append_scalars(std::vector<std::byte>& to, const char* name, const char* type,
                    const std::vector<T>& values) {
    append_text(to, std::string("SCALARS ") + name + " " + type + " 1\nLOOKUP_TABLE default\n");
    append_values(to, values, ByteOrder::Big);
    append_text(to, "\n");
}

} // namespace

std::vector<std::byte> encode_vtu(const Snapshot& s) {
    VtuArrays arrays;
    std::string xml = "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
                      "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n";
    xml += "<FieldData>\n" + arrays.add("Float64", "TimeValue", 1, std::vector<double>{s.time});
    xml.insert(xml.rfind(" format="), " NumberOfTuples=\"1\"");
    xml += "</FieldData>\n";
    xml += "<Piece NumberOfPoints=\"" + std::to_string(s.size()) + "\" NumberOfCells=\"" +
           std::to_string(s.size()) + "\">\n";
    xml += point_data(s, arrays);
    xml += "<Points>\n" + arrays.add("Float64", "position", 3, interleave(s.x, s.y, s.z)) + "</Points>\n";
    xml += cells(s.size(), arrays);
    xml += "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
    std::vector<std::byte> bytes;
    append_text(bytes, xml);
    bytes.insert(bytes.end(), arrays.data().begin(), arrays.data().end());
    append_text(bytes, "\n</AppendedData>\n</VTKFile>\n");
    return bytes;
}

std::vector<std::byte> encode_vtk(const Snapshot& s) {
    const std::string n = std::to_string(s.size());
    std::vector<std::byte> bytes;
    append_text(bytes, "# vtk DataFile Version 3.0\ngraft snapshot at time " + number_text(s.time) +
                           "\nBINARY\nDATASET POLYDATA\nPOINTS " + n + " double\n");
    append_values(bytes, interleave(s.x, s.y, s.z), ByteOrder::Big);
    append_text(bytes, "\nVERTICES " + n + " " + std::to_string(2 * s.size()) + "\n");
    for (std::size_t i = 0; i < s.size(); ++i) {
        store_number(bytes, std::int32_t{1}, ByteOrder::Big);
        store_number(bytes, static_cast<std::int32_t>(i), ByteOrder::Big);
    }
    append_text(bytes, "\nPOINT_DATA " + n + "\nVECTORS velocity double\n");
    append_values(bytes, interleave(s.vx, s.vy, s.vz), ByteOrder::Big);
    append_text(bytes, "\n");
    append_scalars(bytes, "mass", "double", s.mass);
    append_scalars(bytes, "component", "int", s.component);
    if (!s.softening.empty()) {
        append_scalars(bytes, "softening", "double", s.softening);
    }
    return bytes;
}

} // namespace graft::cli
