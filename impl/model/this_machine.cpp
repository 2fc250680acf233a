// SPDX-License-Identifier: BSD-3-Clause
// See this_machine.hpp.
#include "model/this_machine.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

namespace graft::model {

std::string processor_name() {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/cpuinfo", "r"), std::fclose);
    char line[256];
    while (file && std::fgets(line, sizeof line, file.get()) != nullptr) {
        const char* colon = std::strchr(line, ':');
        if (std::strncmp(line, "model name", 10) != 0 || colon == nullptr)
            continue;
        std::string name = colon + 2;
        name.erase(name.find_last_not_of(" \n") + 1);
        return name;
    }
    return "";
}

void require_this_machine(const Machine& machine, const std::string& file) {
    const bool has_layouts = std::ranges::any_of(
        machine.near.layouts, [](const NearLayoutCosts& one) { return one.number_bytes > 0; });
    if (!has_layouts)
        core::fail(
            core::Status::argument,
            "machine file %s: it has no numbers of the near field's layouts (near.layouts); expected a "
            "file that graft model calibrate --out FILE has written, by this version",
            file.c_str());
    const std::string here = processor_name();
    if (!machine.cpu_name.empty() && !here.empty() && machine.cpu_name != here)
        core::fail(
            core::Status::argument,
            "machine file %s: measured on the processor '%s' (cpu.name), but this is '%s'; measure this "
            "one with graft model calibrate --out FILE, or take the line cpu.name out of the file if "
            "its numbers shall be used all the same",
            file.c_str(), machine.cpu_name.c_str(), here.c_str());
}

} // namespace graft::model
