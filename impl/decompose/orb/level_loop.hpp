// SPDX-License-Identifier: BSD-3-Clause
// The recursion of ORB, one level at a time: find the cuts of all open cells together, partition, go on with
// their children.
//
// It is written over a reducer: with a communicator the counters of every pass are summed over its ranks and
// candidates are gathered; without one (a rank alone) the same code runs on this rank's points, and cells
// that fit the cache are handed, each with the whole subtree under it, to one thread's own loop. Records of a
// cell lie together, in the order of the host's indices; they move between two sets of arrays, once a level.
// Over ranks a rank's records may be on its GPU (level_cuts_gpu.cpp): the same passes over them, the same numbers.
// Sources: rehmann2022 sections 3.2-3.6 and 5.4-5.6.
#pragma once

#include "decompose/points/point_records_table.hpp"
#include "decompose/orb/exact_cut.hpp"
#include "decompose/checked_points.hpp"
#include "decompose/points/point_records.hpp"
#include "decompose/orb/cut_search.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

/// What all loops of one run share; each writes only what belongs to its own cells.
struct OrbRun {
    const Problem& problem;
    KeyFrame frame[3];
    RecordArrays arrays[2];
    int32_t* order = nullptr;       // local indices by part, when all is done
    std::vector<Cell>& cells;       // heap
    std::vector<Amount>& parts;     // points of each part, over all ranks
    std::vector<int64_t>& part_end; // end of each part's run in `order`
    FinderSettings settings;
    DeviceRecords* device = nullptr; // holds the records instead of the arrays

    const double* coordinate(int axis) const;
};

/// A place in a sample without a point.
inline constexpr uint64_t no_sample = 0xbf800000U; // share -1

/// A cell that waits: its records are [begin, begin + count) in arrays[side].
struct OpenCell {
    int32_t cell = 1;
    int side = 0;
    int64_t begin = 0, count = 0;
    Amount all; // over all ranks
};

struct LoopStatistics {
    int64_t cuts = 0, rounds = 0;
    int64_t records_read = 0; // by passes that look for cuts, over all of a cell's points or a list of them
    double cuts_s = 0, partition_s = 0;
    void add(const LoopStatistics& other);
};

class LevelLoop {
  public:
    explicit LevelLoop(core::Memory& memory) : candidates_(memory, "ORB candidates") {}
    /// Room for what one level gathers where no heap of points has more. May throw Error(memory).
    void reserve(int64_t candidates) { candidates_.resize(candidates); }
    /// Cuts the cells under `roots` down to parts. comm NULL: this rank alone. With a communicator
    /// collective, and all of `roots` are the same cells on all ranks. Cells of at most subtree_points points
    /// (0: none, as it must be over ranks) are not cut but added to `subtrees`.
    void run(OrbRun& orb, const backend::Executor& executor, comm::Communicator* comm,
             const std::vector<OpenCell>& roots, int64_t subtree_points, std::vector<OpenCell>& subtrees);
    const LoopStatistics& statistics() const { return statistics_; }
    void reset_statistics() { statistics_ = {}; }

  private:
    struct Segment {
        int32_t slot;
        int64_t begin, full, count; // count: of the list at `begin` in the other arrays
        int64_t left;               // records that go left
        int64_t left_at, right_at;
        uint32_t from_first = 0, from_last = 0; // on a GPU: keys that its list stands for
    };

    /// A search that goes on, and which of the samples is its own (-1: none).
    struct Planned {
        int32_t slot, sample;
    };

    void open_searches(OrbRun& orb, int64_t block);
    void find_cuts(OrbRun& orb, const backend::Executor& executor, comm::Communicator* comm);
    void take_samples(const OrbRun& orb, comm::Communicator* comm);
    void sample_on_device(const OrbRun& orb);
    void sweep_on_device(const OrbRun& orb);
    void find_few_on_device(const OrbRun& orb);
    void split_on_device(const OrbRun& orb);
    RecordsCell device_cell(const Segment& segment) const;
    void sample_cell(const OrbRun& orb, const Search& search, int64_t wanted, uint64_t* out);
    void unpack_samples(size_t which, std::vector<SamplePoint>& points) const;
    void plan_passes(const OrbRun& orb, const backend::Executor& executor);
    void sweep(OrbRun& orb, const backend::Executor& executor);
    void sweep_segment(OrbRun& orb, Segment& segment, Search& search);
    void reduce(const OrbRun& orb, comm::Communicator* comm);
    void draw_conclusions(const OrbRun& orb);
    void collect_few(OrbRun& orb, const backend::Executor& executor);
    void make_candidates(const OrbRun& orb, comm::Communicator* comm);
    void write_candidates(const OrbRun& orb);
    uint32_t cut_key(const OrbRun& orb, const Search& search) const;
    void split(OrbRun& orb, const backend::Executor& executor);
    void count_segment(const OrbRun& orb, Segment& segment);
    void place_segments(const Search& search);
    void move_segment(OrbRun& orb, const Segment& segment);
    void open_children(OrbRun& orb, const std::vector<OpenCell>& parents);

    bool weighted(const OrbRun& orb) const { return !orb.problem.weights.unit(); }

    int side_ = 0;
    std::vector<OpenCell> open_, children_;
    std::vector<Search> searches_;
    std::vector<Segment> segments_;
    std::vector<int32_t> active_;  // segments of searches that go on
    int64_t load_ = 0;             // points that a rank has, on average, in cells that go on
    std::vector<int32_t> sampled_; // searches with a sample
    int64_t sample_size_ = 0;      // of one of them, from one rank
    std::vector<uint64_t> sample_, samples_;
    std::vector<std::vector<SamplePoint>> points_; // of each thread
    std::vector<Planned> planned_;
    std::vector<RecordSum> counters_;
    std::vector<Amount> amounts_;
    std::vector<uint64_t> lanes_;
    core::Buffer<Candidate> candidates_;
    std::vector<RecordsCell> device_cells_;
    std::vector<RecordsCut> device_cuts_;
    std::vector<int64_t> device_found_;
    LoopStatistics statistics_;
};

} // namespace graft::decompose
