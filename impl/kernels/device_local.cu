// M2L on the device, see device_local.cuh. A warp a group, a cell a lane: 36 sums (softened 56) in registers,
// added over the lanes in a fixed order at the end.
//
// Slots a cell, unsoftened: 12 to read it, 12 for its place, 17 sources, 77 + 9 the derivatives, 7 powers,
// 132 products of source and derivative (no dipoles) and sums: about 280; 360 a lane and group to add up the
// lanes. Bytes a cell: 4 + 64. (Asynchronous copies one step ahead went past the nearest cache: five times
// slower.)
#include "kernels/device_local.cuh"

#include <cstring>

namespace graft::kernels {

namespace {

constexpr int threads = 128;
constexpr unsigned all_lanes = ~0u;

__device__ __forceinline__ float inverse_root(float x) {
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// 2^e, kept so far inside float's range that products of it are, too.
__device__ __forceinline__ float power_of_two(int e) {
    return __int_as_float((min(max(e, -60), 60) + 127) << 23);
}

/// In four words; through the nearest cache, where the groups beside this one find it again.
__device__ __forceinline__ PackedCell read_cell(const PackedCell* from) {
    float4 word[4];
    for (int i = 0; i < 4; ++i)
        word[i] = reinterpret_cast<const float4*>(from)[i];
    PackedCell cell;
    static_assert(sizeof cell == sizeof word);
    memcpy(&cell, word, sizeof cell);
    return cell;
}

template <bool softened>
__device__ __forceinline__ void add_cell(const PackedCell& cell, const GroupFrame& frame, float eps2,
                                         float* sum) {
    using Body = LocalBody<DeviceLocalOps, device_local_order, softened, false>;
    float u[3] = {-static_cast<float>(fma(cell.x, frame.scale, -frame.centre[0])),
                  -static_cast<float>(fma(cell.y, frame.scale, -frame.centre[1])),
                  -static_cast<float>(fma(cell.z, frame.scale, -frame.centre[2]))};
    const float inverse = inverse_root(fmaf(u[0], u[0], fmaf(u[1], u[1], fmaf(u[2], u[2], eps2))));
    for (float& x : u)
        x *= inverse;
    float w[10];
    packed_sources<softened>(cell, w);
    Body::add(u, inverse, power_of_two(cell.exponent + frame.exponent) * inverse, w, sum);
}

/// This lane's sum, added over the warp; lane k keeps the k-th.
template <bool softened, int... k>
__device__ __forceinline__ void write_sums(float* sum, float* to, std::integer_sequence<int, k...>) {
    const auto add_lanes = [](float& value) {
        for (int step = 16; step > 0; step /= 2)
            value += __shfl_xor_sync(all_lanes, value, step);
    };
    ((is_kept(k, softened) ? add_lanes(sum[k]) : void()), ...);
    if constexpr (!softened)
        complete_terms(device_local_degree, sum);
    const int lane = static_cast<int>(threadIdx.x % 32);
    ((k % 32 == lane ? void(to[k] = sum[k]) : void()), ...);
}

template <bool softened>
__global__ __launch_bounds__(threads) void far_kernel(EvaluationView v, UnitView units,
                                                      const PackedCell* cells, const ChargeSigns* signs,
                                                      float* expansions) {
    if (backend::stopped(v.status) || signs->one_sign == 0)
        return;
    const int64_t g = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (g >= batch_group_count(v))
        return;
    const int64_t end = v.node_offset[g + 1], begin = v.node_offset[g] + v.near_count[g];
    if (begin == end)
        return;
    const GroupFrame& frame = units.frames[g];
    const double length = v.length * frame.scale;
    const float eps2 = softened ? static_cast<float>(length * length) : 0.0f;
    float sum[device_local_terms];
    for (float& value : sum)
        value = 0;
    int64_t e = begin + threadIdx.x % 32;
    int32_t node = e < end ? v.node_list[e] : 0;
    while (e < end) {
        const PackedCell cell = read_cell(cells + node);
        e += 32;
        node = e < end ? v.node_list[e] : 0; // read while the cell is worked on
        if (cell.a != 0)
            add_cell<softened>(cell, frame, eps2, sum);
    }
    write_sums<softened>(sum, expansions + g * device_local_terms,
                         std::make_integer_sequence<int, device_local_terms>());
}

} // namespace

void sum_far(backend::Queue& queue, const EvaluationView& view, const UnitView& units,
             const PackedCell* cells, const ChargeSigns* signs, bool softened, int64_t group_capacity,
             float* expansions) {
    const unsigned blocks = backend::blocks_for(group_capacity * 32, threads);
    if (softened)
        far_kernel<true><<<blocks, threads, 0, queue.stream()>>>(view, units, cells, signs, expansions);
    else
        far_kernel<false><<<blocks, threads, 0, queue.stream()>>>(view, units, cells, signs, expansions);
    GRAFT_CUDA_LAUNCHED("far cells");
    ++queue.launches;
}

} // namespace graft::kernels
