// liu2022, chapters 3 and 4, on this GPU: his two kernels, his buffers, beside ours, over the same lists.
//
// usage: study_liu2022 [n] [theta] [all|1d|2d|buffers-1d|buffers-2d]    (3,000,000 Plummer bodies, theta 0.7,
// quadrupoles, fp32). One JSON object a line: list lengths (his figure 4.1), 1-D and 2-D kernels and ours on
// whole lists, share of the atomic writes, buffers and threads (figures 4.2 and 4.4), BX and BY (figure 4.7),
// concurrency and launch gaps (figures 4.3 and 4.5), pinned against pageable memory (figure 3.3);
// `buffers-*`: all sizes, beside the model's, and what model and trial choose. Times of kernels by events,
// median of 5 after a warm-up; of feeds by the host's clock, the median of 3 (more than half a second, and
// `buffers-*`: once).
#include "../kernels/evaluate_scene.hpp"
#include "kernels/device_paper_feed.cuh"

#include "core/timer.hpp"
#include "model/paper_blocks.hpp"

#include <cstdio>
#include <cstdlib>
#include <functional>

namespace {

using namespace graft;
using kernels::DeviceKernel;
using kernels::PaperFeedOptions;
using kernels::PaperFeedReport;

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

/// Tree, lists and everything on the device for one size of leaves and groups.
struct Setting {
    Setting(backend::DeviceMemory& memory, backend::Queue& on, const test::Particles& bodies, int leaf,
            double theta)
        : queue(on), scene(bodies, options(leaf, theta)), device(memory), field(memory), work(memory),
          evaluator(memory) {
        device.upload(queue, scene);
        field.resize(scene.targets.count(), false);
    }
    static test::SceneOptions options(int leaf, double theta) {
        test::SceneOptions o;
        o.leaf = leaf, o.group = leaf, o.theta = theta, o.direct_count = 0;
        return o;
    }
    kernels::DeviceEvaluation how(DeviceKernel kernel) const {
        kernels::DeviceEvaluation h;
        h.precision = kernels::DevicePrecision::fp32, h.kernel = kernel;
        h.order = scene.options.order, h.group = scene.options.group, h.leaf = scene.options.leaf;
        return h;
    }
    kernels::PaperView prepare() {
        return kernels::prepare_paper(work, queue, how(DeviceKernel::pairs_1d), device.tree, device.moments,
                                      device.targets, device.lists);
    }
    double seconds_of(const std::function<void()>& body, int repetitions = 5) {
        cudaEvent_t begin, end;
        GRAFT_CUDA(cudaEventCreate(&begin));
        GRAFT_CUDA(cudaEventCreate(&end));
        std::vector<double> times;
        for (int k = 0; k <= repetitions; ++k) {
            GRAFT_CUDA(cudaEventRecord(begin, queue.stream()));
            body();
            GRAFT_CUDA(cudaEventRecord(end, queue.stream()));
            queue.wait();
            float milliseconds = 0;
            GRAFT_CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
            if (k > 0)
                times.push_back(1e-3 * static_cast<double>(milliseconds));
        }
        (void)cudaEventDestroy(begin);
        (void)cudaEventDestroy(end);
        return median_of(times);
    }
    /// A whole evaluation from lists on the device, as `auto` and cuda.kernel run it.
    double evaluate(const kernels::DeviceEvaluation& h) {
        const auto once = [&] {
            evaluator.evaluate(queue, h, device.tree, device.moments, device.targets, device.lists, field);
        };
        for (int attempt = 0; attempt < 3; ++attempt) {
            queue.clear_status();
            once();
            queue.fetch_status();
            queue.wait();
            const backend::DeviceStatus& words = queue.fetched_status();
            if (words.stop == backend::go)
                break;
            evaluator.reserve(words.units_needed, words.slots_needed);
        }
        pairs = queue.fetched_status().pairs, cells = queue.fetched_status().cells;
        return seconds_of(once);
    }

    backend::Queue& queue;
    test::Scene scene;
    test::DeviceScene device;
    kernels::DeviceField field;
    kernels::VariantWork work;
    kernels::DeviceEvaluator evaluator;
    double pairs = 0, cells = 0;
};

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

int64_t partition_begin(const test::Scene& scene, int partition, int partitions) {
    return scene.targets.group_count() * partition / partitions;
}

Walk walk_of(const test::Scene& scene, int partitions) {
    Walk walk;
    const int64_t nodes = scene.tree.node_count();
    for (int p = 0; p < partitions; ++p) {
        const int64_t begin = partition_begin(scene, p, partitions),
                      end = partition_begin(scene, p + 1, partitions);
        walk.leaves.push_back(by_source(scene.lists.leaf_offset, scene.lists.leaves, begin, end, nodes));
        walk.nodes.push_back(by_source(scene.lists.node_offset, scene.lists.nodes, begin, end, nodes));
    }
    return walk;
}

/// 1-D: the partitions take turns, a stretch of their walks each, as chares on a core do.
PaperFeedReport feed_pairs(Setting& on, const kernels::PaperView& view, const Walk& walk,
                           const PaperFeedOptions& options) {
    kernels::PaperFeed feed(on.queue.memory(), view, options);
    constexpr size_t stretch = 4096;
    bool more = true;
    for (size_t at = 0; more; at += stretch) {
        more = false;
        for (int p = 0; p < options.partitions; ++p)
            for (const bool leaf : {true, false}) {
                const auto& list = (leaf ? walk.leaves : walk.nodes)[static_cast<size_t>(p)];
                for (size_t k = at; k < std::min(at + stretch, list.size()); ++k)
                    feed.add(p, leaf, list[k].group, list[k].source);
                more = more || at + stretch < list.size();
            }
    }
    return feed.finish();
}

/// 2-D: BX sources of one group at a time.
PaperFeedReport feed_tiles(Setting& on, const kernels::PaperView& view, const PaperFeedOptions& options) {
    kernels::PaperFeed feed(on.queue.memory(), view, options);
    const lists::InteractionLists& lists = on.scene.lists;
    const int64_t width = options.block_x;
    for (int64_t g = 0; g < lists.group_count(); ++g) {
        const int partition = static_cast<int>(g * options.partitions / lists.group_count());
        const auto send = [&](bool leaf, const core::Buffer<int32_t>& list, int64_t begin, int64_t end) {
            for (int64_t e = begin; e < end; e += width)
                feed.add_chunk(partition, leaf, static_cast<int32_t>(g), list.data() + e,
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

void print_kernel(Setting& on, const char* name, DeviceKernel kernel, int block_x, int block_y) {
    kernels::DeviceEvaluation h = on.how(kernel);
    h.block_x = block_x, h.block_y = block_y;
    const double time = on.evaluate(h);
    std::printf("{\"liu2022\":\"kernels\",\"kernel\":\"%s\",\"leaf\":%d,\"block_x\":%d,\"block_y\":%d,"
                "\"time_s\":%.5g,\"pairs\":%.4g,\"cells\":%.4g,\"interactions_per_s\":%.4g}\n",
                name, on.scene.options.leaf, block_x, block_y, time, on.pairs, on.cells,
                (on.pairs + on.cells) / time);
    std::fflush(stdout);
}

/// All interactions at once on the device, sorted by source; with atomic and with plain writes.
void print_atomics(Setting& on, const kernels::PaperView& view, const Walk& walk) {
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
        const kernels::PaperPairs pairs{both.data(), both.data() + count, count, nullptr};
        double time[2];
        for (const auto writes : {kernels::PaperWrites::atomic, kernels::PaperWrites::plain})
            time[static_cast<int>(writes)] = on.seconds_of([&] {
                if (leaf)
                    kernels::launch_leaf_pairs_1d(on.queue.stream(), 256, false, view, pairs, count, writes);
                else
                    kernels::launch_node_pairs_1d(on.queue.stream(), 256, 2, false, view, pairs, count,
                                                  writes);
            });
        std::printf("{\"liu2022\":\"atomics\",\"kernel\":\"%s\",\"pairs_of_nodes\":%lld,\"time_s\":%.5g,"
                    "\"without_atomics_s\":%.5g,\"share_of_atomics\":%.4f,\"his_share\":0.2}\n",
                    leaf ? "leaf" : "node", static_cast<long long>(count), time[0], time[1],
                    1 - time[1] / time[0]);
    }
}

struct Overlap {
    double average = 0, kernel_s = 0, host_gap_s = 0;
    int most = 0;
};

/// How many kernels were between their begin and end at a time; medians of their length and of the time from
/// one launch of a kind to the next.
Overlap overlap_of(const std::vector<kernels::PaperLaunch>& kernels) {
    Overlap overlap;
    std::vector<std::pair<double, int>> edges;
    std::vector<double> lengths, gaps;
    double busy = 0, sum = 0, last[2] = {-1, -1};
    for (const kernels::PaperLaunch& k : kernels) {
        edges.push_back({k.begin_s, 1}), edges.push_back({k.end_s, -1});
        lengths.push_back(k.end_s - k.begin_s);
        sum += lengths.back();
        double& before = last[k.leaves];
        if (before >= 0)
            gaps.push_back(k.host_s - before);
        before = k.host_s;
    }
    std::sort(edges.begin(), edges.end());
    int now = 0;
    for (size_t k = 0; k < edges.size(); ++k) {
        if (k > 0 && now > 0)
            busy += edges[k].first - edges[k - 1].first;
        now += edges[k].second;
        overlap.most = std::max(overlap.most, now);
    }
    overlap.average = busy > 0 ? sum / busy : 0;
    overlap.kernel_s = median_of(lengths), overlap.host_gap_s = median_of(gaps);
    return overlap;
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
    const kernels::PaperView view = on.prepare();
    PaperFeedOptions o;
    const Walk walk = walk_of(on.scene, o.partitions);
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
    const kernels::PaperView view = on.prepare();
    PaperFeedOptions o;
    o.tiles = true, o.block_y = leaf;
    for (const int64_t buffer : {512, 1024, 8192, 32768}) {
        o.buffer = buffer;
        print_feed("tiles", o, leaf,
                   [&](const PaperFeedOptions& with) { return feed_tiles(on, view, with); });
    }
}

/// The lists in the model's words.
model::PaperWork work_of(const Setting& on) {
    const test::Scene& scene = on.scene;
    double sources = 0;
    for (int64_t e = 0; e < scene.lists.leaves.size(); ++e)
        sources += static_cast<double>(scene.tree.nodes[scene.lists.leaves[e]].count);
    const auto entries = static_cast<double>(scene.lists.leaves.size());
    return {scene.options.leaf,
            scene.options.group,
            scene.options.order,
            static_cast<double>(scene.targets.count()),
            static_cast<double>(scene.targets.group_count()),
            entries,
            static_cast<double>(scene.lists.nodes.size()),
            entries > 0 ? sources / entries : 0};
}

/// All buffers, predicted and measured; the model's choice, and that of a trial of its three best, two
/// rounds.
void study_buffers(const PaperFeedOptions& base, const model::PaperFeedWork& work,
                   const std::function<PaperFeedReport(const PaperFeedOptions&)>& run) {
    constexpr double most_bytes = 1e9, least = 1024;
    constexpr size_t contenders = 3;
    auto seconds = [&, o = base](const model::PaperBuffer& one) mutable {
        o.buffer = static_cast<int64_t>(one.interactions);
        return run(o).wall_s;
    };
    const std::vector<model::PaperBuffer> ranked = model::rank_paper_buffers(work, most_bytes, {});
    seconds(ranked[0]); // touches the memory
    std::vector<double> trial_s(contenders, 1e9), wall_s;
    for (size_t k = 0; k < 2 * contenders; ++k)
        trial_s[k % contenders] = std::min(trial_s[k % contenders], seconds(ranked[k % contenders]));
    const auto least_of = [](const std::vector<double>& all) {
        return static_cast<size_t>(std::min_element(all.begin(), all.end()) - all.begin());
    };
    for (const model::PaperBuffer& one : ranked) {
        wall_s.push_back(one.interactions < least ? 1e9 : seconds(one));
        std::printf("{\"liu2022\":\"buffer model\",\"kernel\":\"%s\",\"buffer\":%.0f,\"time_s\":%.5g,"
                    "\"predicted_s\":{\"total\":%.5g,\"host\":%.5g,\"fill\":%.5g,\"device\":%.5g,"
                    "\"drain\":%.5g},\"launches\":%.0f,\"interactions\":%.6g}\n",
                    base.tiles ? "2-D" : "1-D", one.interactions, wall_s.back(), one.times.total_s(),
                    one.times.host_s, one.times.fill_s, one.times.device_s, one.times.drain_s,
                    one.times.launches, work.interactions);
        std::fflush(stdout);
    }
    const size_t best = least_of(wall_s), tried = least_of(trial_s);
    std::printf("{\"liu2022\":\"buffer choice\",\"kernel\":\"%s\",\"best\":%.0f,\"best_s\":%.5g,"
                "\"model\":%.0f,\"model_regret\":%.3f,\"trial\":%.0f,\"trial_regret\":%.3f}\n",
                base.tiles ? "2-D" : "1-D", ranked[best].interactions, wall_s[best], ranked[0].interactions,
                wall_s[0] / wall_s[best] - 1, ranked[tried].interactions, wall_s[tried] / wall_s[best] - 1);
}

void study_feeds(Setting& on, bool tiles) {
    constexpr double pair_entry_s = 5.5e-9, chunk_entry_s = 1e-9; // the host appends one, on an H200's
    const kernels::PaperView view = on.prepare();
    const model::PaperWork work = work_of(on);
    PaperFeedOptions o;
    model::PaperFeedWork feed;
    feed.streams = 2 * o.partitions;
    feed.interactions = work.leaf_entries + work.node_entries, feed.entry_s = pair_entry_s;
    if (!tiles) {
        const Walk walk = walk_of(on.scene, o.partitions);
        feed.device_s = model::pairs_1d_s(work, o.threads, {});
        return study_buffers(o, feed, [&](const auto& with) { return feed_pairs(on, view, walk, with); });
    }
    o.tiles = true, o.block_y = on.scene.options.leaf;
    feed.interactions += o.block_x * work.groups; // the last chunks of both lists of a group are filled up
    feed.words = 1 + 1.0 / o.block_x, feed.entry_s = chunk_entry_s, feed.in_turns = false;
    feed.device_s = model::tiles_2d_s(work, {o.block_x, o.block_y}, {});
    study_buffers(o, feed, [&](const auto& with) { return feed_tiles(on, view, with); });
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
    if (what == "buffers-1d" || what == "buffers-2d") {
        Setting on(memory, queue, bodies, 32, theta);
        study_feeds(on, what == "buffers-2d");
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
