// SPDX-License-Identifier: BSD-3-Clause
// Linux: /proc/meminfo and the limits of the control groups; see free_memory.hpp.
#include "backend/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace graft::backend {

namespace {

/// The number behind a name in a file of lines "name number ..."; 0: none.
double number_of(const std::string& path, const std::string& name) {
    std::ifstream file(path);
    std::string found, rest;
    double number = 0;
    while (file >> found >> number && std::getline(file, rest))
        if (found == name)
            return number;
    return 0;
}

/// Of one version of control groups: where they are mounted, and what their files are called.
struct Groups {
    const char *root, *limit, *usage, *reclaimable;
};

/// What a group and all above it leave; infinite where none has a limit. The path is what /proc/self/cgroup
/// says; in a container it may not be there, and the root shows the container's own.
double left_in(const Groups& groups, std::string path) {
    double least = std::numeric_limits<double>::infinity();
    for (;; path.resize(path.find_last_of('/'))) {
        const std::string folder = groups.root + path + '/';
        std::ifstream limit_file(folder + groups.limit), usage_file(folder + groups.usage);
        double limit = 0, usage = 0;
        if (limit_file >> limit && usage_file >> usage) // not where the limit is "max"
            least = std::min(least, limit - usage + number_of(folder + "memory.stat", groups.reclaimable));
        if (path.empty())
            return std::max(least, 1.0);
    }
}

double left_in_groups() {
    constexpr Groups second = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
                     first = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
                              "total_inactive_file"};
    double least = std::numeric_limits<double>::infinity();
    std::ifstream file("/proc/self/cgroup"); // number:controllers:path, no controllers in the second version
    for (std::string line; std::getline(file, line);) {
        const size_t begin = line.find(':'), end = line.find(':', begin + 1);
        if (end == std::string::npos)
            continue;
        const std::string controllers = "," + line.substr(begin + 1, end - begin - 1) + ",";
        std::string path = line.substr(end + 1);
        if (path == "/" || !path.starts_with('/'))
            path.clear();
        if (controllers == ",,")
            least = std::min(least, left_in(second, path));
        else if (controllers.find(",memory,") != std::string::npos)
            least = std::min(least, left_in(first, path));
    }
    return least;
}

} // namespace

double free_memory() {
    const double free = 1024 * number_of("/proc/meminfo", "MemAvailable:"), left = left_in_groups();
    return free > 0 ? std::min(free, left) : (left < std::numeric_limits<double>::infinity() ? left : 0);
}

} // namespace graft::backend
