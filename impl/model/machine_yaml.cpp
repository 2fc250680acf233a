// SPDX-License-Identifier: BSD-3-Clause
// A machine as a YAML file, see machine.hpp.
#include "model/machine.hpp"

#include "core/error.hpp"

namespace graft::model {

namespace {

/// A measurement has no more than 5 digits; numbers of bytes are exact.
std::string number_text(const MachineKey& key, double value) {
    const bool is_size = std::string_view(key.unit) == "B";
    return core::format("%.*g", is_size ? 15 : 5, value);
}

std::string yaml_string(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    return out + "\"";
}

std::string_view section_of(std::string_view name) {
    const size_t dot = name.find('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

/// "caches" of "cpu.caches.#.bytes", "" of a key without index.
std::string_view list_of(std::string_view name) {
    const size_t at = name.find(".#");
    return at == std::string_view::npos ? std::string_view() : name.substr(0, at);
}

std::string comment(const MachineKey& key) {
    const std::string unit = key.unit[0] != '\0' ? core::format("[%s] ", key.unit) : "";
    return unit.empty() && key.meaning[0] == '\0' ? "" : "    # " + unit + key.meaning;
}

/// The items of one list, each a flow map on a line of its own; long ones without their zeros.
std::string list_yaml(Machine& machine, std::string_view list) {
    int most = 0, used = 0;
    for (const MachineKey& key : machine_keys())
        if (list_of(key.name) == list)
            for (most = key.most; most > used; --most)
                if (key.number(machine, most - 1) != 0) {
                    used = most;
                    break;
                }
    if (used == 0)
        return "";
    std::string text = "  " + std::string(list.substr(list.find('.') + 1)) + ":\n";
    for (int index = 0; index < used; ++index) {
        std::string item;
        for (const MachineKey& key : machine_keys())
            if (list_of(key.name) == list &&
                (list != "near.layouts" || item.empty() || key.number(machine, index) != 0))
                item += (item.empty() ? "" : ", ") + std::string(key.name + list.size() + 3) + ": " +
                        number_text(key, key.number(machine, index));
        text += "    - {" + item + "}\n";
    }
    return text;
}

std::string line_of(Machine& machine, const MachineKey& key) {
    const std::string_view section = section_of(key.name);
    const char* name = section.empty() ? key.name : key.name + section.size() + 1;
    std::string value;
    if (key.text != nullptr)
        value = (machine.*key.text).empty() ? "" : yaml_string(machine.*key.text);
    else if (const double number = key.number(machine, 0); number != 0)
        value = number_text(key, number);
    return value.empty()
               ? ""
               : (section.empty() ? "" : "  ") + std::string(name) + ": " + value + comment(key) + "\n";
}

} // namespace

std::string machine_yaml(const Machine& machine) {
    Machine copy = machine;
    std::string text, section_text;
    std::string_view section, list;
    const auto close = [&] {
        if (!section_text.empty())
            text += section.empty() ? section_text : std::string(section) + ":\n" + section_text;
        section_text.clear();
    };
    for (const MachineKey& key : machine_keys()) {
        if (section_of(key.name) != section) {
            close();
            section = section_of(key.name);
        }
        if (key.most == 0)
            section_text += line_of(copy, key);
        else if (list_of(key.name) != list)
            section_text += list_yaml(copy, list = list_of(key.name));
    }
    close();
    return text;
}

} // namespace graft::model
