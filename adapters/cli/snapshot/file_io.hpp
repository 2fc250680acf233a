// SPDX-License-Identifier: BSD-3-Clause
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

/// Throws Error for what is there and no regular file: a folder, a pipe (which would wait for ever), a device.
/// A missing file passes.
void require_regular_file(const std::string& path);

/// The file's whole content. Throws Error (missing, unreadable, no regular file).
std::vector<std::byte> read_file(const std::string& path);

/// Whether both names lead to one file, by device and inode: relative paths, links of either kind.
bool is_same_file(const std::string& a, const std::string& b) noexcept;

/// What a file is, however it is named: its length and the FNV-1a hash of its bytes.
struct FileIdentity {
    std::int64_t bytes = 0;
    std::uint64_t hash = 0;
};
/// Reads the file once, block by block. Throws Error.
FileIdentity identity_of(const std::string& path);
/// FNV-1a, continued from `hash`.
constexpr std::uint64_t fnv_start = 1469598103934665603ull;
std::uint64_t fnv_hash(Bytes bytes, std::uint64_t hash = fnv_start) noexcept;

/// Removes what killed programs have left of files whose paths begin with `prefix`: temporary files that
/// nobody holds a lock on. Returns their names.
std::vector<std::string> remove_leftovers(const std::string& prefix);

/// A file that appears under its name only when commit() succeeds: temporary file beside it, fsync, rename.
/// The temporary file is locked (flock) while it is written, so that others see whether its writer lives.
class AtomicFile {
  public:
    /// Removes what a killed program has left, chooses and creates the temporary file. Throws Error when the
    /// folder is missing or not writable, or when something that is no regular file has the name.
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
    bool create();
    [[noreturn]] void fail(const char* action) const;

    std::string path_;
    std::string temporary_path_;
    int descriptor_ = -1;
    bool committed_ = false;
};

/// Throws Error for a write that has just failed, by errno: "cannot `action`", or that there is no space. `state`: how the file
/// is now.
[[noreturn]] void fail_writing(const char* action, const std::string& path, const char* state);

/// Writes all of `bytes` to `path`, atomically. Throws Error.
void write_file_atomically(const std::string& path, Bytes bytes);

/// Keeps other programs out while it lives: a file with an flock. Where the file system has no locks, it lets
/// everybody in and says so. The file is removed at the end; one that a killed program left is taken over.
class FileLock {
  public:
    /// Throws Error when another program has it: who and where, as the file says.
    explicit FileLock(std::string path);
    ~FileLock();
    FileLock(const FileLock&) = delete;
    FileLock& operator=(const FileLock&) = delete;

    /// False where the file system has no locks.
    bool works() const noexcept { return works_; }

  private:
    bool take();
    [[noreturn]] void refuse() const;

    std::string path_;
    int descriptor_ = -1;
    bool works_ = true;
};

} // namespace graft::cli
