// SPDX-License-Identifier: BSD-3-Clause
// Decks and machine files as text.
#include "deck/yaml_reader.hpp"

#include "guard.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>

namespace graft::plugin {

using core::fail;
using core::Status;

const char* not_a_file(uint32_t mode) noexcept {
    return S_ISREG(mode)    ? ""
           : S_ISDIR(mode)  ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

namespace {

/// Throws for what is there and no regular file. What is missing is told by open.
void require_file(const struct stat& status, const std::string& path, const char* what) {
    if (const char* kind = not_a_file(status.st_mode); *kind != '\0')
        fail(Status::deck_file, "%s: the %s cannot be read: expected a regular file, found %s", path.c_str(),
             what, kind);
}

} // namespace

std::string read_text_file(const std::string& path, const char* what) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0)
        require_file(status, path, what);
    // Should it have become a pipe by now, it is opened without waiting.
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        descriptor < 0 ? nullptr : fdopen(descriptor, "rb"), std::fclose);
    if (!file)
        fail(Status::deck_file, "%s: the %s cannot be opened: %s", path.c_str(), what, std::strerror(errno));
    if (fstat(descriptor, &status) == 0)
        require_file(status, path, what);
    std::string text(most_deck_bytes + 1, '\0'); // one more than allowed, so that too much is seen
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get()))
        fail(Status::deck_file, "%s: the %s cannot be read: %s", path.c_str(), what, std::strerror(errno));
    return text;
}

} // namespace graft::plugin
