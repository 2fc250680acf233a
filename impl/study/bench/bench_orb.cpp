// SPDX-License-Identifier: BSD-3-Clause
// Arguments to a request, through the device's table (orb_table.hpp); see bench_orb.hpp.
#include "study/bench/bench_orb.hpp"

#include "core/error.hpp"
#include "study/bench/bench_table.hpp"

#include <cmath>
#include <cstdlib>
#include <map>

namespace graft::study {

namespace {

using Choices = std::map<std::string, int32_t>;

int32_t choice(const std::string& key, const std::string& value, const Choices& choices) {
    const auto found = choices.find(value);
    if (found != choices.end())
        return found->second;
    std::string known;
    for (const auto& [word, number] : choices)
        known += (known.empty() ? "" : ", ") + word;
    core::fail(core::Status::argument, "bench orb on the device: %s is '%s'; expected %s", key.c_str(),
               value.c_str(), known.c_str());
}

/// 1e7 and 2^30 written out are both understood.
double number(const std::string& key, const std::string& value, double least, double most) {
    char* end = nullptr;
    const double result = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(result >= least && result <= most))
        core::fail(core::Status::argument,
                   "bench orb on the device: %s is '%s'; expected a number in %.17g ... %.17g", key.c_str(),
                   value.c_str(), least, most);
    return result;
}

/// Sets what `key` names; false: no such key.
bool set_choice(DeviceOrbBench& r, const std::string& key, const std::string& value) {
    if (key == "variant")
        r.variant = static_cast<OrbVariant>(
            choice(key, value, {{"rounds", 0}, {"cell", 1}, {"level", 2}, {"warp", 3}, {"sweep", 4}}));
    else if (key == "axis")
        r.axis = static_cast<OrbAxis>(choice(key, value, {{"column", 0}, {"direct", 1}, {"strided", 2}}));
    else if (key == "partition")
        r.partition = static_cast<OrbPartition>(choice(key, value, {{"cell", 1}, {"level", 2}}));
    else if (key == "dist")
        r.plummer = choice(key, value, {{"uniform", 0}, {"plummer", 1}});
    else if (key == "weights")
        r.lognormal = choice(key, value, {{"unit", 0}, {"lognormal", 1}});
    else if (key == "precision")
        r.fp64 = choice(key, value, {{"fp32", 0}, {"fp64", 1}});
    else if (key == "verify")
        r.verify = choice(key, value, {{"true", 1}, {"false", 0}, {"1", 1}, {"0", 0}});
    else
        return false;
    return true;
}

bool set_number(DeviceOrbBench& r, const std::string& key, const std::string& value) {
    const auto whole = [&](double least, double most) {
        return static_cast<int32_t>(number(key, value, least, most));
    };
    if (key == "n")
        r.n = static_cast<int64_t>(number(key, value, 1, 2147483647));
    else if (key == "leaves")
        r.leaves = whole(1, 262144);
    else if (key == "repetitions")
        r.repeats = whole(1, 1000);
    else if (key == "device")
        r.device = whole(0, 1023);
    else if (key == "seed")
        r.seed = static_cast<uint64_t>(number(key, value, 0, 9e15));
    else if (key == "levels_per_round")
        r.levels_per_round = whole(1, 4);
    else if (key == "samples")
        r.samples_per_cell = whole(64, 12288);
    else if (key == "threads")
        r.threads = choice(key, value, {{"128", 128}, {"256", 256}, {"512", 512}});
    else if (key == "items")
        r.items = choice(key, value, {{"4", 4}, {"8", 8}, {"16", 16}, {"32", 32}});
    else if (key == "temporaries")
        r.temporaries = choice(key, value, {{"1", 1}, {"3", 3}});
    else if (key == "tolerance")
        r.tolerance = number(key, value, 0, 1);
    else
        return false;
    return true;
}

} // namespace

std::string bench_device_orb(const std::vector<std::pair<std::string, std::string>>& arguments) {
    DeviceOrbBench request;
    for (const auto& [key, value] : arguments)
        if (key != "what" && key != "backend" && !set_choice(request, key, value) &&
            !set_number(request, key, value))
            core::fail(core::Status::argument,
                       "bench orb on the device: argument '%s' is not known; expected n, leaves, dist, "
                       "weights, precision, "
                       "variant, axis, partition, temporaries, threads, items, tolerance, levels_per_round, "
                       "samples, "
                       "repetitions, seed, device, verify",
                       key.c_str());
    std::vector<char> text(1 << 16);
    backend::DeviceError error;
    backend::raise(bench_cuda().bench->orb(&request, text.data(), static_cast<int64_t>(text.size()), &error), error);
    return text.data();
}

} // namespace graft::study
