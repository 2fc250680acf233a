// SPDX-License-Identifier: BSD-3-Clause
// Owning HDF5 identifiers, attributes and datasets with errors as exceptions. Only included where HDF5 is
// present.
#pragma once

#include "snapshot/error.hpp"

#include <cstdint>
#include <hdf5.h>
#include <string>
#include <utility>
#include <vector>

namespace graft::cli::hdf5 {

/// Closes its identifier with the given function.
class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
        if (id_ >= 0) {
            close_(id_);
        }
    }
    operator hid_t() const noexcept { return id_; }
    bool valid() const noexcept { return id_ >= 0; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

/// Keeps the HDF5 library from printing its error stack while alive.
class Silence {
  public:
    Silence() {
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    ~Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

  private:
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

/// Throws Error unless `status` is not negative.
void check(std::int64_t status, const char* action, const std::string& where);

/// Attribute `name` of `object` as doubles; empty when absent or not numeric, at most 64 values.
std::vector<double> read_numbers(hid_t object, const char* name);

/// Attribute `name` as text; empty when absent or not a string of at most 64 KiB.
std::string read_text(hid_t object, const char* name);

void write_numbers(hid_t object, const char* name, hid_t type, const void* values, hsize_t count,
                   const std::string& where);
void write_text(hid_t object, const char* name, const std::string& text, const std::string& where);

/// Whether a link of that name exists and opens.
bool exists(hid_t parent, const char* name);

/// Opens a dataset of shape (rows) or (rows, columns); Error when it has another shape, or when the file
/// cannot hold that many values (corrupt size), so that the caller may allocate rows * columns numbers.
Handle open_dataset(hid_t group, const char* name, std::uint64_t rows, std::uint64_t columns,
                    const std::string& where);

/// From now on read_all() leaves its target as it is: for a rehearsal in a child process, which needs the
/// structure only.
void leave_data_unread() noexcept;

/// Reads a whole dataset into memory of the given native type.
void read_all(hid_t dataset, hid_t memory_type, void* to, const std::string& where);

/// A property list of that class by which an object keeps no times.
Handle timeless(hid_t kind);

Handle create_group(hid_t parent, const char* name, const std::string& where);

/// Names of the links in a file or group, 1000 at most.
std::vector<std::string> names_in(hid_t parent);
/// Names of the attributes of a file, group or dataset, 1000 at most. HDF5 1.10 crashes here on some damaged files:
/// rehearsal.hpp.
std::vector<std::string> attributes_of(hid_t object);

/// Creates and writes a contiguous dataset (columns 1: one-dimensional).
void write_dataset(hid_t group, const char* name, hid_t type, const void* from, std::uint64_t rows,
                   std::uint64_t columns, const std::string& where);

} // namespace graft::cli::hdf5
