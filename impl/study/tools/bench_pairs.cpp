// SPDX-License-Identifier: BSD-3-Clause
// All pairs on a GPU as JSON, see bench_pairs.hpp.
#include "study/tools/bench_pairs.hpp"

#include "backend/gpu_library.hpp"
#include "core/error.hpp"
#include "study/bench/bench_table.hpp"

#include <cmath>
#include <cstdlib>

namespace graft::study {

namespace {

constexpr const char* precision_names[] = {"fp32", "mixed", "fp64"};
constexpr const char* stage_names[] = {"stage_0", "stage_1", "stage_2", "best"};
constexpr double fp64_instructions = 16; // multiply-adds and the like of a pair, forces/p2p/pair_gpu.cuh

struct Request {
    PairsRequest pairs{262144, 0, 0, 0, 5};
    int precision = -1; // all
    int32_t device = 0;
};

int64_t whole(const std::string& key, const std::string& text, double least, double most) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= least) || !(value <= most) || value != std::floor(value))
        core::fail(core::Status::argument,
                   "bench p2p: argument '%s: %s' is no whole number from %.15g to %.15g", key.c_str(),
                   text.c_str(), least, most);
    return static_cast<int64_t>(value);
}

int precision_of(const std::string& text) {
    for (int k = 0; k < 3; ++k)
        if (text == precision_names[k])
            return k;
    if (text != "all")
        core::fail(core::Status::argument, "bench p2p: precision is '%s'; expected fp32, mixed, fp64 or all",
                   text.c_str());
    return -1;
}

Request request_of(const ToolArguments& arguments) {
    Request request;
    for (const auto& [key, value] : arguments) {
        if (key == "n")
            request.pairs.n = whole(key, value, 1, 1e8);
        else if (key == "precision")
            request.precision = precision_of(value);
        else if (key == "block")
            request.pairs.block = static_cast<int32_t>(whole(key, value, 1, 1024));
        else if (key == "repetitions")
            request.pairs.repetitions = static_cast<int32_t>(whole(key, value, 1, 1000));
        else if (key == "device")
            request.device = static_cast<int32_t>(whole(key, value, 0, 1023));
        else if (key != "what" && key != "backend")
            core::fail(core::Status::argument,
                       "bench p2p on a GPU: there is no argument '%s'; expected n, precision, block, "
                       "repetitions or device",
                       key.c_str());
    }
    return request;
}

/// Pairs a second that the instruction mix allows.
double limit_of(const DeviceRates& rates, int precision) {
    return precision == 2 ? rates.fma_fp64_per_s / fp64_instructions : rates.mix_per_s;
}

std::string stages_json(const backend::CudaTable& table, Request request, int precision,
                        const DeviceRates& rates) {
    const double limit = limit_of(rates, precision);
    std::string text = core::format("\"%s\":{\"limit_pairs_per_s\":%.4g", precision_names[precision], limit);
    for (int stage = precision == 1 ? 3 : 0; stage <= 3; ++stage) {
        PairsRate rate;
        backend::DeviceError error;
        request.pairs.precision = precision;
        request.pairs.stage = stage;
        backend::raise(table.bench->pairs(request.device, &request.pairs, &rate, &error), error);
        text += core::format(",\"%s\":{\"pairs_per_s\":%.4g,\"share_of_limit\":%.4f,\"time_s\":%.6g,"
                             "\"best_s\":%.6g,\"launches\":%d}",
                             stage_names[stage], rate.pairs_per_s, rate.pairs_per_s / limit, rate.time_s,
                             rate.best_s, rate.launches);
    }
    return text + "}";
}

} // namespace

bool wants_device_pairs(const ToolArguments& arguments) {
    for (const auto& [key, value] : arguments) {
        if (key != "backend")
            continue;
        if (value != "cpu" && value != "gpu")
            core::fail(core::Status::argument, "bench: backend is '%s'; expected cpu or gpu", value.c_str());
        return value == "gpu";
    }
    return false;
}

std::string device_pairs_json(const ToolArguments& arguments) {
    const Request request = request_of(arguments);
    const backend::CudaTable& table = bench_cuda();
    backend::DeviceError error;
    backend::DeviceInfo info;
    backend::raise(table.device_info(request.device, &info, &error), error);
    DeviceRates rates;
    backend::raise(table.bench->rates(request.device, 5, &rates, &error), error);
    std::string text = core::format(
        "{\"bench\":\"p2p\",\"backend\":\"gpu\",\"device\":\"%s\",\"multiprocessors\":%d,\"n\":%lld,"
        "\"block\":%d,\"repetitions\":%d,\"limits\":{\"mix_pairs_per_s\":%.4g,\"fma_fp32_per_s\":%.4g,"
        "\"fma_fp64_per_s\":%.4g,\"rsqrt_per_s\":%.4g,\"read_bytes_per_s\":%.4g,\"copy_bytes_per_s\":%.4g},"
        "\"all_pairs\":{",
        info.name, info.multiprocessors, static_cast<long long>(request.pairs.n), request.pairs.block,
        request.pairs.repetitions, rates.mix_per_s, rates.fma_fp32_per_s, rates.fma_fp64_per_s,
        rates.rsqrt_per_s, rates.read_bytes_per_s, rates.copy_bytes_per_s);
    bool first = true;
    for (int precision = 0; precision < 3; ++precision)
        if (request.precision < 0 || request.precision == precision) {
            text += (first ? "" : ",") + stages_json(table, request, precision, rates);
            first = false;
        }
    return text + "}}";
}

} // namespace graft::study
