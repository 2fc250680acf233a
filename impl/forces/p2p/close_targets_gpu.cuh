// SPDX-License-Identifier: BSD-3-Clause
// Targets, to be told whether a source at another place is closer than their frame resolves; in a CUDA thread each.
//
// Sources stand in cubic cells of twice that limit and more, and a target looks at the eight cells about it. A cell knows
// the place of one source, and whether another one stands elsewhere in it: targets in and beside a cell of one place are
// asked exactly, those in and beside a cell of several places are close. So neither heaps nor clumps cost more than other
// sources. Frames of different sizes want cells of different sizes: of all limits a few are made, no smaller than
// asked for, and a source stands in a cell of each. Which source a cell knows hangs on the order of threads; what
// targets are told does not.
#pragma once

#include "forces/evaluate_gpu.cuh"
#include "forces/frame_resolution.hpp"

namespace graft::forces {

/// Tables of cells, one a limit, by hashes of the cells' places (open addressing). A slot, 0 where it is free: 32 bits of
/// the hash; whether sources stand at several places; one of them, + 1.
struct CloseCells {
    static constexpr int most_limits = 4, words = 8;
    /// A bit for 2^(k - middle) ... 2^(k + 3 - middle), k = 0, 4, 8 ...: a frame has such a limit.
    static constexpr int middle = 1024;
    static constexpr unsigned long long several = 1ull << 31;

    unsigned long long *limits = nullptr, *slots = nullptr;
    int64_t room = 0; // slots of a limit, twice as many as sources: a search ends soon
};

/// Its memory: 16 B a source and table.
class DeviceCloseCells {
  public:
    explicit DeviceCloseCells(backend::DeviceMemory& memory) : memory_(memory, "cells of close sources") {}
    /// Enqueued: room for so many sources, no limits yet.
    CloseCells clear(backend::Queue& queue, int64_t sources);

  private:
    backend::DeviceBuffer<unsigned long long> memory_;
};

/// Enqueued, once the limits are known: puts the sources (finite coordinates) into their cells.
void fill_cells(backend::Queue& queue, const CloseCells& cells, const DeviceSources& sources);

/// Bit of a limit 2^exponent.
__device__ inline int limit_bit(int exponent) {
    const int k = exponent + CloseCells::middle;
    return (k < 0 ? 0 : k < 2 * CloseCells::middle ? k : 2 * CloseCells::middle - 1) / 4;
}

/// Of one of the frames.
__device__ inline void add_limit(const CloseCells& cells, int exponent) {
    const int bit = limit_bit(exponent);
    atomicOr(cells.limits + bit / 64, 1ull << bit % 64);
}

/// A limit's table, and one over the edge of its cells, a power of two: places in cells are exact.
struct CellTable {
    unsigned long long* slots;
    double inverse;
};

/// The limits that have tables: neighbours in size share one where there are too many, most of them at a distance.
class CloseLimits {
  public:
    __device__ explicit CloseLimits(const CloseCells& cells) {
        constexpr unsigned long long kept[] = {0x1111111111111111, 0x0001000100010001, 1};
        for (int w = 0; w < CloseCells::words; ++w)
            bits_[w] = cells.limits[w];
        for (int k = 0; k < 3 && count_below(64 * CloseCells::words) > CloseCells::most_limits; ++k, together_ *= 4)
            for (unsigned long long& word : bits_) {
                word |= word >> together_;
                word = (word | word >> 2 * together_) & kept[k];
            }
        if (count_below(64 * CloseCells::words) <= CloseCells::most_limits)
            return;
        together_ = 64 * CloseCells::words;
        for (int w = 0; w < CloseCells::words; ++w)
            bits_[w] = w == 0 ? 1 : 0;
    }
    /// Of a limit that was added.
    __device__ CellTable table(const CloseCells& cells, int exponent) const {
        return table_of_bit(cells, limit_bit(exponent) / together_ * together_);
    }
    template <typename Body>
    __device__ void for_each_table(const CloseCells& cells, const Body& body) const {
        for (int w = 0; w < CloseCells::words; ++w)
            for (unsigned long long left = bits_[w]; left != 0; left &= left - 1)
                body(table_of_bit(cells, 64 * w + __ffsll(static_cast<long long>(left)) - 1));
    }

  private:
    __device__ int count_below(int bit) const {
        int count = 0;
        for (int w = 0; w < CloseCells::words; ++w) {
            const int there = bit - 64 * w;
            count += there <= 0 ? 0 : __popcll(there < 64 ? bits_[w] & ((1ull << there) - 1) : bits_[w]);
        }
        return count;
    }
    __device__ CellTable table_of_bit(const CloseCells& cells, int bit) const {
        const int edge = 4 * (bit + together_) - CloseCells::middle; // of the cells, as a power of two
        return {cells.slots + count_below(bit) * cells.room, ldexp(1.0, -edge)};
    }

    unsigned long long bits_[CloseCells::words];
    int together_ = 1; // bits
};

/// A cell's place, whole numbers, and its hash.
struct CellCoordinates {
    double at[3];

    /// That of a point.
    __device__ CellCoordinates(const CellTable& table, double x, double y, double z)
        : at{place(x * table.inverse), place(y * table.inverse), place(z * table.inverse)} {}
    __device__ CellCoordinates(double x, double y, double z) : at{x, y, z} {}
    __device__ static double place(double scaled) { return floor(scaled) + 0.0; } // -0 is 0
    __device__ bool operator==(const CellCoordinates& other) const {
        return at[0] == other.at[0] && at[1] == other.at[1] && at[2] == other.at[2];
    }
    __device__ unsigned long long hash() const {
        unsigned long long hash = 0;
        for (const double value : at) {
            hash = (hash ^ static_cast<unsigned long long>(__double_as_longlong(value))) * 0x9e3779b97f4a7c15ull;
            hash ^= hash >> 32;
        }
        hash *= 0xbf58476d1ce4e5b9ull;
        return hash ^ hash >> 32;
    }
};

__device__ inline int64_t source_of_slot(unsigned long long slot) {
    return static_cast<int64_t>(slot & (CloseCells::several - 1)) - 1;
}

/// Looks at the slots of a cell's hash, one after the other, till body(slot, what is there, the cell's bits of a slot) says
/// that it is done.
template <typename Body>
__device__ inline void search_cell(const CloseCells& cells, const CellTable& table,
                                   const CellCoordinates& cell, Body&& body) {
    const unsigned long long hash = cell.hash(), high = hash << 32;
    auto k = static_cast<int64_t>(__umul64hi(hash, static_cast<unsigned long long>(cells.room)));
    while (!body(table.slots[k], high))
        k = k + 1 < cells.room ? k + 1 : 0;
}

/// Whether the slot's cell is `cell`, whose bits are `high`.
__device__ inline bool is_of_cell(unsigned long long slot, unsigned long long high, const CellTable& table,
                                  const CellCoordinates& cell, const DeviceSources& sources) {
    if ((slot ^ high) >> 32 != 0)
        return false;
    const int64_t j = source_of_slot(slot);
    return CellCoordinates(table, sources.x[j], sources.y[j], sources.z[j]) == cell;
}

/// Whether a source is, or may be, closer to a point than 2^exponent, along every axis; `exponent`: of a limit that
/// was added before fill_cells(). A source at the very point does not count.
__device__ inline bool has_close(const CloseCells& cells, const DeviceSources& sources, double x, double y, double z,
                                 int exponent) {
    const CellTable table = CloseLimits(cells).table(cells, exponent);
    const CellCoordinates own(table, x, y, z);
    const double limit = ldexp(1.0, exponent), point[3] = {x, y, z};
    double beside[3]; // the cell beyond the nearer face
    for (int a = 0; a < 3; ++a)
        beside[a] = point[a] * table.inverse - own.at[a] < 0.5 ? own.at[a] - 1 : own.at[a] + 1;
    bool close = false;
    for (int corner = 0; corner < 8 && !close; ++corner) {
        const CellCoordinates cell((corner & 1) != 0 ? beside[0] : own.at[0],
                                   (corner & 2) != 0 ? beside[1] : own.at[1],
                                   (corner & 4) != 0 ? beside[2] : own.at[2]);
        search_cell(cells, table, cell, [&](const unsigned long long& slot, unsigned long long high) {
            if (slot == 0)
                return true;
            if (!is_of_cell(slot, high, table, cell, sources))
                return false;
            const int64_t j = source_of_slot(slot);
            const double distance = fmax(fmax(fabs(sources.x[j] - x), fabs(sources.y[j] - y)), fabs(sources.z[j] - z));
            close = (slot & CloseCells::several) != 0 || (distance < limit && distance > 0);
            return true;
        });
    }
    return close;
}

} // namespace graft::forces
