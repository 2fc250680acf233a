// SPDX-License-Identifier: BSD-3-Clause
// The engine of a rank's records: its memory, the way in and the way out, and the entries of the table.
//
// Compiled without fused multiply-adds: keys and weights have the bits of point_records.cpp and weights.hpp.
// Floor of start(): 24 B a point over the link, then read once, 16 B (24 with weights) written; of finish():
// 4 B a point (8 with the order) back.
#include "decompose/points/point_records_gpu.cuh"

#include "backend/guard_gpu.cuh"
#include "decompose/orb/gpu/orb_host_arrays_gpu.cuh"

#include <algorithm>

namespace graft::decompose {

namespace {

constexpr int threads = 256;
constexpr int64_t counters_at_once = (int64_t{1} << 18) + 4096; // about what a pass asks for at most

struct KeyFrames {
    KeyFrame axis[3];
};

__global__ void make_records(DeviceCoordinates places, int dimension, KeyFrames frames, int64_t n,
                             DeviceRecordArrays arrays) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i >= n)
        return;
    for (int axis = 0; axis < dimension; ++axis) {
        const KeyFrame& frame = frames.axis[axis];
        const double offset = places.at(axis, static_cast<uint32_t>(i)) * 0.5 - frame.half_origin;
        const double magic = 4503599627370496.0; // its sum with a number below 2^32 ends in that number
        arrays.keys(axis)[i] = static_cast<uint32_t>(__double_as_longlong(offset * frame.scale + magic));
    }
    arrays.index[i] = static_cast<uint32_t>(i);
}

/// In place: bits of costs to weights.
__global__ void make_weights(WeightScale scale, int64_t n, uint64_t* weight) {
    const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
    if (i < n)
        weight[i] = scale.of(__longlong_as_double(static_cast<long long>(weight[i])));
}

template <typename T>
void grow(backend::DeviceBuffer<T> (&buffers)[3], int dimension, int64_t n) {
    for (int axis = 0; axis < dimension; ++axis)
        buffers[axis].resize(n);
}

} // namespace

RecordsEngine::RecordsEngine(int device)
    : memory(device), queue(memory, nullptr),
      transfer(queue), x{backend::DeviceBuffer<double>(memory, "points"),
                         backend::DeviceBuffer<double>(memory, "points"),
                         backend::DeviceBuffer<double>(memory, "points")},
      id(memory, "ids"), key{{backend::DeviceBuffer<uint32_t>(memory, "ORB keys"),
                              backend::DeviceBuffer<uint32_t>(memory, "ORB keys"),
                              backend::DeviceBuffer<uint32_t>(memory, "ORB keys")},
                             {backend::DeviceBuffer<uint32_t>(memory, "ORB keys"),
                              backend::DeviceBuffer<uint32_t>(memory, "ORB keys"),
                              backend::DeviceBuffer<uint32_t>(memory, "ORB keys")}},
      index{backend::DeviceBuffer<uint32_t>(memory, "ORB indices"),
            backend::DeviceBuffer<uint32_t>(memory, "ORB indices")},
      weight{backend::DeviceBuffer<uint64_t>(memory, "ORB weights"),
             backend::DeviceBuffer<uint64_t>(memory, "ORB weights")},
      order(memory, "part order"), question(memory, "ORB cells"), host_question(memory, "ORB cells"),
      answer(memory, "ORB counters"), host_answer(memory, "ORB counters"), tiles(memory, "ORB tiles") {
    GRAFT_CUDA(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
}

DeviceRecordArrays RecordsEngine::arrays(int side) const {
    return {{key[side][0].data(), key[side][1].data(), key[side][2].data()},
            index[side].data(),
            weighted ? weight[side].data() : nullptr};
}

DeviceCoordinates RecordsEngine::places() const {
    return {{x[0].data(), x[1].data(), x[2].data()}, has_id ? id.data() : nullptr, id_base};
}

int32_t RecordsEngine::chunk_for(int64_t records) const {
    const int64_t even = records / (8 * int64_t{queue.multiprocessors()});
    return static_cast<int32_t>(std::clamp<int64_t>((even + 1023) / 1024 * 1024, 2048, 16384));
}

uint64_t* RecordsEngine::clear_answer(int64_t words) {
    answer.resize(words);
    GRAFT_CUDA(cudaMemsetAsync(answer.data(), 0, static_cast<size_t>(words) * 8, queue.stream()));
    return answer.data();
}

const uint64_t* RecordsEngine::fetch_answer(int64_t words) {
    host_answer.resize(words);
    GRAFT_CUDA(cudaMemcpyAsync(host_answer.data(), answer.data(), static_cast<size_t>(words) * 8,
                               cudaMemcpyDeviceToHost, queue.stream()));
    queue.wait();
    return host_answer.data();
}

void RecordsEngine::start(const RecordsStart& start) {
    const Points& points = start.points;
    n = points.n, dimension = start.dimension, id_base = start.id_base;
    has_id = points.id != nullptr, weighted = !start.weights.unit;
    transfer.set_threads(start.threads);
    grow(x, dimension, n);
    id.resize(has_id ? n : 0);
    for (int side = 0; side < 2; ++side) {
        grow(key[side], dimension, n);
        index[side].resize(n);
        weight[side].resize(weighted ? n : 0);
    }
    order.resize(n);
    tiles.resize(2 * (n / 2048 + start.parts + 2));
    question.resize((int64_t{sizeof(RecordsCell)} + 4) * start.parts + 4);
    host_question.resize(question.size());
    answer.resize((weighted ? 3 : 1) * counters_at_once);
    host_answer.resize(answer.size());
    const double* const from[3] = {points.x, points.y, points.z};
    for (int axis = 0; axis < dimension; ++axis)
        transfer.send(x[axis].data(), from[axis], n * 8);
    if (has_id)
        transfer.send(id.data(), points.id, n * 8);
    const unsigned blocks = backend::blocks_for(n, threads);
    if (weighted) {
        transfer.send(weight[0].data(), points.cost, n * 8);
        make_weights<<<blocks, threads, 0, queue.stream()>>>(start.weights, n, weight[0].data());
        GRAFT_CUDA_LAUNCHED("make_weights");
    }
    make_records<<<blocks, threads, 0, queue.stream()>>>(
        places(), dimension, KeyFrames{{start.frame[0], start.frame[1], start.frame[2]}}, n, arrays(0));
    GRAFT_CUDA_LAUNCHED("make_records");
    queue.wait();
}

void RecordsEngine::finish(const int64_t* part_end, int32_t parts, int32_t* owner, int32_t* order_out) {
    std::vector<int64_t> offset(static_cast<size_t>(parts) + 1, 0);
    std::copy_n(part_end, parts, offset.begin() + 1);
    answer.resize(parts + int64_t{1});
    GRAFT_CUDA(cudaMemcpyAsync(answer.data(), offset.data(), offset.size() * 8, cudaMemcpyHostToDevice,
                               queue.stream()));
    auto* const owners = reinterpret_cast<int32_t*>(key[0][0].data()); // whose records have had their day
    write_device_owners(queue, reinterpret_cast<const uint32_t*>(order.data()),
                        reinterpret_cast<const int64_t*>(answer.data()), parts, n, owners);
    transfer.fetch(owner, owners, n * 4);
    if (order_out != nullptr)
        transfer.fetch(order_out, order.data(), n * 4);
}

namespace {

/// Runs `body` on the engine with its device current.
template <typename Body>
int32_t with_engine(void* records, backend::DeviceError* error, Body&& body) {
    return backend::guarded_device(error, [&] {
        RecordsEngine& engine = *static_cast<RecordsEngine*>(records);
        GRAFT_CUDA(cudaSetDevice(engine.memory.device()));
        body(engine);
    });
}

int32_t create(int32_t device, void** records, backend::DeviceError* error) {
    return backend::guarded_device(error, [&] { *records = new RecordsEngine(device); });
}

void release(void* records) {
    const backend::KeepsDevice keeps;
    delete static_cast<RecordsEngine*>(records);
}

int32_t start(void* records, const RecordsStart* start, backend::DeviceError* error) {
    return with_engine(records, error, [&](RecordsEngine& engine) { engine.start(*start); });
}

int32_t sample(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t each,
               uint64_t* out, backend::DeviceError* error) {
    return with_engine(records, error,
                       [&](RecordsEngine& engine) { engine.sample(side, cells, count, each, out); });
}

int32_t sweep(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t counters,
              RecordSum* out, backend::DeviceError* error) {
    return with_engine(records, error,
                       [&](RecordsEngine& engine) { engine.sweep(side, cells, count, counters, out); });
}

int32_t find_few(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t* found,
                 backend::DeviceError* error) {
    return with_engine(records, error,
                       [&](RecordsEngine& engine) { engine.find_few(side, cells, count, found); });
}

int32_t fetch_few(void* records, const RecordsCell* cells, int64_t count, const int64_t* found,
                  Candidate* out, backend::DeviceError* error) {
    return with_engine(records, error,
                       [&](RecordsEngine& engine) { engine.fetch_few(cells, count, found, out); });
}

int32_t split(void* records, int32_t side, const RecordsCut* cuts, int64_t count, int64_t* left,
              backend::DeviceError* error) {
    return with_engine(records, error, [&](RecordsEngine& engine) { engine.split(side, cuts, count, left); });
}

int32_t finish(void* records, const int64_t* part_end, int32_t parts, int32_t* owner, int32_t* order,
               backend::DeviceError* error) {
    return with_engine(records, error,
                       [&](RecordsEngine& engine) { engine.finish(part_end, parts, owner, order); });
}

} // namespace

const DeviceRecordsTable& device_records_table() {
    static const DeviceRecordsTable table = {create,   release,   start, sample, sweep,
                                             find_few, fetch_few, split, finish};
    return table;
}

} // namespace graft::decompose
