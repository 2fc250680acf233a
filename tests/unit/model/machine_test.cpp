// SPDX-License-Identifier: BSD-3-Clause
// The machine file's schema: every key can be set and read back; what is wrong is refused.
#include "model/machine.hpp"

#include "core/error.hpp"

#include <gtest/gtest.h>

#include <set>

namespace graft::model {
namespace {

std::string first_item(std::string name) {
    if (const size_t at = name.find('#'); at != name.npos)
        name.replace(at, 1, "0");
    return name;
}

core::Status status_of(const std::string& key, const std::string& text) {
    Machine machine;
    try {
        set_machine(machine, key, text);
    } catch (const core::Error& error) {
        EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
        return error.status();
    }
    return core::Status::ok;
}

TEST(Machine, EveryKeyHasItsOwnField) {
    Machine machine;
    std::set<std::string> names;
    int value = 0;
    for (const MachineKey& key : machine_keys()) {
        EXPECT_TRUE(names.insert(key.name).second) << key.name;
        set_machine(machine, first_item(key.name), std::to_string(++value));
    }
    const auto values = machine_values(machine);
    ASSERT_EQ(values.size(), machine_keys().size());
    for (size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(values[i], std::make_pair(first_item(machine_keys()[i].name), std::to_string(i + 1)));
}

TEST(Machine, NumbersSayTheirUnit) {
    for (const MachineKey& key : machine_keys()) {
        const std::string name = key.name, unit = key.unit;
        if (unit == "B/s") {
            EXPECT_TRUE(name.ends_with("bytes_per_s")) << name;
        } else if (unit == "s") {
            EXPECT_TRUE(name.ends_with("_s")) << name;
        } else if (unit == "B") {
            EXPECT_TRUE(name.ends_with("bytes")) << name;
        }
    }
}

TEST(Machine, ListsHaveItemsAndAnEnd) {
    Machine machine;
    set_machine(machine, "cpu.caches.2.bytes", "1e6");
    set_machine(machine, "link.by_size.15.bytes", "3");
    EXPECT_EQ(machine.cpu.caches[2].bytes, 1e6);
    EXPECT_EQ(machine.link.by_size[15].bytes, 3);
    EXPECT_EQ(status_of("cpu.caches.4.bytes", "1"), core::Status::deck_range);
    EXPECT_EQ(status_of("link.by_size.99.bytes", "1"), core::Status::deck_range);
    for (const char* key : {"cpu.caches.#.bytes", "cpu.caches.-1.bytes", "cpu.caches.bytes",
                            "cpu.caches..bytes", "cpu.caches.001.bytes", "cpu.caches.1.byte"})
        EXPECT_EQ(status_of(key, "1"), core::Status::deck_key) << key;
}

TEST(Machine, RefusesWhatIsNoNumber) {
    for (const char* text : {"", "fast", "12 GB/s", "0x", "1e9e9"})
        EXPECT_EQ(status_of("gpu.flops", text), core::Status::deck_type) << text;
    for (const char* text : {"-1", "nan", "inf", "1e999"})
        EXPECT_EQ(status_of("gpu.flops", text), core::Status::deck_range) << text;
    EXPECT_EQ(status_of("gpu.flop", "1"), core::Status::deck_key);
    EXPECT_EQ(status_of("gpu", "1"), core::Status::deck_key);
    EXPECT_EQ(status_of("", "1"), core::Status::deck_key);
}

TEST(Machine, YamlHasASectionALineAndAComment) {
    Machine machine;
    EXPECT_EQ(machine_yaml(machine), "");
    machine.name = "a \"b\"\n";
    machine.gpu.launch_s = 2e-6;
    machine.cpu.caches[1] = {1024, 2.5e9, 0};
    EXPECT_EQ(machine_yaml(machine),
              "name: \"a \\\"b\\\" \"    # of the machine, for tables\n"
              "cpu:\n  caches:\n"
              "    - {bytes: 0, read_bandwidth_bytes_per_s: 0, copy_bandwidth_bytes_per_s: 0}\n"
              "    - {bytes: 1024, read_bandwidth_bytes_per_s: 2.5e+09, "
              "copy_bandwidth_bytes_per_s: 0}\n"
              "gpu:\n  launch_s: 2e-06    # [s] an empty kernel after another in one stream\n");
}

} // namespace
} // namespace graft::model
