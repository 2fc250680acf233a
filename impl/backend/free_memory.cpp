// Linux: /proc/meminfo and the control group's limit; see free_memory.hpp.
#include "backend/free_memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace graft::backend {

namespace {

double available() {
    std::ifstream file("/proc/meminfo");
    std::string name, unit;
    double kilobytes = 0;
    while (file >> name >> kilobytes && std::getline(file, unit))
        if (name == "MemAvailable:")
            return 1024 * kilobytes;
    return 0;
}

/// As a container shows it; 0: none ("max", or no such file).
double limit_of_group() {
    for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream file(path);
        double bytes = 0;
        if (file >> bytes && bytes > 0)
            return bytes;
    }
    return 0;
}

} // namespace

double free_memory() {
    const double free = available(), limit = limit_of_group();
    return limit > 0 && free > 0 ? std::min(free, limit) : std::max(free, limit);
}

} // namespace graft::backend
