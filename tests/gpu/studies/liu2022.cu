// SPDX-License-Identifier: BSD-3-Clause
// liu2022, chapters 3 and 4, on this GPU: his two kernels, his buffers, beside ours, over the same lists.
//
// usage: study_liu2022 [n] [theta] [all|1d|2d|buffers]    (3,000,000 Plummer bodies, theta 0.7,
// quadrupoles, fp32). One JSON object a line: list lengths (his figure 4.1), 1-D and 2-D kernels and ours on
// whole lists, share of the atomic writes, buffers and threads (figures 4.2 and 4.4), BX and BY (figure 4.7),
// concurrency and launch gaps (figures 4.3 and 4.5), pinned against pageable memory (figure 3.3);
// `buffers`: the feed of deck key study.buffer, all sizes, beside the model's, and what it chooses. Times of
// kernels by events, median of 5 after a warm-up; of feeds by the host's clock, the median of 3 (of more than
// half a second once).
#include "liu2022_buffers.hpp"

#include "core/timer.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

using namespace liu2022;
using study::PaperFeedOptions;
using study::PaperFeedReport;

/// Interactions of one partition sorted by source, as his transposed walk appends them.
struct Interaction {
    int32_t group, source;
};
struct Walk {
    std::vector<std::vector<Interaction>> leaves, nodes; // per partition
};

std::vector<Interaction> by_source(const core::Buffer<int64_t>& offset, const core::Buffer<int32_t>& list,
                                   int64_t begin, int64_t end, int64_t sources) {
    std::vector<int64_t> place(static_cast<size_t>(sources + 1));
    for (int64_t e = offset[begin]; e < offset[end]; ++e)
        ++place[static_cast<size_t>(list[e] + 1)];
    for (size_t k = 1; k < place.size(); ++k)
        place[k] += place[k - 1];
    std::vector<Interaction> sorted(static_cast<size_t>(offset[end] - offset[begin]));
    for (int64_t g = begin; g < end; ++g)
        for (int64_t e = offset[g]; e < offset[g + 1]; ++e)
            sorted[static_cast<size_t>(place[static_cast<size_t>(list[e])]++)] = {static_cast<int32_t>(g),
                                                                                  list[e]};
    return sorted;
}

constexpr int partitions = 31; // his chares a process

int64_t partition_begin(const test::Scene& scene, int partition) {
    return scene.targets.group_count() * partition / partitions;
}

Walk walk_of(const test::Scene& scene) {
    Walk walk;
    const int64_t nodes = scene.tree.node_count();
    for (int p = 0; p < partitions; ++p) {
        const int64_t begin = partition_begin(scene, p), end = partition_begin(scene, p + 1);
        walk.leaves.push_back(by_source(scene.lists.leaf_offset, scene.lists.leaves, begin, end, nodes));
        walk.nodes.push_back(by_source(scene.lists.node_offset, scene.lists.nodes, begin, end, nodes));
    }
    return walk;
}

/// 1-D: the partitions take turns, a stretch of their walks each, as chares on a core do.
PaperFeedReport feed_pairs(Setting& on, const study::PaperView& view, const Walk& walk,
                           const PaperFeedOptions& options) {
    study::PaperFeed feed(on.queue.memory(), options);
    feed.begin(view);
    constexpr size_t stretch = 4096;
    bool more = true;
    for (size_t at = 0; more; at += stretch) {
        more = false;
        for (int p = 0; p < partitions; ++p)
            for (const bool leaf : {true, false}) {
                const auto& list = (leaf ? walk.leaves : walk.nodes)[static_cast<size_t>(p)];
                for (size_t k = at; k < std::min(at + stretch, list.size()); ++k)
                    feed.add(2 * p + leaf, leaf, list[k].group, list[k].source);
                more = more || at + stretch < list.size();
            }
    }
    return feed.finish();
}

/// 2-D: BX sources of one group at a time.
PaperFeedReport feed_tiles(Setting& on, const study::PaperView& view, const PaperFeedOptions& options) {
    study::PaperFeed feed(on.queue.memory(), options);
    feed.begin(view);
    const lists::InteractionLists& lists = on.scene.lists;
    const int64_t width = options.block_x;
    for (int64_t g = 0; g < lists.group_count(); ++g) {
        const int partition = static_cast<int>(g * partitions / lists.group_count());
        const auto send = [&](bool leaf, const core::Buffer<int32_t>& list, int64_t begin, int64_t end) {
            for (int64_t e = begin; e < end; e += width)
                feed.add_chunk(2 * partition + leaf, leaf, static_cast<int32_t>(g), list.data() + e,
                               static_cast<int>(std::min(width, end - e)));
        };
        send(true, lists.leaves, lists.leaf_offset[g], lists.leaf_offset[g + 1]);
        send(false, lists.nodes, lists.node_offset[g], lists.node_offset[g + 1]);
    }
    return feed.finish();
}

void print_lengths(const Setting& on, const char* name, const core::Buffer<int64_t>& offset) {
    std::vector<double> lengths;
    for (int64_t g = 0; g + 1 < offset.size(); ++g)
        lengths.push_back(static_cast<double>(offset[g + 1] - offset[g]));
    std::sort(lengths.begin(), lengths.end());
    const auto at = [&](double share) {
        return lengths[static_cast<size_t>(share * double(lengths.size() - 1))];
    };
    std::printf("{\"liu2022\":\"list lengths\",\"list\":\"%s\",\"leaf\":%d,\"groups\":%zu,\"min\":%.0f,"
                "\"q1\":%.0f,\"median\":%.0f,\"q3\":%.0f,\"p99\":%.0f,\"max\":%.0f,\"entries\":%lld}\n",
                name, on.scene.options.leaf, lengths.size(), at(0), at(0.25), at(0.5), at(0.75), at(0.99),
                at(1), static_cast<long long>(offset[offset.size() - 1]));
}

/// All interactions at once on the device, sorted by source; with atomic and with plain writes.
void print_atomics(Setting& on, const study::PaperView& view, const Walk& walk) {
    for (const bool leaf : {true, false}) {
        std::vector<int32_t> target, source;
        for (const auto& part : leaf ? walk.leaves : walk.nodes)
            for (const Interaction& i : part)
                target.push_back(i.group), source.push_back(i.source);
        const int64_t count = static_cast<int64_t>(target.size());
        backend::DeviceBuffer<int32_t> both(on.queue.memory(), "study pairs");
        both.resize(2 * count + 1);
        GRAFT_CUDA(cudaMemcpy(both.data(), target.data(), target.size() * 4, cudaMemcpyDefault));
        GRAFT_CUDA(cudaMemcpy(both.data() + count, source.data(), source.size() * 4, cudaMemcpyDefault));
        const study::PaperPairs pairs{both.data(), both.data() + count, count, nullptr};
        double time[2];
        for (const auto writes : {study::PaperWrites::atomic, study::PaperWrites::plain})
            time[static_cast<int>(writes)] = on.seconds_of([&] {
                if (leaf)
                    study::launch_leaf_pairs_1d(on.queue.stream(), 256, false, view, pairs, count, writes);
                else
                    study::launch_node_pairs_1d(on.queue.stream(), 256, 2, false, view, pairs, count,
                                                  writes);
            });
        std::printf("{\"liu2022\":\"atomics\",\"kernel\":\"%s\",\"pairs_of_nodes\":%lld,\"time_s\":%.5g,"
                    "\"without_atomics_s\":%.5g,\"share_of_atomics\":%.4f,\"his_share\":0.2}\n",
                    leaf ? "leaf" : "node", static_cast<long long>(count), time[0], time[1],
                    1 - time[1] / time[0]);
    }
}

void print_feed(const char* what, const PaperFeedOptions& o, int leaf,
                const std::function<PaperFeedReport(const PaperFeedOptions&)>& run) {
    std::vector<double> walls, calls;
    PaperFeedReport report;
    PaperFeedOptions plain = o;
    plain.trace = false;
    for (int k = 0; k < (k > 0 && walls[0] > 0.5 ? 1 : 3); ++k) { // long ones once
        report = run(plain);
        walls.push_back(report.wall_s), calls.push_back(report.copy_call_s);
    }
    Overlap overlap;
    if (o.trace)
        overlap = overlap_of(run(o).kernels);
    std::printf(
        "{\"liu2022\":\"%s\",\"kernel\":\"%s\",\"leaf\":%d,\"buffer\":%lld,\"threads\":%d,\"block_x\":%d,"
        "\"block_y\":%d,\"pinned\":%s,\"time_s\":%.5g,\"launches\":%lld,\"copy_calls_s\":%.4g,"
        "\"copied_bytes\":%lld",
        what, o.tiles ? "2-D" : "1-D", leaf, static_cast<long long>(o.buffer), o.threads, o.block_x,
        o.block_y, o.pinned ? "true" : "false", median_of(walls), static_cast<long long>(report.launches),
        median_of(calls), static_cast<long long>(report.bytes));
    if (o.trace)
        std::printf(",\"kernels_at_once\":%.2f,\"most_at_once\":%d,\"kernel_s\":%.4g,\"launch_gap_s\":%.4g",
                    overlap.average, overlap.most, overlap.kernel_s, overlap.host_gap_s);
    std::printf("}\n");
    std::fflush(stdout);
}

/// His figure 3.3: the call and the whole copy of interaction lists of several sizes.
void print_copies(backend::DeviceMemory& memory, backend::Queue& queue) {
    for (const int64_t bytes :
         {int64_t{8192}, int64_t{65536}, int64_t{1} << 18, int64_t{1} << 24, int64_t{1} << 27})
        for (const bool pinned : {true, false}) {
            backend::PinnedBuffer<char> locked(memory, "study");
            std::vector<char> plain(pinned ? 0 : static_cast<size_t>(bytes), 1);
            backend::DeviceBuffer<char> to(memory, "study");
            to.resize(bytes);
            if (pinned)
                locked.resize(bytes);
            const char* from = pinned ? locked.data() : plain.data();
            std::vector<double> calls, wholes;
            for (int k = 0; k < 21; ++k) {
                const core::Timer timer;
                GRAFT_CUDA(cudaMemcpyAsync(to.data(), from, static_cast<size_t>(bytes),
                                           cudaMemcpyHostToDevice, queue.stream()));
                calls.push_back(timer.seconds());
                queue.wait();
                wholes.push_back(timer.seconds());
            }
            std::printf(
                "{\"liu2022\":\"copies\",\"bytes\":%lld,\"pinned\":%s,\"call_s\":%.4g,\"copy_s\":%.4g,"
                "\"bytes_per_s\":%.4g}\n",
                static_cast<long long>(bytes), pinned ? "true" : "false", median_of(calls), median_of(wholes),
                static_cast<double>(bytes) / median_of(wholes));
        }
}

void study_pairs(Setting& on) {
    const int leaf = on.scene.options.leaf;
    print_lengths(on, "leaves", on.scene.lists.leaf_offset);
    print_lengths(on, "nodes", on.scene.lists.node_offset);
    print_kernel(on, "1-D", DeviceKernel::pairs_1d, 256, 0);
    print_kernel(on, "2-D", DeviceKernel::tiles_2d, 16, 32);
    print_kernel(on, "block per group (gaburov2010)", DeviceKernel::block_per_group, 0, 0);
    print_kernel(on, "ours", DeviceKernel::units, 0, 0);
    const study::PaperView view = on.prepare();
    PaperFeedOptions o;
    const Walk walk = walk_of(on.scene);
    print_atomics(on, view, walk);
    const auto run = [&](const PaperFeedOptions& with) { return feed_pairs(on, view, walk, with); };
    for (const int64_t buffer : {1024, 2048, 8192, 32768}) {
        o.buffer = buffer, o.threads = buffer == 1024 || buffer == 32768 ? 1024 : 256;
        o.trace = o.threads == 1024;
        print_feed("buffers", o, leaf, run);
    }
    o.trace = false;
    for (const int64_t buffer : {2048, 8192})
        for (const int threads : {64, 128, 512, 1024}) {
            o.buffer = buffer, o.threads = threads;
            print_feed("threads", o, leaf, run);
        }
    o.buffer = 8192, o.threads = 256, o.trace = true;
    for (const bool pinned : {true, false}) {
        o.pinned = pinned;
        print_feed("pinned", o, leaf, run);
    }
}

void study_tiles(Setting& on) {
    const int leaf = on.scene.options.leaf;
    for (const int block_x : {4, 8, 16, 32})
        if (block_x * leaf <= 1024)
            print_kernel(on, "2-D", DeviceKernel::tiles_2d, block_x, leaf);
    print_kernel(on, "1-D", DeviceKernel::pairs_1d, 256, 0);
    print_kernel(on, "ours", DeviceKernel::units, 0, 0);
    if (leaf != 32) // his best
        return;
    const study::PaperView view = on.prepare();
    PaperFeedOptions o;
    o.tiles = true, o.block_y = leaf;
    for (const int64_t buffer : {512, 1024, 8192, 32768}) {
        o.buffer = buffer;
        print_feed("tiles", o, leaf,
                   [&](const PaperFeedOptions& with) { return feed_tiles(on, view, with); });
    }
}

int run(int64_t n, double theta, const std::string& what) {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::fprintf(stderr, "study_liu2022: no CUDA device\n");
        return 77;
    }
    cudaDeviceProp properties;
    GRAFT_CUDA(cudaGetDeviceProperties(&properties, 0));
    std::printf("{\"liu2022\":\"setting\",\"device\":\"%s\",\"n\":%lld,\"theta\":%g,\"order\":2}\n",
                properties.name, static_cast<long long>(n), theta);
    backend::DeviceMemory memory(0);
    backend::Queue queue(memory, nullptr);
    queue.clear_status();
    const test::Particles bodies = test::plummer_sphere(n);
    if (what == "buffers") {
        Setting on(memory, queue, bodies, 32, theta);
        for (const bool tiles : {false, true})
            FedStudy(on, tiles).run();
        return 0;
    }
    print_copies(memory, queue);
    if (what != "2d") {
        Setting on(memory, queue, bodies, 32, theta);
        study_pairs(on);
    }
    for (const int leaf : {32, 16, 64}) {
        if (what == "1d")
            break;
        Setting on(memory, queue, bodies, leaf, theta);
        study_tiles(on);
    }
    return 0;
}

} // namespace

int main(int count, char** words) {
    try {
        return run(count > 1 ? std::atoll(words[1]) : 3000000, count > 2 ? std::atof(words[2]) : 0.7,
                   count > 3 ? words[3] : "all");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "study_liu2022: %s\n", error.what());
        return 1;
    }
}
