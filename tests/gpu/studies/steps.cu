// SPDX-License-Identifier: BSD-3-Clause
// Where the time of a force evaluation goes, step by step, each measured alone on data that lies on the
// device: sort, tree (sort included), moments and expansions, targets, criterion, walk, P2P, M2P, and both
// together.
//
//   study_steps [--n 1e6] [--ic plummer|uniform] [--accuracy 9.5e-4 | --theta 0.5] [--leaf 64] [--group 64]
//               [--order 2] [--repeat 7] [--walks]
//
// One JSON object on standard output: seconds by events (median after two to warm up) and the counts from
// which tests/gpu/report.py makes the floors. P2P alone is an evaluation whose lists hold no cells, M2P alone
// one whose lists hold no leaves: each with its own cutting into tasks and gathering. --walks: the three
// walks beside each other, too (gaburov2010's is "thread"). Points are made on the device, with other random
// numbers than `graft bench force`; times of import and output are measured there.
#include "backend/primitives_gpu.cuh"
#include "forces/evaluate_gpu.cuh"
#include "lists/field_estimate_gpu.cuh"
#include "essential/forest.hpp"
#include "study.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>

namespace {

using namespace graft;
using backend::DeviceBuffer;

constexpr int threads = 256, most_attempts = 6;

__device__ double uniform_number(uint64_t counter) { // splitmix64
    uint64_t z = counter * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (static_cast<double>((z ^ (z >> 31)) >> 11) + 0.5) * 0x1p-53;
}

__global__ void make_points(bool plummer, int64_t n, double* x, double* y, double* z, double* charge) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const auto first = static_cast<uint64_t>(3 * i + 1);
    const double a = uniform_number(first), b = uniform_number(first + 1), c = uniform_number(first + 2);
    charge[i] = 1.0 / static_cast<double>(n);
    if (!plummer) {
        x[i] = a, y[i] = b, z[i] = c;
        return;
    }
    const double r = 1 / sqrt(pow(a, -2.0 / 3) - 1), cosine = 2 * b - 1, s = r * sqrt(1 - cosine * cosine);
    x[i] = s * cospi(2 * c), y[i] = s * sinpi(2 * c), z[i] = r * cosine;
}

/// The tree's sorted keys back into the order of the input.
__global__ void scatter_keys(const uint64_t* sorted, const int32_t* place, int64_t n, uint64_t* keys) {
    const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n)
        keys[place[i]] = sorted[i];
}

/// What is measured, from words of the command line.
struct Case {
    int64_t n;
    bool plummer;
    int repeats;
    settings::Settings settings;
    explicit Case(const study::Words& words)
        : n(static_cast<int64_t>(words.number("n", 1e6))), plummer(words.text("ic", "plummer") == "plummer"),
          repeats(static_cast<int>(words.number("repeat", 7))) {
        settings.precision = settings::Precision::fp32;
        settings.accuracy = words.number("accuracy", 9.5e-4);
        if (words.has("theta"))
            settings.mac = settings::MacType::box, settings.theta = words.number("theta", 0.5);
        settings.leaf = static_cast<int>(words.number("leaf", 64));
        settings.group = static_cast<int>(words.number("group", 64));
        settings.order = static_cast<int>(words.number("order", 2));
    }
};

class Steps {
  public:
    Steps(backend::DeviceMemory& memory, backend::Queue& queue, const Case& what)
        : queue_(queue), what_(what), x_(memory, "x"), y_(memory, "y"), z_(memory, "z"),
          charge_(memory, "charge"), tree_(memory), moments_(memory), targets_(memory), criterion_(memory),
          lists_(memory), none_(memory, "no entries"), field_(memory), builder_(memory), maker_(memory),
          estimate_(memory), walker_(memory), evaluator_(memory) {
        for (DeviceBuffer<double>* values : {&x_, &y_, &z_, &charge_})
            values->resize(what.n);
        make_points<<<backend::blocks_for(what.n, threads), threads, 0, queue.stream()>>>(
            what.plummer, what.n, x_.data(), y_.data(), z_.data(), charge_.data());
        GRAFT_CUDA_LAUNCHED("make_points");
        field_.resize(what.n, false);
        const int64_t groups = 3 * what.n / what.settings.group + 64;
        targets_.groups.resize(groups);
        lists_.nodes.resize(std::max<int64_t>(1000 * groups, 1024));
        lists_.leaves.resize(std::max<int64_t>(100 * groups, 1024));
        enlarge_until_it_fits();
    }

    double build() {
        return seconds_of([&] { build_once(); });
    }
    double moments() {
        return seconds_of([&] { sum_once(); });
    }
    double targets() {
        return seconds_of([&] { targets_once(); });
    }
    double criterion() {
        return seconds_of([&] { criterion_once(); });
    }
    double walk(lists::DeviceWalk kind) {
        return seconds_of([&] { walk_once(kind); });
    }
    /// The first pass alone: with no room for entries the walk stops behind its scan.
    double count(lists::DeviceWalk kind) {
        const int64_t nodes = lists_.nodes.size(), leaves = lists_.leaves.size();
        lists_.nodes.resize(0), lists_.leaves.resize(0);
        const double time = seconds_of([&] {
            queue_.clear_status();
            walk_once(kind);
        });
        lists_.nodes.resize(nodes), lists_.leaves.resize(leaves);
        queue_.clear_status();
        return time;
    }
    double pairs_alone() { return without(lists_.node_offset); }
    double cells_alone() { return without(lists_.leaf_offset); }
    double evaluation() {
        return seconds_of([&] { evaluate_once(); });
    }
    /// CUB's radix sort of the keys in the order of the input, and their indices.
    double sort(backend::DeviceMemory& memory) {
        DeviceBuffer<uint64_t> keys(memory, "keys"), sorted(memory, "sorted keys");
        DeviceBuffer<int32_t> index(memory, "index"), order(memory, "order");
        keys.resize(what_.n), sorted.resize(what_.n), index.resize(what_.n), order.resize(what_.n);
        GRAFT_CUDA(cudaMemcpyAsync(index.data(), tree_.order.data(),
                                   sizeof(int32_t) * static_cast<size_t>(what_.n), cudaMemcpyDeviceToDevice,
                                   queue_.stream()));
        scatter_keys<<<backend::blocks_for(what_.n, threads), threads, 0, queue_.stream()>>>(
            tree_.keys.data(), tree_.order.data(), what_.n, keys.data());
        GRAFT_CUDA_LAUNCHED("scatter_keys");
        return seconds_of([&] {
            backend::sort_pairs(queue_, keys.data(), sorted.data(), index.data(), order.data(), what_.n, 0,
                                63);
        });
    }
    backend::DeviceStatus counts;

  private:
    void build_once() {
        tree::TreeOptions options;
        options.leaf = what_.settings.leaf;
        builder_.build(queue_, options, {what_.n, x_.data(), y_.data(), z_.data(), charge_.data(), nullptr},
                       tree_);
    }
    void sum_once() {
        moments::compute_moments(queue_, tree_, what_.settings.order, moments_);
        moments::fill_expansion(queue_, tree_, false, false, moments_);
    }
    void targets_once() { maker_.set_all(queue_, tree_, what_.settings.group, targets_); }
    void criterion_once() {
        const bool error = what_.settings.mac == settings::MacType::error;
        if (error)
            estimate_.prepare(queue_, what_.settings, false, tree_, moments_);
        lists::fill_criterion(queue_, tree_, moments_, essential::criterion_options(what_.settings),
                              error ? estimate_.reach() : nullptr, criterion_);
        if (error)
            estimate_.scale_groups(queue_, what_.settings, false, targets_, &tree_, false);
    }
    void walk_once(lists::DeviceWalk kind) {
        walker_.build(queue_, tree_, criterion_, targets_, kind, 0, 1, lists_);
    }
    void evaluate_once() {
        forces::DeviceEvaluation how;
        how.precision = forces::DevicePrecision::fp32;
        how.order = what_.settings.order, how.leaf = what_.settings.leaf, how.group = what_.settings.group;
        evaluator_.evaluate(queue_, how, tree_, moments_, targets_, lists_, field_);
    }
    /// An evaluation whose lists of one kind are empty.
    double without(DeviceBuffer<int64_t>& offset) {
        none_.resize(offset.size());
        GRAFT_CUDA(cudaMemsetAsync(none_.data(), 0, static_cast<size_t>(none_.size()) * sizeof(int64_t),
                                   queue_.stream()));
        none_.swap(offset);
        const double time = evaluation();
        none_.swap(offset);
        return time;
    }

    /// All steps, again with larger buffers while one was too small.
    void enlarge_until_it_fits() {
        for (int attempt = 0;; ++attempt) {
            queue_.clear_status();
            build_once(), sum_once(), targets_once(), criterion_once();
            walk_once(lists::DeviceWalk::warp_per_group);
            evaluate_once();
            queue_.fetch_status();
            queue_.wait();
            counts = queue_.fetched_status();
            if (counts.stop == backend::go)
                return;
            if (attempt == most_attempts || counts.stop != backend::too_small)
                core::fail(core::Status::internal, "the steps stop for reason %llu after %d attempts",
                           static_cast<unsigned long long>(counts.stop), attempt);
            grow();
        }
    }
    void grow() {
        const auto with_room = [](int64_t needed) { return needed + needed / 20 + 64; };
        if (counts.nodes_needed > tree_.node_capacity())
            tree_.resize_nodes(with_room(counts.nodes_needed));
        if (counts.groups_needed > targets_.groups.size())
            targets_.groups.resize(with_room(counts.groups_needed));
        if (counts.node_entries_needed > lists_.nodes.size())
            lists_.nodes.resize(with_room(counts.node_entries_needed));
        if (counts.leaf_entries_needed > lists_.leaves.size())
            lists_.leaves.resize(with_room(counts.leaf_entries_needed));
        evaluator_.reserve(counts.tasks_needed, counts.slots_needed);
    }

    double seconds_of(const std::function<void()>& work) {
        cudaEvent_t begin, end;
        GRAFT_CUDA(cudaEventCreate(&begin));
        GRAFT_CUDA(cudaEventCreate(&end));
        std::vector<float> times_ms;
        for (int run = -2; run < what_.repeats; ++run) {
            GRAFT_CUDA(cudaEventRecord(begin, queue_.stream()));
            work();
            GRAFT_CUDA(cudaEventRecord(end, queue_.stream()));
            queue_.wait();
            float time_ms = 0;
            GRAFT_CUDA(cudaEventElapsedTime(&time_ms, begin, end));
            if (run >= 0)
                times_ms.push_back(time_ms);
        }
        (void)cudaEventDestroy(begin);
        (void)cudaEventDestroy(end);
        std::sort(times_ms.begin(), times_ms.end());
        return 1e-3 * static_cast<double>(times_ms[times_ms.size() / 2]);
    }

    backend::Queue& queue_;
    const Case& what_;
    DeviceBuffer<double> x_, y_, z_, charge_;
    tree::DeviceTree tree_;
    moments::DeviceMoments moments_;
    lists::DeviceTargets targets_;
    lists::DeviceCriterion criterion_;
    lists::DeviceLists lists_;
    DeviceBuffer<int64_t> none_;
    forces::DeviceField field_;
    tree::DeviceTreeBuilder builder_;
    lists::DeviceTargetMaker maker_;
    lists::DeviceEstimate estimate_;
    lists::DeviceListBuilder walker_;
    forces::DeviceEvaluator evaluator_;
};

std::string walks_json(Steps& steps) {
    constexpr const char* names[] = {"thread", "warp", "super"};
    std::string whole, first;
    for (int kind = 0; kind < 3; ++kind) {
        char text[48];
        const auto walk = static_cast<lists::DeviceWalk>(kind);
        std::snprintf(text, sizeof text, "%s\"%s\":%.6g", kind > 0 ? "," : "", names[kind], steps.walk(walk));
        whole += text;
        std::snprintf(text, sizeof text, "%s\"%s\":%.6g", kind > 0 ? "," : "", names[kind],
                      steps.count(walk));
        first += text;
    }
    return ",\"walk_s\":{" + whole + "},\"count_s\":{" + first + "}";
}

void print(const Case& what, const study::Words& words, backend::DeviceMemory& memory, Steps& steps) {
    const double sort = steps.sort(memory), build = steps.build(), moments = steps.moments(),
                 targets = steps.targets(), criterion = steps.criterion(),
                 walk = steps.walk(lists::DeviceWalk::warp_per_group), both = steps.evaluation(),
                 p2p = steps.pairs_alone(), m2p = steps.cells_alone();
    const std::string walks = words.has("walks") ? walks_json(steps) : "";
    const backend::DeviceStatus& c = steps.counts;
    const bool error = what.settings.mac == settings::MacType::error;
    std::printf("{\"study\":\"steps\",\"n\":%lld,\"ic\":\"%s\",\"leaf\":%d,\"group\":%d,\"order\":%d,"
                "\"mac\":\"%s\",\"limit\":%g,\"time_s\":{\"sort\":%.6g,\"tree\":%.6g,\"moments\":%.6g,"
                "\"targets\":%.6g,"
                "\"criterion\":%.6g,\"walk\":%.6g,\"p2p\":%.6g,\"m2p\":%.6g,\"forces\":%.6g}%s",
                static_cast<long long>(what.n), what.plummer ? "plummer" : "uniform", what.settings.leaf,
                what.settings.group, what.settings.order, error ? "error" : "box",
                error ? what.settings.accuracy : what.settings.theta, sort, build, moments, targets,
                criterion, walk, p2p, m2p, both, walks.c_str());
    std::printf(",\"nodes\":%lld,\"leaves\":%lld,\"levels\":%lld,\"groups\":%lld,\"node_entries\":%lld,"
                "\"leaf_entries\":%lld,\"pairs\":%.6g,\"cells\":%.6g,\"device_bytes\":%lld}\n",
                static_cast<long long>(c.nodes_needed), static_cast<long long>(c.leaves),
                static_cast<long long>(c.levels), static_cast<long long>(c.groups_needed),
                static_cast<long long>(c.node_entries_needed), static_cast<long long>(c.leaf_entries_needed),
                c.pairs, c.cells, static_cast<long long>(memory.bytes_peak()));
}

} // namespace

int main(int count, char** words) try {
    const study::Words arguments(count, words);
    if (study::devices() == 0) {
        std::fprintf(stderr, "study_steps: no CUDA device here\n");
        return 77;
    }
    backend::DeviceMemory memory(0);
    backend::Queue queue(memory, nullptr);
    const Case what(arguments);
    Steps steps(memory, queue, what);
    print(what, arguments, memory, steps);
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "study_steps: %s\n", error.what());
    return 1;
}
