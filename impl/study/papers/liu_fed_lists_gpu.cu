// SPDX-License-Identifier: BSD-3-Clause
// See liu_fed_lists_gpu.cuh. Bytes an interaction: 4 to the host, 8 back (2-D: 4 and 4 / BX).
#include "study/papers/liu_fed_lists_gpu.cuh"

#include "core/timer.hpp"

#include <algorithm>

namespace graft::study {

namespace {

constexpr int64_t piece = int64_t{1} << 20; // entries of the lists that come at a time

} // namespace

struct FedEvaluator::Work {
    explicit Work(backend::DeviceMemory& on)
        : memory(on), packed(on), group_count(on, "group count"), offsets(on, "list offsets on the host"),
          entries(on, "pieces of lists on the host") {}
    backend::DeviceMemory& memory;
    VariantBuffers packed;
    backend::PinnedBuffer<int32_t> group_count;
    backend::PinnedBuffer<int64_t> offsets; // of leaves, then of nodes
    backend::PinnedBuffer<int32_t> entries; // two pieces
    std::unique_ptr<PaperFeed> feed;
    forces::FedReport report;
    std::vector<PaperLaunch> traced;
    double fetch_s = 0;

    /// A feed with these options: the last one, if it had the same.
    PaperFeed& feed_with(const PaperFeedOptions& options) {
        if (feed == nullptr || feed->options() != options) {
            feed.reset(); // its memory first
            feed = std::make_unique<PaperFeed>(memory, options);
        }
        return *feed;
    }

    void wait_for_piece(backend::Queue& queue) {
        const core::Timer timer;
        queue.wait();
        fetch_s += timer.seconds();
    }

    /// One kind of lists of the groups from `first` on.
    void feed_lists(backend::Queue& queue, bool leaf, const int64_t* offset, const int32_t* on_device,
                    int64_t groups, int64_t first) {
        const int64_t all = offset[groups];
        const auto fetch = [&](int64_t begin) {
            GRAFT_CUDA(cudaMemcpyAsync(entries.data() + begin / piece % 2 * piece, on_device + begin,
                                       static_cast<size_t>(std::min(piece, all - begin)) * sizeof(int32_t),
                                       cudaMemcpyDeviceToHost, queue.stream()));
        };
        int64_t g = 0;
        for (int64_t begin = 0; begin < all; begin += piece) {
            if (begin == 0)
                fetch(0);
            wait_for_piece(queue);
            if (begin + piece < all)
                fetch(begin + piece);
            const int32_t* const here = entries.data() + begin / piece % 2 * piece;
            for (int64_t at = begin, end = std::min(begin + piece, all); at < end;) {
                while (offset[g + 1] <= at)
                    ++g;
                const int64_t last = std::min(offset[g + 1], end);
                feed->add_list(leaf, static_cast<int32_t>(first + g), here + (at - begin), last - at);
                at = last;
            }
        }
        feed->end_turn(leaf);
    }
};

FedEvaluator::FedEvaluator(backend::DeviceMemory& memory) : work_(std::make_unique<Work>(memory)) {}
FedEvaluator::~FedEvaluator() = default;

void FedEvaluator::evaluate(backend::Queue& queue, const forces::DeviceEvaluation& how, int64_t buffer,
                            const tree::DeviceTree& tree, const moments::DeviceMoments& moments,
                            const lists::DeviceTargets& targets, const lists::DeviceLists& lists,
                            forces::DeviceField& field, bool trace) {
    Work& w = *work_;
    w.report = {};
    w.traced.clear();
    w.fetch_s = 0;
    check_paper_variant("liu2022's kernels fed by the host", how, false);
    if (targets.n == 0)
        return;
    const PaperView view = prepare_paper(w.packed, queue, how, tree, moments, targets, lists);
    count_paper(queue, view, std::max<int64_t>(targets.groups.size(), 1));
    w.group_count.resize(1);
    GRAFT_CUDA(cudaMemcpyAsync(w.group_count.data(), view.group_count, sizeof(int32_t),
                               cudaMemcpyDeviceToHost, queue.stream()));
    queue.fetch_status();
    queue.wait();
    if (queue.fetched_status().stop != backend::go)
        return;
    PaperFeedOptions options;
    options.tiles = how.kernel == forces::DeviceKernel::tiles_2d;
    const PaperBlock block = paper_block(how);
    options.threads = options.block_x = block.x, options.block_y = block.y;
    options.buffer = options.tiles ? std::max<int64_t>(buffer, block.x) : buffer;
    options.lanes = feed_lanes, options.order = how.order, options.potential = how.pairs.potential;
    options.trace = trace;
    PaperFeed& feed = w.feed_with(options);
    const int64_t all = *w.group_count.data(), first = lists::batch_begin(all, lists.batch, lists.batches),
                  groups = lists::batch_begin(all, lists.batch + 1, lists.batches) - first;
    w.offsets.resize(2 * (groups + 1));
    w.entries.resize(2 * piece);
    int64_t *of_leaves = w.offsets.data(), *of_nodes = of_leaves + groups + 1;
    feed.begin(view);
    const core::Timer timer;
    for (const auto& [to, from] : {std::pair{of_leaves, view.leaf_offset}, {of_nodes, view.node_offset}})
        GRAFT_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(groups + 1) * sizeof(int64_t),
                                   cudaMemcpyDeviceToHost, queue.stream()));
    w.wait_for_piece(queue);
    w.feed_lists(queue, true, of_leaves, view.leaf_list, groups, first);
    w.feed_lists(queue, false, of_nodes, view.node_list, groups, first);
    const double filled_s = timer.seconds();
    PaperFeedReport done = feed.finish();
    queue.launches += done.launches;
    finish_paper(queue, view, how.add, how.pairs.potential, targets.n, field);
    w.report.buffer = options.buffer, w.report.launches = done.launches;
    w.report.leaf_entries = of_leaves[groups], w.report.node_entries = of_nodes[groups];
    w.report.groups = groups;
    w.report.wall_s = done.wall_s, w.report.call_s = done.call_s;
    w.report.wait_s = done.wait_s + w.fetch_s;
    w.report.append_s = std::max(0.0, filled_s - w.report.call_s - w.report.wait_s);
    w.traced = std::move(done.kernels);
}

const forces::FedReport& FedEvaluator::report() const {
    return work_->report;
}

const std::vector<PaperLaunch>& FedEvaluator::traced() const {
    return work_->traced;
}

} // namespace graft::study
