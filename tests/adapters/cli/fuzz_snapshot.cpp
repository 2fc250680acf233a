// SPDX-License-Identifier: BSD-3-Clause
// Fuzz entry for the snapshot readers and orbit tables: any bytes give a snapshot or an Error, nothing else.
// The first byte picks the reader, the rest is the input. Built with clang it is a libFuzzer program
// (-fsanitize=fuzzer); with another compiler fuzz_driver.cpp brings a main() with mutations of its own.
#include "ic/orbit_table.hpp"
#include "snapshot/csv.hpp"
#include "snapshot/error.hpp"
#include "snapshot/formats.hpp"
#include "snapshot/gadget_hdf5.hpp"
#include "snapshot/tipsy.hpp"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace graft::cli;
    if (size == 0) {
        return 0;
    }
    const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    try {
        switch (data[0] % 5) {
        case 0:
            read_tipsy(bytes, "fuzz");
            break;
        case 1: {
            const Snapshot s = read_csv(text, "fuzz");
            read_csv(encode_csv(s), "fuzz again"); // what was read can be written and read
            break;
        }
        case 2:
            read_orbit_table(text, "fuzz");
            break;
        case 3:
            if (have_hdf5()) {
                read_gadget_hdf5(bytes, "fuzz");
            }
            break;
        default:
            read_snapshot(bytes, "fuzz");
        }
    } catch (const Error&) {
        return 0;
    }
    return 0;
}
