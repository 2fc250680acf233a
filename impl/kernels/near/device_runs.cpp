// Runs of consecutive sources, see device_runs.hpp.
#include "kernels/near/device_runs.hpp"

#include "backend/executor.hpp"

#include <algorithm>

namespace graft::kernels::near {

namespace {

constexpr int64_t piece_boxes = 4096; // that a thread takes at a time

/// Runs of the boxes of one piece.
struct Piece {
    std::vector<SlotRun> run;
    int32_t most = 0;
    int64_t total = 0, place = 0; // of its first run in the whole
};

/// Appends box b's runs; its number of runs stands at offset[b + 1] until the pieces are put together.
void add_box(const Structure& s, bool itself, bool others, int64_t b, HostRuns& runs, Piece& piece) {
    const size_t first_run = piece.run.size();
    int32_t m = 0;
    for (int64_t e = s.neighbour_offset[b]; e < s.neighbour_offset[b + 1]; ++e) {
        const int32_t other = s.neighbour[e];
        const bool own = s.same && other == b;
        if (own ? !itself : !others)
            continue;
        const auto begin = static_cast<int32_t>(s.source_offset[other]),
                   end = static_cast<int32_t>(s.source_offset[other + 1]);
        if (own && !runs.own.empty())
            runs.own[static_cast<size_t>(b)] = m;
        if (begin == end)
            continue;
        if (piece.run.size() > first_run && piece.run.back().y == begin)
            piece.run.back().y = end;
        else
            piece.run.push_back({begin, end});
        m += end - begin;
    }
    runs.sources[static_cast<size_t>(b)] = m;
    runs.offset[static_cast<size_t>(b) + 1] = static_cast<int64_t>(piece.run.size() - first_run);
    piece.most = std::max(piece.most, m);
    piece.total += m;
}

} // namespace

HostRuns merge_runs(const Structure& s, bool itself, bool others, int32_t threads) {
    HostRuns runs;
    const int64_t boxes = s.target_boxes();
    runs.offset.assign(static_cast<size_t>(boxes) + 1, 0);
    runs.sources.assign(static_cast<size_t>(boxes), 0);
    if (s.same && itself)
        runs.own.assign(static_cast<size_t>(boxes), -1);
    core::Memory memory;
    const backend::Executor executor{memory, backend::resolve_threads(threads)};
    std::vector<Piece> pieces(static_cast<size_t>((boxes + piece_boxes - 1) / piece_boxes));
    executor.for_blocks(boxes, piece_boxes, [&](int64_t begin, int64_t end, int) {
        Piece& piece = pieces[static_cast<size_t>(begin / piece_boxes)];
        for (int64_t b = begin; b < end; ++b)
            add_box(s, itself, others, b, runs, piece);
    });
    int64_t all = 0;
    for (Piece& piece : pieces) {
        piece.place = all, all += static_cast<int64_t>(piece.run.size());
        runs.most = std::max(runs.most, piece.most), runs.total += piece.total;
    }
    runs.run.resize(static_cast<size_t>(all));
    executor.for_blocks(boxes, piece_boxes, [&](int64_t begin, int64_t end, int) {
        const Piece& piece = pieces[static_cast<size_t>(begin / piece_boxes)];
        std::copy(piece.run.begin(), piece.run.end(), runs.run.begin() + piece.place);
        int64_t place = piece.place;
        for (int64_t b = begin; b < end; ++b)
            place = runs.offset[static_cast<size_t>(b) + 1] += place;
    });
    return runs;
}

} // namespace graft::kernels::near
