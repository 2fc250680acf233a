// SPDX-License-Identifier: BSD-3-Clause
// A rank's points on its GPU while the level strategy cuts cells over several ranks: what the host asks of
// them, level by level, and the table of libgraft_cuda.so that answers.
//
// The searches stay with the host (level_loop.hpp): a rank on a GPU takes part in the same collectives, with
// the same numbers, as one on its CPU, so ranks need not agree on who uses what. Records are those of
// point_records.hpp, keys to the bit; a pass, a list or a partition is one call here and one wait.
#pragma once

#include "backend/gpu_library.hpp"
#include "decompose/orb/exact_cut.hpp"
#include "decompose/points/point_records.hpp"

#include <cstdint>
#include <exception>
#include <vector>

namespace graft::decompose {

/// This rank's points and how their records are made; arrays on the host, read during start().
struct RecordsStart {
    Points points;
    KeyFrame frame[3];
    WeightScale weights; // unit: no weights are kept
    int64_t id_base;     // of points without ids: id_base + index
    int32_t dimension, parts;
    int32_t threads; // of the host, for copies
};

/// One cell in a question: its records, or the list of some of them that an earlier sweep made, and what is
/// asked.
struct RecordsCell {
    int64_t begin = 0, count = 0;                      // records in this level's arrays
    int64_t listed = -1;                               // >= 0: length of the list that is read instead
    uint32_t from_first = 0, from_last = ~uint32_t{0}; // keys of the list that still belong to it
    uint32_t first = 0, last = 0;                      // keys asked for
    int64_t at = 0, room = 0; // of the answer: first counter or candidate, candidates or points sampled
    int32_t axis = 0, shift = 0, bins = 0, slot = 0;
    int32_t collect = 0;  // list the records of [first, last]
    int32_t weigh = 0;    // a sampled point's share is its weight
    float stands_for = 0; // points that a sampled one stands for
};

/// One cell to be cut: as TieRule and partition() of sweep.hpp. Children that are parts leave the game.
struct RecordsCut {
    int64_t begin = 0, count = 0;
    Cut cut;
    uint32_t key = 0; // of cut.x
    int32_t axis = 0;
    int32_t left_is_part = 0, right_is_part = 0;
};

/// Every function returns a status and fills error; `side`: which arrays the level's records are in.
struct DeviceRecordsTable {
    /// Keeps its memory on `device` until release().
    int32_t (*create)(int32_t device, void** records, backend::DeviceError* error);
    void (*release)(void* records);
    /// Copies the points, makes keys, weights and indices in arrays 0.
    int32_t (*start)(void* records, const RecordsStart* start, backend::DeviceError* error);
    /// `each` places a cell to out: (key, share) as LevelLoop packs them, share -1 where there is no point.
    int32_t (*sample)(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t each,
                      uint64_t* out, backend::DeviceError* error);
    /// counters[at]: records with keys below `first`; the `bins` after it: those of [first, last]. Weights
    /// are not counted where there are none.
    int32_t (*sweep)(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t counters,
                     RecordSum* out, backend::DeviceError* error);
    /// Finds the candidates of [first, last] of every cell, at most `room` each, and tells how many.
    int32_t (*find_few)(void* records, int32_t side, const RecordsCell* cells, int64_t count, int64_t* found,
                        backend::DeviceError* error);
    /// What find_few() found: cell after cell, in any order within one.
    int32_t (*fetch_few)(void* records, const RecordsCell* cells, int64_t count, const int64_t* found,
                         Candidate* out, backend::DeviceError* error);
    /// Moves the records of every cell into the other arrays, in order; those of parts go to the final order.
    /// left: how many stand left of each cut.
    int32_t (*split)(void* records, int32_t side, const RecordsCut* cuts, int64_t count, int64_t* left,
                     backend::DeviceError* error);
    /// part_end: as OrbRun's; owner: n; order: n, or NULL.
    int32_t (*finish)(void* records, const int64_t* part_end, int32_t parts, int32_t* owner, int32_t* order,
                      backend::DeviceError* error);
};

/// The table of this room (in libgraft_cuda.so only).
const DeviceRecordsTable& device_records_table();

/// The host's end of the table. After start() nothing throws but check(): a call that fails is remembered,
/// and every later one answers with nothing, until a collective has told all ranks.
class DeviceRecords {
  public:
    DeviceRecords() = default;
    ~DeviceRecords();
    DeviceRecords(const DeviceRecords&) = delete;
    DeviceRecords& operator=(const DeviceRecords&) = delete;

    /// Not collective. False: this rank stays on its CPU (options, too few points, no device, or not enough
    /// of its memory). parts > 1.
    bool start(const Problem& problem, const KeyFrame (&frame)[3]);
    void sample(int side, const std::vector<RecordsCell>& cells, int64_t each, uint64_t* out);
    void sweep(int side, const std::vector<RecordsCell>& cells, std::vector<RecordSum>& counters);
    void find_few(int side, const std::vector<RecordsCell>& cells, std::vector<int64_t>& found);
    void fetch_few(const std::vector<RecordsCell>& cells, const std::vector<int64_t>& found, Candidate* out);
    void split(int side, const std::vector<RecordsCut>& cuts, std::vector<int64_t>& left);
    void finish(const std::vector<int64_t>& part_end, int32_t* owner, int32_t* order);

    /// What went wrong since start(), NULL: nothing.
    const std::exception_ptr& error() const { return error_; }
    /// Throws it.
    void check() const;
    double upload_s() const { return upload_s_; }

  private:
    template <typename Call>
    void ask(Call&& call);

    const DeviceRecordsTable* table_ = nullptr;
    void* records_ = nullptr;
    int32_t device_ = -1;
    std::exception_ptr error_;
    double upload_s_ = 0;
};

} // namespace graft::decompose
