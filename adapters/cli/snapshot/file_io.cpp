// POSIX files: read whole, write through a temporary file, fsync and rename (rename(2): atomic on one file
// system).
#include "snapshot/file_io.hpp"

#include "snapshot/error.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace graft::cli {

namespace {

[[noreturn]] void fail_io(const char* action, const std::string& path, const char* hint) {
    throw Error({std::string("cannot ") + action + ": " + std::strerror(errno), path, "", "", hint});
}

struct Descriptor {
    int value;
    ~Descriptor() {
        if (value >= 0) {
            ::close(value);
        }
    }
};

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

std::vector<std::byte> read_file(const std::string& path) {
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
    if (file.value < 0) {
        fail_io("open file", path, "check the path and its permissions");
    }
    struct stat status {};
    if (::fstat(file.value, &status) != 0) {
        fail_io("examine file", path, "");
    }
    if (!S_ISREG(status.st_mode)) {
        throw Error(
            {"not a regular file", path, "a snapshot file", S_ISDIR(status.st_mode) ? "a folder" : "", ""});
    }
    std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = ::read(file.value, bytes.data() + done, bytes.size() - done);
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
    bytes.resize(done);
    return bytes;
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 100 && descriptor_ < 0; ++attempt) {
        temporary_path_ = path_ + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
        descriptor_ = ::open(temporary_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor_ < 0 && errno != EEXIST) {
            break;
        }
    }
    if (descriptor_ < 0) {
        committed_ = true; // nothing to remove
        fail_io("create file", path_, "check that the folder exists and is writable");
    }
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
    fail_io(action, path_, "check the free space; the old file, if any, is unchanged");
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

void write_file_atomically(const std::string& path, Bytes bytes) {
    AtomicFile file(path);
    file.write(bytes);
    file.commit();
}

} // namespace graft::cli
