// SPDX-License-Identifier: BSD-3-Clause
// Runs of consecutive sources, see source_runs.hpp.
#include "near/source_runs.hpp"

#include "backend/executor.hpp"

#include <algorithm>
#include <vector>

namespace graft::near {

namespace {

constexpr int64_t piece_boxes = 1024; // that a thread takes at a time

/// Runs of the boxes of one piece.
struct RunsOfBoxes {
    RawArray<SlotRun> run;
    int32_t most = 0;
    int64_t pairs = 0;
    int64_t place = 0; // of its first run in the whole
};

/// Walks over the lists of boxes. Which boxes are empty is chance: nothing of a neighbour is a branch.
class Walk {
  public:
    Walk(const Structure& structure, const RunsOptions& options, HostRuns& runs)
        : s_(structure), options_(options), runs_(runs) {}

    /// Boxes [begin, end); the number of runs of box b stands at offset[b + 1] until the pieces are put
    /// together. room: for the neighbours of all of them, and one more.
    void add(int64_t begin, int64_t end, std::vector<SlotRun>& room, RunsOfBoxes& piece) {
        const size_t most = static_cast<size_t>(s_.neighbour_offset[end] - s_.neighbour_offset[begin]) + 1;
        if (room.size() < most)
            room.resize(most);
        SlotRun* last = room.data();
        for (int64_t b = begin; b < end; ++b) {
            SlotRun* const before = last;
            const int64_t n = s_.target_offset[b + 1] - s_.target_offset[b];
            const int32_t m = n > 0 || options_.empty ? add_box(b, last) : leave(b);
            runs_.sources[static_cast<size_t>(b)] = m;
            runs_.offset[static_cast<size_t>(b) + 1] = last - before;
            piece.most = std::max(piece.most, m);
            piece.pairs += m * n;
        }
        piece.run = RawArray<SlotRun>(static_cast<size_t>(last - room.data()));
        std::copy(room.data(), last, piece.run.all().begin());
    }

  private:
    int32_t leave(int64_t b) {
        if (!runs_.own.empty())
            runs_.own[static_cast<size_t>(b)] = -1;
        return 0;
    }
    /// last: where the next run is written.
    int32_t add_box(int64_t b, SlotRun*& last) {
        const int64_t* const offset = s_.source_offset.data();
        const bool all = options_.itself && options_.others;
        const int32_t self = s_.same ? static_cast<int32_t>(b) : -1;
        SlotRun run = {-1, -1}; // an empty one is written over
        int32_t m = 0, own = -1;
        for (int64_t e = s_.neighbour_offset[b]; e < s_.neighbour_offset[b + 1]; ++e) {
            const int32_t other = s_.neighbour[e];
            if (!all && (other == self ? !options_.itself : !options_.others))
                continue;
            const auto begin = static_cast<int32_t>(offset[other]),
                       end = static_cast<int32_t>(offset[other + 1]);
            const bool fresh = begin != run.y;
            last += fresh & (run.x != run.y);
            run = {fresh ? begin : run.x, end};
            *last = run;
            own = other == self ? m : own;
            m += end - begin;
        }
        last += run.x != run.y;
        if (!runs_.own.empty())
            runs_.own[static_cast<size_t>(b)] = own;
        return m;
    }
    const Structure& s_;
    const RunsOptions& options_;
    HostRuns& runs_;
};

} // namespace

HostRuns merge_runs(const Structure& s, const RunsOptions& options) {
    HostRuns runs;
    const int64_t boxes = s.target_boxes();
    runs.offset = RawArray<int64_t>(static_cast<size_t>(boxes) + 1);
    runs.sources = RawArray<int32_t>(static_cast<size_t>(boxes));
    if (s.same && options.itself)
        runs.own = RawArray<int32_t>(static_cast<size_t>(boxes));
    core::Memory memory;
    const backend::Executor executor{memory, backend::resolve_threads(options.threads)};
    std::vector<RunsOfBoxes> pieces(static_cast<size_t>((boxes + piece_boxes - 1) / piece_boxes));
    std::vector<std::vector<SlotRun>> rooms(static_cast<size_t>(executor.threads));
    Walk walk(s, options, runs);
    executor.for_blocks(boxes, piece_boxes, [&](int64_t begin, int64_t end, int thread) {
        walk.add(begin, end, rooms[static_cast<size_t>(thread)],
                 pieces[static_cast<size_t>(begin / piece_boxes)]);
    });
    int64_t all = 0;
    for (RunsOfBoxes& piece : pieces) {
        piece.place = all;
        all += static_cast<int64_t>(piece.run.size());
        runs.most = std::max(runs.most, piece.most);
        runs.pairs += piece.pairs;
    }
    runs.run = RawArray<SlotRun>(static_cast<size_t>(all));
    runs.offset[0] = 0;
    executor.for_blocks(boxes, piece_boxes, [&](int64_t begin, int64_t end, int) {
        const RunsOfBoxes& piece = pieces[static_cast<size_t>(begin / piece_boxes)];
        std::copy_n(piece.run.all().begin(), piece.run.size(), runs.run.all().begin() + piece.place);
        int64_t place = piece.place;
        for (int64_t b = begin; b < end; ++b)
            place = runs.offset[static_cast<size_t>(b) + 1] += place;
    });
    return runs;
}

} // namespace graft::near
