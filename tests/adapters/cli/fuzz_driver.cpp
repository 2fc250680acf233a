// SPDX-License-Identifier: BSD-3-Clause
// A main() for LLVMFuzzerTestOneInput where libFuzzer is not available: mutates good inputs for a number of
// seconds. Usage: fuzz_snapshot [-max_total_time=SECONDS] [-seed=N]   (libFuzzer's spelling)
#include "ic/initial_conditions.hpp"
#include "ic/orbit_table.hpp"
#include "ic/random.hpp"
#include "snapshot/csv.hpp"
#include "snapshot/file_io.hpp"
#include "snapshot/gadget_hdf5.hpp"
#include "snapshot/tipsy.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using namespace graft::cli;
using Input = std::vector<std::uint8_t>;

Input tagged(std::uint8_t tag, Bytes bytes) {
    Input input{tag};
    for (const std::byte b : bytes) {
        input.push_back(static_cast<std::uint8_t>(b));
    }
    return input;
}

std::vector<Input> good_inputs() {
    PlummerOptions o;
    o.n = 5;
    Snapshot s = make_plummer(o);
    s.names.assign(5, "body, \"quoted\"");
    const std::string csv = encode_csv(s);
    std::vector<Input> inputs{tagged(0, encode_tipsy(s, ByteOrder::Little)),
                              tagged(4, encode_tipsy(s, ByteOrder::Big)),
                              tagged(1, std::as_bytes(std::span(csv))),
                              tagged(2, std::as_bytes(std::span(built_in_orbit_table())))};
    if (have_hdf5()) {
        const std::string path =
            (std::filesystem::temp_directory_path() / ("graft-fuzz-" + std::to_string(::getpid()) + ".hdf5"))
                .string();
        write_gadget_hdf5(s, path);
        inputs.push_back(tagged(3, read_file(path)));
        std::filesystem::remove(path);
    }
    return inputs;
}

void mutate(Input& input, Random& random) {
    const auto place = [&] {
        return input.empty() ? 0 : static_cast<std::size_t>(random.bits() % input.size());
    };
    static const std::uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, ',', '\n', '"', '-', 'e'};
    for (std::uint64_t k = random.bits() % 6 + 1; k > 0 && !input.empty(); --k) {
        const std::size_t at = place();
        switch (random.bits() % 5) {
        case 0:
            input[at] = static_cast<std::uint8_t>(random.bits());
            break;
        case 1:
            input[at] = telling[random.bits() % sizeof telling];
            break;
        case 2:
            input.resize(at);
            break;
        case 3:
            input.erase(input.begin() + static_cast<long>(at));
            break;
        default:
            input.insert(input.begin() + static_cast<long>(at), telling[random.bits() % sizeof telling]);
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    double seconds = 10.0;
    std::uint64_t seed = 1;
    for (int k = 1; k < argc; ++k) {
        const std::string argument = argv[k];
        if (argument.rfind("-max_total_time=", 0) == 0) {
            seconds = std::atof(argument.c_str() + 16);
        } else if (argument.rfind("-seed=", 0) == 0) {
            seed = std::strtoull(argument.c_str() + 6, nullptr, 10);
        }
    }
    const std::vector<Input> seeds = good_inputs();
    Random random(seed);
    const auto start = std::chrono::steady_clock::now();
    long runs = 0;
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
        Input input = seeds[random.bits() % seeds.size()];
        mutate(input, random);
        LLVMFuzzerTestOneInput(input.data(), input.size());
        ++runs;
    }
    std::printf("fuzz_snapshot: %ld inputs in %.0f s, none crashed\n", runs, seconds);
    return runs > 0 ? 0 : 1;
}
