// SPDX-License-Identifier: BSD-3-Clause
// Thin HDF5 helpers; every size that comes from a file is checked before memory is taken for it.
#ifdef GRAFT_HAVE_HDF5

#include "snapshot/hdf5_handle.hpp"

#include <algorithm>
#include <iterator>

namespace graft::cli::hdf5 {

namespace {

constexpr std::uint64_t largest_compression = 1100; // deflate reaches 1032 : 1
constexpr std::size_t longest_text_bytes = 65536;
constexpr std::size_t most_names = 1000;
bool data_unread = false;

Handle open_attribute(hid_t object, const char* name) {
    const htri_t found = H5Aexists(object, name);
    return Handle(found > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1, H5Aclose);
}

Handle string_type(std::size_t bytes) {
    Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, bytes);
    return type;
}

std::string shape_text(const std::vector<hsize_t>& shape) {
    std::string text = "(";
    for (const hsize_t extent : shape) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    }
    return text + ")";
}

std::vector<hsize_t> shape_of(hid_t dataset) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const int rank = space.valid() ? H5Sget_simple_extent_ndims(space) : -1;
    std::vector<hsize_t> shape(rank > 0 ? static_cast<std::size_t>(rank) : 0);
    if (rank > 0) {
        H5Sget_simple_extent_dims(space, shape.data(), nullptr);
    }
    return shape;
}

// HDF5's own conversion code overruns its buffers on damaged descriptions of exotic numbers (seen
// with 1.10.8), so only the plain ones pass.
bool is_plain_number(hid_t type) {
    const hid_t plain[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE,
                           H5T_STD_I32LE,  H5T_STD_I32BE,  H5T_STD_U32LE,  H5T_STD_U32BE,
                           H5T_STD_I64LE,  H5T_STD_I64BE,  H5T_STD_U64LE,  H5T_STD_U64BE,
                           H5T_STD_I16LE,  H5T_STD_U16LE,  H5T_STD_I8LE,   H5T_STD_U8LE};
    return std::any_of(std::begin(plain), std::end(plain),
                       [type](hid_t known) { return H5Tequal(type, known) > 0; });
}

} // namespace

void check(std::int64_t status, const char* action, const std::string& where) {
    if (status < 0) {
        throw Error(
            {std::string("HDF5: cannot ") + action, where, "", "", "check the file with h5dump or h5check"});
    }
}

std::vector<double> read_numbers(hid_t object, const char* name) {
    const Handle attribute = open_attribute(object, name);
    if (!attribute.valid()) {
        return {};
    }
    const Handle space(H5Aget_space(attribute), H5Sclose);
    const Handle type(H5Aget_type(attribute), H5Tclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count < 1 || count > 64 || !is_plain_number(type)) {
        return {};
    }
    std::vector<double> values(static_cast<std::size_t>(count));
    return H5Aread(attribute, H5T_NATIVE_DOUBLE, values.data()) < 0 ? std::vector<double>{} : values;
}

std::string read_text(hid_t object, const char* name) {
    const Handle attribute = open_attribute(object, name);
    if (!attribute.valid()) {
        return {};
    }
    const Handle type(H5Aget_type(attribute), H5Tclose);
    const Handle space(H5Aget_space(attribute), H5Sclose);
    if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) > 0 ||
        H5Sget_simple_extent_npoints(space) != 1 || H5Tget_size(type) > longest_text_bytes) {
        return {};
    }
    std::string text(H5Tget_size(type), '\0');
    if (H5Aread(attribute, type, text.data()) < 0) {
        return {};
    }
    return text.substr(0, text.find('\0'));
}

void write_numbers(hid_t object, const char* name, hid_t type, const void* values, hsize_t count,
                   const std::string& where) {
    const Handle space(count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, nullptr), H5Sclose);
    const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    check(attribute, "create an attribute", where);
    check(H5Awrite(attribute, type, values), "write an attribute", where);
}

void write_text(hid_t object, const char* name, const std::string& text, const std::string& where) {
    const Handle type = string_type(text.size() + 1);
    write_numbers(object, name, type, text.c_str(), 1, where);
}

bool exists(hid_t parent, const char* name) {
    return H5Lexists(parent, name, H5P_DEFAULT) > 0 && H5Oexists_by_name(parent, name, H5P_DEFAULT) > 0;
}

Handle open_dataset(hid_t group, const char* name, std::uint64_t rows, std::uint64_t columns,
                    const std::string& where) {
    Handle dataset(H5Dopen2(group, name, H5P_DEFAULT), H5Dclose);
    check(dataset, "open a dataset", where + "/" + name);
    const std::vector<hsize_t> shape = shape_of(dataset);
    const std::vector<hsize_t> wanted =
        columns == 1 ? std::vector<hsize_t>{rows} : std::vector<hsize_t>{rows, columns};
    const bool column_vector = columns == 1 && shape == std::vector<hsize_t>{rows, 1};
    if (shape != wanted && !column_vector) {
        throw Error({"dataset has the wrong shape", where + "/" + name,
                     shape_text(wanted) + " from NumPart_ThisFile", shape_text(shape), ""});
    }
    const Handle type(H5Dget_type(dataset), H5Tclose);
    if (!is_plain_number(type) && H5Tget_class(type) != H5T_STRING) {
        throw Error({"dataset is not of plain numbers", where + "/" + name,
                     "32- or 64-bit integers or floats", "", ""});
    }
    const std::uint64_t stored = H5Dget_storage_size(dataset);
    const std::uint64_t item_bytes = H5Tget_size(type);
    const Handle creation(H5Dget_create_plist(dataset), H5Pclose);
    const bool chunked = H5Pget_layout(creation) == H5D_CHUNKED;
    const std::uint64_t holds = item_bytes == 0 ? 0
                                                : stored / item_bytes * (chunked ? largest_compression : 1) +
                                                      (chunked && stored > 0 ? largest_compression : 0);
    if (holds / columns < rows) {
        throw Error({"dataset is truncated or corrupt", where + "/" + name,
                     std::to_string(rows * columns * item_bytes) + " bytes",
                     std::to_string(stored) + " bytes stored", ""});
    }
    return dataset;
}

void leave_data_unread() noexcept {
    data_unread = true;
}

void read_all(hid_t dataset, hid_t memory_type, void* to, const std::string& where) {
    const Handle stored_type(H5Dget_type(dataset), H5Tclose);
    if ((H5Tget_class(stored_type) == H5T_STRING) != (H5Tget_class(memory_type) == H5T_STRING)) {
        throw Error({"dataset has the wrong kind of values", where, "", "", ""});
    }
    if (data_unread) {
        return;
    }
    check(H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to), "read a dataset", where);
}

/// Without times of objects: the same content is the same bytes whenever it is written.
Handle timeless(hid_t kind) {
    Handle properties(H5Pcreate(kind), H5Pclose);
    H5Pset_obj_track_times(properties, false);
    return properties;
}

Handle create_group(hid_t parent, const char* name, const std::string& where) {
    Handle group(H5Gcreate2(parent, name, H5P_DEFAULT, timeless(H5P_GROUP_CREATE), H5P_DEFAULT), H5Gclose);
    check(group, "create a group", where);
    return group;
}

namespace {

/// What HDF5 calls for each link or attribute; 1 ends it.
template <typename Info>
herr_t keep_name(hid_t, const char* name, const Info*, void* to) {
    auto& names = *static_cast<std::vector<std::string>*>(to);
    names.emplace_back(name);
    return names.size() < most_names ? 0 : 1;
}

} // namespace

std::vector<std::string> names_in(hid_t parent) {
    std::vector<std::string> names;
    H5Literate(parent, H5_INDEX_NAME, H5_ITER_INC, nullptr, keep_name<H5L_info_t>, &names);
    return names;
}

std::vector<std::string> attributes_of(hid_t object) {
    std::vector<std::string> names;
    H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, keep_name<H5A_info_t>, &names);
    return names;
}

void write_dataset(hid_t group, const char* name, hid_t type, const void* from, std::uint64_t rows,
                   std::uint64_t columns, const std::string& where) {
    const hsize_t shape[2] = {rows, columns};
    const Handle space(H5Screate_simple(columns == 1 ? 1 : 2, shape, nullptr), H5Sclose);
    const Handle dataset(
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, timeless(H5P_DATASET_CREATE), H5P_DEFAULT),
        H5Dclose);
    check(dataset, "create a dataset", where + "/" + name);
    check(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, from), "write a dataset",
          where + "/" + name);
}

} // namespace graft::cli::hdf5

#endif
