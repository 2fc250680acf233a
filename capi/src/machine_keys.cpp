// SPDX-License-Identifier: BSD-3-Clause
// Keys of a machine file, for the plugin that reads it.
#include "entries.hpp"

#include "model/machine.hpp"

namespace graft::capi {

std::vector<std::string> machine_key_names() {
    std::vector<std::string> names;
    for (const model::MachineKey& key : model::machine_keys())
        names.emplace_back(key.name);
    return names;
}

void check_machine_key(const std::string& key, const std::string& text) {
    model::Machine machine;
    model::set_machine(machine, key, text);
}

} // namespace graft::capi
