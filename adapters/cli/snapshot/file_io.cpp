// SPDX-License-Identifier: BSD-3-Clause
// POSIX files: read whole, write through a temporary file, fsync and rename (rename(2): atomic on one file
// system).
#include "snapshot/file_io.hpp"

#include "snapshot/error.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace graft::cli {

namespace {

[[noreturn]] void fail_io(const char* action, const std::string& path, const char* hint) {
    throw Error({std::string("cannot ") + action + ": " + std::strerror(errno), path, "", "", hint});
}

struct Descriptor {
    int value;
    explicit Descriptor(int opened) : value(opened) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value >= 0) {
            ::close(value);
        }
    }
};

const char* kind_of(mode_t mode) {
    return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

void require_regular(const struct stat& status, const std::string& path) {
    if (!S_ISREG(status.st_mode)) {
        throw Error({"not a regular file", path, "a file", kind_of(status.st_mode), ""});
    }
}

/// A pipe is opened without waiting for who writes to it, and then refused.
int open_regular(const std::string& path, struct stat& status) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        require_regular_file(path); // sockets, and pipes without readers, fail to open
        fail_io("open file", path, "check the path and its permissions");
    }
    if (::fstat(file, &status) != 0) {
        ::close(file);
        fail_io("examine file", path, "");
    }
    return file;
}

/// Up to `count` bytes; fewer only at the file's end.
std::size_t read_bytes(int file, std::byte* to, std::size_t count, const std::string& path) {
    std::size_t done = 0;
    while (done < count) {
        const ssize_t got = ::read(file, to + done, count - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fail_io("read file", path, "");
        }
        if (got == 0) {
            break;
        }
        done += static_cast<std::size_t>(got);
    }
    return done;
}

bool is_unsupported(int error) {
    return error == ENOLCK || error == ENOTSUP || error == EINVAL || error == ENOSYS;
}

/// NAME.tmp-PROCESS-COUNT
bool is_temporary_name(std::string_view name) {
    const auto mark = name.rfind(".tmp-");
    if (mark == std::string_view::npos) {
        return false;
    }
    const std::string_view numbers = name.substr(mark + 5);
    const auto dash = numbers.find('-');
    return dash != std::string_view::npos && dash > 0 && dash + 1 < numbers.size() &&
           numbers.find_first_not_of("0123456789", dash + 1) == std::string_view::npos &&
           numbers.find_first_not_of("0123456789") == dash;
}

std::string folder_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    if (slash == std::string::npos) {
        return ".";
    }
    return slash == 0 ? "/" : path.substr(0, slash);
}

// Some file systems do not allow syncing a folder; the rename itself has succeeded by then.
void sync_folder(const std::string& path) noexcept {
    const Descriptor folder{::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (folder.value >= 0) {
        ::fsync(folder.value);
    }
}

} // namespace

void require_regular_file(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) {
        require_regular(status, path);
    }
}

std::vector<std::byte> read_file(const std::string& path) {
    struct stat status {};
    const Descriptor file{open_regular(path, status)};
    require_regular(status, path);
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    bytes.resize(read_bytes(file.value, bytes.data(), bytes.size(), path));
    return bytes;
}

bool is_same_file(const std::string& a, const std::string& b) noexcept {
    struct stat first {
    }, second{};
    return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

std::uint64_t fnv_hash(Bytes bytes, std::uint64_t hash) noexcept {
    for (const std::byte byte : bytes) {
        hash = (hash ^ static_cast<std::uint64_t>(byte)) * 1099511628211ull;
    }
    return hash;
}

FileIdentity identity_of(const std::string& path) {
    struct stat status {};
    const Descriptor file{open_regular(path, status)};
    require_regular(status, path);
    FileIdentity identity{0, fnv_start};
    std::vector<std::byte> block(std::size_t{1} << 20);
    while (const std::size_t got = read_bytes(file.value, block.data(), block.size(), path)) {
        identity.hash = fnv_hash(Bytes(block).first(got), identity.hash);
        identity.bytes += static_cast<std::int64_t>(got);
    }
    return identity;
}

std::vector<std::string> remove_leftovers(const std::string& prefix) {
    std::vector<std::string> removed;
    const std::string start = prefix.substr(prefix.find_last_of('/') + 1);
    std::error_code problem; // a folder that cannot be listed has nothing that we could remove
    for (const auto& entry : std::filesystem::directory_iterator(folder_of(prefix), problem)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(start) || !is_temporary_name(name)) {
            continue;
        }
        const Descriptor file{::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)};
        if (file.value >= 0 && ::flock(file.value, LOCK_EX | LOCK_NB) == 0 &&
            ::unlink(entry.path().c_str()) == 0) {
            removed.push_back(entry.path().string());
        }
    }
    return removed;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
    require_regular_file(path_);
    remove_leftovers(path_ + ".tmp-");
    for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
        if (!create() && errno != EEXIST) {
            break;
        }
    }
    if (descriptor_ < 0) {
        committed_ = true; // nothing to remove
        fail_io("create file", path_, "check that the folder exists and is writable");
    }
}

/// False with errno EEXIST: the name is taken, or was taken away before it was locked.
bool AtomicFile::create() {
    static std::atomic<unsigned> counter{0};
    temporary_path_ = path_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
    descriptor_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
        return false;
    }
    const bool locked = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || is_unsupported(errno);
    struct stat status {};
    if (locked && ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) {
        return true;
    }
    ::close(descriptor_);
    descriptor_ = -1;
    errno = EEXIST;
    return false;
}

AtomicFile::~AtomicFile() {
    if (descriptor_ >= 0) {
        ::close(descriptor_);
    }
    if (!committed_) {
        ::unlink(temporary_path_.c_str());
    }
}

void AtomicFile::fail(const char* action) const {
    fail_writing(action, path_, "the old file, if any, is unchanged");
}

void AtomicFile::write(Bytes bytes) {
    constexpr std::size_t block_bytes = std::size_t{1} << 30; // one write(2) moves at most 2 GiB on Linux
    while (!bytes.empty()) {
        const ssize_t put = ::write(descriptor_, bytes.data(), std::min(bytes.size(), block_bytes));
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put < 0) {
            fail("write file");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
}

void AtomicFile::commit() {
    // A library may have replaced the content through the path, so the sync goes through a fresh descriptor.
    const Descriptor file{::open(temporary_path_.c_str(), O_RDWR | O_CLOEXEC)};
    if (file.value < 0 || ::fsync(file.value) != 0) {
        fail("write file to disk");
    }
    if (::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
        fail("rename finished file");
    }
    committed_ = true;
    sync_folder(path_);
}

void fail_writing(const char* action, const std::string& path, const char* state) {
    const bool no_space = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    const std::string what = no_space ? std::string(action) + ", no space" : action;
    fail_io(what.c_str(), path, (std::string("check the free space, quota and file size limit (ulimit -f); ") + state).c_str());
}

void write_file_atomically(const std::string& path, Bytes bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

FileLock::FileLock(std::string path) : path_(std::move(path)) {
    require_regular_file(path_);
    while (!take()) {
    }
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const std::string owner = "process " + std::to_string(::getpid()) + " on " + host.data() + "\n";
    const bool written =
        ::ftruncate(descriptor_, 0) == 0 && ::write(descriptor_, owner.data(), owner.size()) >= 0;
    (void)written; // only says who we are
}

/// False when the file was removed by its owner between open and lock.
bool FileLock::take() {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor_ < 0) {
        fail_io("create the lock file", path_, "check that the folder exists and is writable");
    }
    works_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (!works_ && !is_unsupported(errno)) {
        refuse();
    }
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) {
        return true;
    }
    ::close(descriptor_);
    return false;
}

void FileLock::refuse() const {
    std::array<char, 300> owner{};
    const ssize_t got = ::pread(descriptor_, owner.data(), owner.size() - 1, 0);
    ::close(descriptor_);
    std::string text(owner.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    text = text.substr(0, text.find('\n'));
    throw Error(
        {"another program is writing this output", path_, "nobody else",
         text.empty() ? "a lock" : "a lock of " + text,
         "another output, or wait until that one has ended; the lock goes with it, also when it is killed"});
}

FileLock::~FileLock() {
    if (works_) {
        ::unlink(path_.c_str()); // while it is locked: who has opened it meanwhile sees a file without a name
    }
    ::close(descriptor_);
}

} // namespace graft::cli
