// Whole-file input and atomic output.
// Invariant: a destination either keeps its old content or has all of the new one; a failed write leaves no
// debris.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace graft::cli {

using Bytes = std::span<const std::byte>;

/// The file's whole content. Throws Error (missing, unreadable, a folder).
std::vector<std::byte> read_file(const std::string& path);

/// A file that appears under its name only when commit() succeeds: temporary file beside it, fsync, rename.
class AtomicFile {
  public:
    /// Chooses and creates the temporary file. Throws Error when the folder is missing or not writable.
    explicit AtomicFile(std::string path);
    /// Removes the temporary file unless commit() has succeeded.
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    const std::string& temporary_path() const noexcept { return temporary_path_; }

    /// Appends bytes to the temporary file. Throws Error (disk full...).
    void write(Bytes bytes);

    /// Flushes to the disk and renames; the folder is synced too. Throws Error.
    void commit();

  private:
    [[noreturn]] void fail(const char* action) const;

    std::string path_;
    std::string temporary_path_;
    int descriptor_ = -1;
    bool committed_ = false;
};

/// Writes all of `bytes` to `path`, atomically. Throws Error.
void write_file_atomically(const std::string& path, Bytes bytes);

} // namespace graft::cli
