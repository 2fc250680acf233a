// SPDX-License-Identifier: BSD-3-Clause
// See level_gpu.hpp.
#include "decompose/orb/level_gpu.hpp"

#include "backend/gpu_choice.hpp"
#include "core/error.hpp"
#include "decompose/orb/cut_tree.hpp"
#include "decompose/orb/orb_table.hpp"

#include <algorithm>

namespace graft::decompose {

namespace {

bool is_for_device(const Problem& problem) {
    const Options& o = problem.options;
    return o.device != no_device && problem.comm.alone() && o.tolerance == 0 && o.parts > 1 &&
           o.parts <= 262144 && problem.points.n >= o.device_least;
}

/// imbalance_*: of the parts that the order makes.
void fill_statistics(const Problem& problem, const Result& result, Statistics& out) {
    const int32_t parts = problem.options.parts;
    int64_t most = 0;
    Wide heaviest = 0;
    for (int32_t p = 0; p < parts; ++p) {
        const int64_t begin = result.part_offset[p], end = result.part_offset[p + 1];
        most = std::max(most, end - begin);
        Wide weight = problem.weights.unit() ? static_cast<Wide>(end - begin) : 0;
        for (int64_t i = begin; i < end && !problem.weights.unit(); ++i)
            weight += problem.weights(result.permutation[i]);
        heaviest = std::max(heaviest, weight);
    }
    out.imbalance_count = static_cast<double>(most) * parts / static_cast<double>(problem.count);
    out.imbalance_weight = to_double(heaviest) * parts / to_double(problem.weight);
    out.cuts = parts - 1;
    out.on_device = 1;
}

} // namespace

const backend::CudaTable* find_device(const Problem& problem) {
    return problem.options.device != no_device ? backend::find_cuda(nullptr) : nullptr;
}

int32_t device_of(const backend::CudaTable& cuda, const Problem& problem) {
    int32_t devices = 0;
    backend::DeviceError error;
    if (cuda.device_count(&devices, &error) != 0)
        return -1;
    const int32_t asked = problem.options.device;
    return backend::choose_device(asked >= 0 ? asked : -1, problem.comm.rank(), devices);
}

DeviceLevel::~DeviceLevel() {
    if (engine_ != nullptr)
        backend::find_cuda(nullptr)->orb->release(engine_);
}

bool DeviceLevel::run(const Problem& problem, Result& result) {
    const backend::CudaTable* cuda = is_for_device(problem) ? find_device(problem) : nullptr;
    if (cuda == nullptr || cuda->orb == nullptr)
        return false;
    const Options& o = problem.options;
    const int32_t device = device_of(*cuda, problem);
    if (engine_ != nullptr && device_ != device) {
        cuda->orb->release(engine_);
        engine_ = nullptr;
    }
    backend::DeviceError error;
    if (device < 0 || (engine_ == nullptr && cuda->orb->create(device, &engine_, &error) != 0)) {
        engine_ = nullptr;
        return false;
    }
    device_ = device;
    const int64_t n = problem.points.n;
    const bool ordered = problem.with_permutation || !problem.weights.unit(); // for the parts' weights
    result.owner.resize(n);
    result.permutation.resize(ordered ? n : 0);
    result.part_offset.resize(int64_t{o.parts} + 1);
    std::vector<Cell> cells(2 * static_cast<size_t>(o.parts));
    DeviceOrbCall call{problem.points,
                       o.parts,
                       o.dimension,
                       o.mix,
                       o.cap,
                       result.owner.data(),
                       ordered ? result.permutation.data() : nullptr,
                       result.part_offset.data(),
                       cells.data(),
                       0,
                       0,
                       problem.executor.threads};
    const int32_t status = cuda->orb->solve(engine_, &call, &error);
    if (status == static_cast<int32_t>(core::Status::memory) ||
        status == static_cast<int32_t>(core::Status::device)) {
        result.permutation.clear();
        result.part_offset.clear();
        return false;
    }
    backend::raise(status, error);
    fill_statistics(problem, result, result.statistics);
    result.statistics.cuts_s = call.cuts_s;
    result.statistics.upload_s = call.upload_s;
    result.statistics.partition_s = call.total_s - call.cuts_s;
    result.domains = std::make_shared<CutTree>(o.parts, std::move(cells));
    if (!problem.with_permutation) {
        result.permutation.clear();
        result.part_offset.clear();
    }
    return true;
}

} // namespace graft::decompose
