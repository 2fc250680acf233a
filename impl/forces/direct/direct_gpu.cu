// SPDX-License-Identifier: BSD-3-Clause
// All pairs on the device: the division into blocks and parts, frames, a kernel, partial sums added in order.
//
// Bytes: sources are read once a block of targets (32 or 40 bytes each, from the second-level cache), partial
// sums are parts * 3 or 4 numbers a target, written and read once. Everything else is arithmetic: see
// direct_kernel_gpu.cuh and docs/gpu/direct.md.
#include "forces/direct/direct_gpu.cuh"
#include "forces/direct/direct_exact_gpu.cuh"
#include "forces/direct/direct_kernel_gpu.cuh"
#include "forces/variants_gpu.cuh"

#include <algorithm>
#include <cmath>

namespace graft::forces {

namespace {

constexpr int64_t full_threads = 132 * 1280; // that occupy a large GPU once
constexpr int64_t least_part = 32, long_part = 2048, tile = 1024;

int64_t divided(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

/// Parts of sources: enough to fill the device, and with long parts so many that the last blocks to finish
/// are a small share.
DirectDivision divide_pairs(int64_t targets, int64_t sources, const DirectBlock& block) {
    DirectDivision division{targets, sources, block.targets, divided(targets, block.targets)};
    const int64_t full_blocks = full_threads / block.threads;
    const int64_t to_fill = std::min(full_blocks / division.blocks, sources / least_part);
    const int64_t to_balance = std::min(divided(16 * full_blocks, division.blocks), sources / long_part);
    const int64_t parts = std::max(int64_t{1}, std::max(to_fill, to_balance));
    const int64_t step = sources / parts >= 4 * tile ? tile : least_part;
    division.part = std::max(least_part, divided(divided(sources, parts), step) * step);
    division.parts = divided(sources, division.part);
    return division;
}

struct CombineOut {
    double *ax, *ay, *az, *potential;
    bool add;
    backend::DeviceStatus* status;
};

template <typename Sum>
__device__ double sum_parts(const DirectInput& input, int component, int components, int64_t k) {
    const Sum* from = static_cast<const Sum*>(input.partial) + component * input.division.targets + k;
    double sum = 0;
#pragma unroll 8
    for (int64_t part = 0; part < input.division.parts; ++part)
        sum += static_cast<double>(from[part * components * input.division.targets]);
    return sum;
}

/// Sums of a target in frame units, to the field.
template <bool with_potential, class Value>
__device__ void put_field(const DirectInput& input, const CombineOut& out, double scale, int64_t k,
                          const Value& value) {
    const double of_potential = scale / input.charge_scale, square = scale * of_potential;
    const auto put = [&](double& to, double sum) { to = out.add ? to + sum : sum; };
    put(out.ax[k], value(0) * square);
    put(out.ay[k], value(1) * square);
    put(out.az[k], value(2) * square);
    if constexpr (with_potential)
        put(out.potential[k], value(3) * of_potential);
}

__device__ void count_pairs(const DirectInput& input, const CombineOut& out) {
    out.status->pairs +=
        static_cast<double>(input.division.targets) * static_cast<double>(input.division.sources);
}

template <typename Sum, bool with_potential>
__device__ void combine(const DirectInput& input, const CombineOut& out, double scale, int64_t k) {
    put_field<with_potential>(input, out, scale, k, [&](int component) {
        return sum_parts<Sum>(input, component, with_potential ? 4 : 3, k);
    });
}

template <typename Sum, bool with_potential>
__global__ void direct_combine(const DirectInput input, const CombineOut out) {
    const int64_t k = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
    if (k >= input.division.targets || backend::stopped(input.status))
        return;
    if (k == 0)
        count_pairs(input, out);
    const double scale =
        input.division.parts > 0 ? input.frames[k / input.division.block].scale : 1; // no sources: 0
    combine<Sum, with_potential>(input, out, scale, k);
}

/// As direct_combine, of a frame in single precision: targets that it is too coarse for are summed anew. A
/// thread block has targets of one frame.
template <typename Sum, bool with_potential, DevicePair kind>
__global__ __launch_bounds__(combine_threads) void direct_combine_single(const DirectInput input,
                                                                         const CombineOut out) {
    __shared__ ExactTile tile;
    if (backend::stopped(input.status))
        return;
    const int64_t first = blockIdx.x * int64_t{combine_threads}, k = first + threadIdx.x;
    if (k == 0)
        count_pairs(input, out);
    const Frame frame = input.frames[first / input.division.block];
    const ExactFrame exact = input.exact[first / input.division.block];
    const bool coarse =
        k < input.division.targets && (exact.all || is_coarse<kind, with_potential>(input, frame, k));
    if (k < input.division.targets && !coarse)
        combine<Sum, with_potential>(input, out, frame.scale, k);
    const int count = collect(coarse, tile);
    for (int at = 0; at < count; at += exact_lanes) {
        sum_in_double<kind, with_potential>(input, exact.scale, first, at, count, tile);
        const int t = threadIdx.x;
        if (t < exact_lanes && at + t < count)
            put_field<with_potential>(input, out, exact.scale, first + tile.place[at + t],
                                      [&](int component) {
                                          double sum = 0;
                                          for (const auto& of_warp : tile.sum)
                                              sum += of_warp[t][component];
                                          return sum;
                                      });
    }
}

template <typename Sum>
void launch_combine_single(backend::Queue& queue, DevicePair kind, bool potential, const DirectInput& input,
                           const CombineOut& out) {
    with_pair_kind(kind, [&]<DevicePair fixed>() {
        const auto kernel =
            potential ? direct_combine_single<Sum, true, fixed> : direct_combine_single<Sum, false, fixed>;
        kernel<<<backend::blocks_for(input.division.targets, combine_threads), combine_threads, 0,
                 queue.stream()>>>(input, out);
    });
}

void launch_combine(backend::Queue& queue, const DeviceEvaluation& how, bool best, const DirectInput& input,
                    const CombineOut& out) {
    const bool potential = how.pairs.potential, full = how.precision == DevicePrecision::fp64;
    const DevicePair kind = pair_kind(how.pairs);
    if (best && !full && input.division.parts > 0) {
        how.precision == DevicePrecision::fp32
            ? launch_combine_single<float>(queue, kind, potential, input, out)
            : launch_combine_single<double>(queue, kind, potential, input, out);
    } else {
        const auto kernel = full ? (potential ? direct_combine<double, true> : direct_combine<double, false>)
                                 : (potential ? direct_combine<float, true> : direct_combine<float, false>);
        kernel<<<backend::blocks_for(input.division.targets, combine_threads), combine_threads, 0,
                 queue.stream()>>>(input, out);
    }
    GRAFT_CUDA_LAUNCHED("direct_combine");
    ++queue.launches;
}

void check_stage(const DeviceEvaluation& how, DirectStage stage) {
    if (stage == DirectStage::best)
        return;
    if (pair_kind(how.pairs) != DevicePair::constant || how.precision == DevicePrecision::mixed)
        core::fail(
            core::Status::unsupported,
            "all pairs on the GPU, stage %d: thuering2023's stages do no softening or one Plummer length, "
            "in fp32 or fp64; choose these, or stage 3 (ours)",
            static_cast<int>(stage));
    if (how.block_x < 0 || how.block_x > 1024)
        core::fail(core::Status::argument,
                   "all pairs on the GPU: %d threads a block; expected 1 to 1024, or 0", how.block_x);
}

/// Threads of a block, as his run time and he chose them.
int stage_threads(const DeviceEvaluation& how, DirectStage stage, int64_t n) {
    if (stage != DirectStage::plain)
        return how.block_x > 0 ? how.block_x : 128;
    int threads = static_cast<int>(std::min<int64_t>(n, 1024));
    while (n % threads != 0)
        --threads;
    return threads;
}

} // namespace

struct DeviceDirect::Work {
    explicit Work(backend::DeviceMemory& memory)
        : frames(memory, "all pairs: frames"), boxes(memory, "all pairs: boxes"),
          exact(memory, "all pairs: frames in double"), close(memory),
          partial(memory, "all pairs: partial sums"),
          packed(memory, "all pairs: packed particles") {}
    backend::DeviceBuffer<Frame> frames;
    backend::DeviceBuffer<double> boxes;
    backend::DeviceBuffer<ExactFrame> exact;
    DeviceCloseCells close;
    backend::DeviceBuffer<double> partial, packed;

    void make_frames(backend::Queue& queue, const DeviceEvaluation& how, bool one, const DirectInput& input) {
        launch_direct_frames(queue, how.precision == DevicePrecision::fp64, one,
                             how.pairs.softening != Softening::none, input,
                             {boxes.data(), frames.data(), exact.data()});
    }

    void best(backend::Queue& queue, const DeviceEvaluation& how, DirectInput& input) {
        const DevicePair kind = pair_kind(how.pairs);
        const bool single = how.precision != DevicePrecision::fp64;
        if (single)
            input.close = close.clear(queue, input.sources.n);
        make_frames(queue, how, false, input);
        if (single)
            fill_cells(queue, input.close, input.sources);
        if (how.precision == DevicePrecision::fp32)
            launch_direct_fp32(queue, kind, how.pairs.potential, input);
        else if (how.precision == DevicePrecision::mixed)
            launch_direct_mixed(queue, kind, how.pairs.potential, input);
        else
            launch_direct_fp64(queue, kind, how.pairs.potential, input);
    }

    void paper(backend::Queue& queue, const DeviceEvaluation& how, DirectStage stage, DirectInput& input) {
        const bool in_double = how.precision == DevicePrecision::fp64;
        const int threads = stage_threads(how, stage, input.division.targets);
        packed.resize(4 * (input.division.sources + input.division.targets));
        make_frames(queue, how, true, input);
        if (in_double)
            require_variants().stage_fp64(queue, stage, threads, how.pairs.potential,
                                          reinterpret_cast<DirectSource<double>*>(packed.data()), input);
        else
            require_variants().stage_fp32(queue, stage, threads, how.pairs.potential,
                                          reinterpret_cast<DirectSource<float>*>(packed.data()), input);
    }

    void reserve(const DirectDivision& division, int components) {
        frames.resize(division.blocks);
        exact.resize(division.blocks);
        boxes.resize(direct_bounds * direct_bound_blocks);
        partial.resize(division.parts * components * division.targets);
    }
};

DeviceDirect::DeviceDirect(backend::DeviceMemory& memory) : work_(new Work(memory)) {}
DeviceDirect::~DeviceDirect() {
    delete work_;
}

void DeviceDirect::evaluate(backend::Queue& queue, const DeviceEvaluation& how, DirectStage stage,
                            const DeviceSources& sources, const DeviceSources& targets, DeviceField& field) {
    check_stage(how, stage);
    if (targets.n == 0)
        return;
    const bool best = stage == DirectStage::best;
    DirectInput input;
    input.sources = sources, input.targets = targets;
    input.division = divide_pairs(targets.n, sources.n,
                                  best ? direct_block(how, targets.n) : DirectBlock{targets.n, targets.n});
    if (!best)
        input.division.part = std::max(least_part, sources.n), input.division.parts = 1;
    work_->reserve(input.division, how.pairs.potential ? 4 : 3);
    input.frames = work_->frames.data();
    input.exact = work_->exact.data();
    input.partial = work_->partial.data();
    input.length = how.softening_length, input.plummer = how.pairs.softening == Softening::plummer;
    input.status = queue.status();
    input.charge_scale = std::ldexp(1.0, std::ilogb(static_cast<double>(std::max(int64_t{1}, sources.n))));
    if (sources.n == 0)
        input.division.parts = 0; // nothing to launch; the sums are 0
    else if (best)
        work_->best(queue, how, input);
    else
        work_->paper(queue, how, stage, input);
    launch_combine(
        queue, how, best, input,
        {field.ax.data(), field.ay.data(), field.az.data(), field.potential.data(), how.add, queue.status()});
}

DirectBlock direct_block(const DeviceEvaluation& how, int64_t targets) {
    const auto of = []<class Shape>(const Shape*) {
        return DirectBlock{Shape::threads * Shape::lanes, Shape::threads};
    };
    if (how.precision == DevicePrecision::fp64)
        return of(static_cast<DirectShapeFp64*>(nullptr));
    if (how.precision == DevicePrecision::mixed)
        return of(static_cast<DirectShapeMixed*>(nullptr));
    return is_wide(pair_kind(how.pairs), how.pairs.potential, targets)
               ? of(static_cast<DirectShapeWide*>(nullptr))
               : of(static_cast<DirectShapeFp32*>(nullptr));
}

} // namespace graft::forces
