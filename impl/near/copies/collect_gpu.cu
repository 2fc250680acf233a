// SPDX-License-Identifier: BSD-3-Clause
// Collection of copies by the device: collect_gpu.cuh. Reads come from the caches, writes are whole lines:
// a warp a box or a record; interleaved, a thread a record, so that lanes write beside each other.
#include "near/copies/collect_gpu.cuh"

namespace graft::near {

namespace {

constexpr int threads = 128;

__global__ void write_indices(StructureView boxes, RunsView runs, int32_t first_box, int32_t count,
                              const int64_t* first, int64_t base, int32_t* out) {
    const int64_t i = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (i >= count)
        return;
    const int64_t box = first_box + i;
    int32_t* to = out + (first[box] - base);
    for (int64_t r = runs.offset[box]; r < runs.offset[box + 1]; ++r) {
        const int2 run = runs.run[r];
        for (int32_t j = run.x + static_cast<int32_t>(threadIdx.x % 32); j < run.y; j += 32)
            to[j - run.x] = boxes.source_index != nullptr ? boxes.source_index[j] : j;
        to += run.y - run.x;
    }
}

template <typename T>
__global__ void write_groups(CollectView<T> v, RecordOffsets records, int32_t what, Point<T>* out, T* charges,
                             int64_t stride) {
    const int64_t i = (int64_t{blockIdx.x} * threads + threadIdx.x) / 32;
    if (i >= v.count_boxes)
        return;
    const int64_t box = v.first_box + i;
    int64_t to = records.of_box(box) - v.base;
    for (int64_t r = v.runs.offset[box]; r < v.runs.offset[box + 1]; ++r) {
        const int2 run = v.runs.run[r];
        for (int32_t j = run.x + static_cast<int32_t>(threadIdx.x % 32); j < run.y; j += 32) {
            const int64_t at = to + j - run.x;
            if (what & places)
                out[at] = v.source[j];
            else
                out[at].charge = v.source[j].charge;
            if ((what & charges_too) && v.components > 1)
                for (int32_t c = 0; c < v.components; ++c)
                    charges[c * stride + at] = v.charge[c * v.charge_stride + j];
        }
        to += run.y - run.x;
    }
}

/// Words of source j, `stride` apart.
template <typename T>
__device__ __forceinline__ void write_source(const CollectView<T>& v, int32_t j, int32_t what, T* word,
                                             int64_t stride) {
    const Point<T> p = v.source[j];
    if (what & places) {
        word[0] = p.x, word[stride] = p.y;
        if (v.dimension == 3)
            word[2 * stride] = p.z;
    }
    if (what & charges_too) {
        word += v.dimension * stride;
        if (v.components == 1)
            word[0] = p.charge;
        else
            for (int32_t c = 0; c < v.components; ++c)
                word[c * stride] = v.charge[c * v.charge_stride + j];
    }
}

/// lanes: 32 share a record, or 1 does it alone.
template <typename T, int lanes>
__global__ void write_records(CollectView<T> v, RecordOffsets records, int32_t what, T* out) {
    const int64_t i = (int64_t{blockIdx.x} * threads + threadIdx.x) / lanes;
    if (i >= v.count_targets)
        return;
    const int64_t slot = v.first_target + i;
    const int32_t box = v.boxes.box_of[slot], lane = threadIdx.x % lanes;
    const int64_t stride = lanes == 1 ? 32 : 1;
    T* word = out + (records.of_target(slot, box) - v.base);
    if (lane == 0 && (what & places)) {
        const Point<T> p = v.target[slot];
        word[0] = p.x, word[stride] = p.y;
        if (v.dimension == 3)
            word[2 * stride] = p.z;
        word[v.dimension * stride] = static_cast<T>(v.runs.sources[box]);
    }
    word += (v.dimension + 1) * stride;
    const int64_t size = v.dimension + v.components;
    for (int64_t r = v.runs.offset[box]; r < v.runs.offset[box + 1]; ++r) {
        const int2 run = v.runs.run[r];
        for (int32_t j = run.x + lane; j < run.y; j += lanes)
            write_source(v, j, what, word + (j - run.x) * size * stride, stride);
        word += (run.y - run.x) * size * stride;
    }
}

} // namespace

void collect_indices(backend::Queue& queue, const StructureView& boxes, const RunsView& runs,
                     const CopyPiece& piece, const int64_t* first, int32_t* out) {
    const auto count = static_cast<int32_t>(piece.end_box - piece.first_box);
    if (count == 0)
        return;
    write_indices<<<backend::blocks_for(int64_t{count} * 32, threads), threads, 0, queue.stream()>>>(
        boxes, runs, static_cast<int32_t>(piece.first_box), count, first, piece.base, out);
    GRAFT_CUDA_LAUNCHED("write_indices");
    ++queue.launches;
}

template <typename T>
void collect_groups(backend::Queue& queue, const CollectView<T>& view, const RecordOffsets& places,
                    int32_t what, Point<T>* out, T* charges, int64_t stride) {
    if (view.count_boxes == 0)
        return;
    write_groups<<<backend::blocks_for(int64_t{view.count_boxes} * 32, threads), threads, 0,
                   queue.stream()>>>(view, places, what, out, charges, stride);
    GRAFT_CUDA_LAUNCHED("write_groups");
    ++queue.launches;
}

template <typename T>
void collect_records(backend::Queue& queue, const CollectView<T>& view, const RecordOffsets& places,
                     int32_t what, T* out) {
    if (view.count_targets == 0)
        return;
    if (places.interleaved)
        write_records<T, 1><<<backend::blocks_for(view.count_targets, threads), threads, 0, queue.stream()>>>(
            view, places, what, out);
    else
        write_records<T, 32>
            <<<backend::blocks_for(int64_t{view.count_targets} * 32, threads), threads, 0, queue.stream()>>>(
                view, places, what, out);
    GRAFT_CUDA_LAUNCHED("write_records");
    ++queue.launches;
}

template void collect_groups(backend::Queue&, const CollectView<float>&, const RecordOffsets&, int32_t,
                             Point<float>*, float*, int64_t);
template void collect_groups(backend::Queue&, const CollectView<double>&, const RecordOffsets&, int32_t,
                             Point<double>*, double*, int64_t);
template void collect_records(backend::Queue&, const CollectView<float>&, const RecordOffsets&, int32_t,
                              float*);
template void collect_records(backend::Queue&, const CollectView<double>&, const RecordOffsets&, int32_t,
                              double*);

} // namespace graft::near
