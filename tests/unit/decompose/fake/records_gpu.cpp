// SPDX-License-Identifier: BSD-3-Clause
// A libgraft_cuda.so without a GPU: the questions of point_records_table.hpp answered by plain loops, one device
// a rank, so that the host's end can be tested anywhere. Lists and candidates come in reverse order.
#include "records_gpu.hpp"

#include "backend/gpu_errors.hpp"
#include "decompose/orb/orb_table.hpp"
#include "decompose/points/point_records_table.hpp"

#include "fake_table.hpp"

#include <bit>

namespace {

using namespace graft;
using namespace graft::decompose;
using backend::DeviceError;

fake::Control control;

struct Records {
    std::vector<uint32_t> key[3];
    std::vector<int32_t> index;
    std::vector<uint64_t> weight;
};

struct Engine {
    int32_t device = 0;
    RecordsStart start{};
    std::vector<double> x[3]; // the host's arrays are read during start() only
    std::vector<int64_t> id;
    Records arrays[2];
    std::vector<int32_t> order;
    std::vector<Candidate> found;

    uint64_t weight_of(int side, int64_t i) const {
        return start.weights.unit ? 1 : arrays[side].weight[static_cast<size_t>(i)];
    }
    int64_t id_of(int32_t item) const {
        return id.empty() ? start.id_base + item : id[static_cast<size_t>(item)];
    }
    bool left(const RecordsCut& cut, int side, int64_t i) const {
        const uint32_t key = arrays[side].key[cut.axis][static_cast<size_t>(i)];
        const int32_t item = arrays[side].index[static_cast<size_t>(i)];
        return key < cut.key ||
               (key == cut.key && is_left(cut.cut, x[cut.axis][static_cast<size_t>(item)], id_of(item)));
    }
};

Engine& engine(void* records) {
    return *static_cast<Engine*>(records);
}

template <typename Body>
int32_t answer(void* records, DeviceError* error, Body&& body) {
    return backend::as_status(error, [&] {
        if (engine(records).device == control.failing && control.calls++ == control.failing_call)
            core::fail(core::Status::device, "the fake device %d broke", engine(records).device);
        body(engine(records));
    });
}

int32_t create(int32_t device, void** records, DeviceError* error) {
    return backend::as_status(error, [&] {
        *records = new Engine;
        engine(*records).device = device;
    });
}

void release(void* records) {
    delete static_cast<Engine*>(records);
}

int32_t start(void* records, const RecordsStart* start, DeviceError* error) {
    return backend::as_status(error, [&] {
        Engine& e = engine(records);
        if (e.device == control.refusing)
            core::fail(core::Status::memory, "the fake device %d is full", e.device);
        ++control.starts;
        e.start = *start;
        const auto n = static_cast<size_t>(start->points.n);
        const double* from[3] = {start->points.x, start->points.y, start->points.z};
        for (int side = 0; side < 2; ++side) {
            e.arrays[side].index.assign(n, -1);
            e.arrays[side].weight.assign(n, 0);
            for (int axis = 0; axis < start->dimension; ++axis)
                e.arrays[side].key[axis].assign(n, 0);
        }
        for (int axis = 0; axis < start->dimension; ++axis) {
            e.x[axis].assign(from[axis], from[axis] + n);
            make_keys(from[axis], start->points.n, start->frame[axis], e.arrays[0].key[axis].data());
        }
        e.id.clear();
        if (start->points.id != nullptr)
            e.id.assign(start->points.id, start->points.id + n);
        for (size_t i = 0; i < n; ++i) {
            e.arrays[0].index[i] = static_cast<int32_t>(i);
            e.arrays[0].weight[i] = start->weights.unit ? 1 : start->weights.of(start->points.cost[i]);
        }
        e.order.assign(n, -1);
    });
}

int32_t sample(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t each,
               uint64_t* out, DeviceError* error) {
    return answer(records, error, [&](Engine& e) {
        for (int64_t c = 0; c < count; ++c)
            for (int64_t i = 0; i < each; ++i) {
                const RecordsCell& cell = cells[c];
                uint64_t& packed = out[c * each + i];
                packed = 0xbf800000U;
                if (i >= cell.room)
                    continue;
                const int64_t at = cell.begin + (2 * i + 1) * cell.count / (2 * cell.room);
                const uint32_t key = e.arrays[side].key[cell.axis][static_cast<size_t>(at)];
                const float weight = cell.weigh != 0 ? static_cast<float>(e.weight_of(side, at)) : 1.0F;
                if (key >= cell.first && key <= cell.last)
                    packed = uint64_t{key} << 32 | std::bit_cast<uint32_t>(weight * cell.stands_for);
            }
    });
}

/// body(place in the cell, key) for what a cell's question reads.
template <typename Body>
void read(const Engine& e, int side, const RecordsCell& cell, Body&& body) {
    const bool listed = cell.listed >= 0;
    const Records& from = e.arrays[listed ? 1 - side : side];
    for (int64_t i = (listed ? cell.listed : cell.count) - 1; i >= 0; --i) {
        const auto at = static_cast<size_t>(cell.begin + i);
        const uint32_t key = from.key[cell.axis][at];
        if (key >= cell.from_first && key <= cell.from_last)
            body(listed ? from.index[at] : i, key);
    }
}

int32_t sweep(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t counters,
              RecordSum* out, DeviceError* error) {
    return answer(records, error, [&](Engine& e) {
        std::fill_n(out, counters, RecordSum{});
        for (int64_t c = 0; c < count; ++c) {
            const RecordsCell& cell = cells[c];
            int64_t listed = 0;
            read(e, side, cell, [&](int64_t place, uint32_t key) {
                const uint64_t w = e.weight_of(side, cell.begin + place);
                if (key < cell.first)
                    out[cell.at].add(static_cast<uint32_t>(w), static_cast<uint32_t>(w >> 32));
                if (key < cell.first || key > cell.last || cell.bins == 0)
                    return;
                out[cell.at + 1 + ((key - cell.first) >> cell.shift)].add(static_cast<uint32_t>(w),
                                                                          static_cast<uint32_t>(w >> 32));
                if (cell.collect == 0)
                    return;
                e.arrays[1 - side].key[cell.axis][static_cast<size_t>(cell.begin + listed)] = key;
                e.arrays[1 - side].index[static_cast<size_t>(cell.begin + listed++)] =
                    static_cast<int32_t>(place);
            });
        }
    });
}

int32_t find_few(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t* found,
                 DeviceError* error) {
    return answer(records, error, [&](Engine& e) {
        e.found.clear();
        for (int64_t c = 0; c < count; ++c) {
            const RecordsCell& cell = cells[c];
            found[c] = 0;
            read(e, side, cell, [&](int64_t place, uint32_t key) {
                if (key < cell.first || key > cell.last)
                    return;
                const int32_t item = e.arrays[side].index[static_cast<size_t>(cell.begin + place)];
                e.found.push_back({ordered_image(e.x[cell.axis][static_cast<size_t>(item)]),
                                   ordered_id(e.id_of(item)), e.weight_of(side, cell.begin + place),
                                   cell.slot});
                ++found[c];
            });
            if (found[c] > cell.room)
                core::fail(core::Status::internal, "more candidates than room");
        }
    });
}

int32_t fetch_few(void* records, const RecordsCell*, int64_t, const int64_t*, Candidate* out,
                  DeviceError* error) {
    return answer(records, error, [&](Engine& e) { std::copy(e.found.begin(), e.found.end(), out); });
}

void move(Engine& e, int side, int64_t from, int64_t to, bool is_part) {
    const auto a = static_cast<size_t>(from), b = static_cast<size_t>(to);
    if (is_part) {
        e.order[b] = e.arrays[side].index[a];
        return;
    }
    for (int axis = 0; axis < e.start.dimension; ++axis)
        e.arrays[1 - side].key[axis][b] = e.arrays[side].key[axis][a];
    e.arrays[1 - side].index[b] = e.arrays[side].index[a];
    e.arrays[1 - side].weight[b] = e.arrays[side].weight[a];
}

int32_t split(void* records, int32_t side, const RecordsCut* cuts, int64_t count, int64_t* left,
              DeviceError* error) {
    return answer(records, error, [&](Engine& e) {
        for (int64_t c = 0; c < count; ++c) {
            const RecordsCut& cut = cuts[c];
            left[c] = 0;
            for (int64_t i = cut.begin; i < cut.begin + cut.count; ++i)
                left[c] += e.left(cut, side, i) ? 1 : 0;
            int64_t to_left = cut.begin, to_right = cut.begin + left[c];
            for (int64_t i = cut.begin; i < cut.begin + cut.count; ++i)
                e.left(cut, side, i) ? move(e, side, i, to_left++, cut.left_is_part != 0)
                                     : move(e, side, i, to_right++, cut.right_is_part != 0);
        }
    });
}

int32_t finish(void* records, const int64_t* part_end, int32_t parts, int32_t* owner, int32_t* order,
               DeviceError* error) {
    return answer(records, error, [&](Engine& e) {
        for (int32_t part = 0; part < parts; ++part)
            for (int64_t i = part == 0 ? 0 : part_end[part - 1]; i < part_end[part]; ++i)
                owner[e.order[static_cast<size_t>(i)]] = part;
        if (order != nullptr)
            std::copy(e.order.begin(), e.order.end(), order);
    });
}

} // namespace

extern "C" __attribute__((visibility("default"))) fake::Control* fake_control() {
    return &control;
}

extern "C" __attribute__((visibility("default"))) const backend::CudaTable* graft_cuda_get_table() {
    static const DeviceRecordsTable records = {create,   release,   start, sample, sweep,
                                               find_few, fetch_few, split, finish};
    static const DeviceOrbTable orb = {
        sizeof(DeviceOrbTable), 0, nullptr, nullptr, nullptr, &records};
    static backend::CudaTable table = test::fake_table<16>();
    table.orb = &orb;
    return &table;
}
