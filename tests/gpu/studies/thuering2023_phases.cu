// SPDX-License-Identifier: BSD-3-Clause
// thuering2023, figures 5.4 and 5.5 on a GPU: threads of the block that makes the top of the octree, and of
// the block of each subtree.
//
//   study_thuering2023_phases [--nmin 178] [--nmax 1216869] [--depth 6] [--leaf 32] [--repeat 9]
//                             [--json FILE]
//
// Milliseconds by events, medians after two to warm up. His (GP100, 1,216,869 bodies): the top about 85 ms
// with 128 work-items, best with 640, 3.8 ms more with 1,024; subtrees best with 1,024.
#include "study.hpp"
#include "tree/tree_gpu.cuh"

#include <algorithm>
#include <cstdio>

using namespace graft;
using namespace graft::study;

namespace {

constexpr std::size_t counts[] = {178, 999, 2678, 19054, 138723, 1216869};

class Phases {
  public:
    Phases(backend::DeviceMemory& memory, backend::Queue& queue, const Words& words,
           const cli::Snapshot& bodies)
        : queue_(queue), repeats_(static_cast<int>(words.number("repeat", 9))), x_(memory, "x"),
          y_(memory, "y"), z_(memory, "z"), tree_(memory), builder_(memory) {
        how_.top_depth = static_cast<int>(words.number("depth", 6));
        options_.leaf = static_cast<int>(words.number("leaf", 32));
        for (cudaEvent_t& mark : marks_)
            GRAFT_CUDA(cudaEventCreate(&mark));
        put(bodies.x, x_), put(bodies.y, y_), put(bodies.z, z_);
        while (!fits())
            ;
        how_.marks = marks_;
    }
    ~Phases() {
        for (cudaEvent_t mark : marks_)
            (void)cudaEventDestroy(mark);
    }
    Phases(const Phases&) = delete;
    Phases& operator=(const Phases&) = delete;

    void print(Table& table) {
        for (const int threads : tree::TwoPhase::block_sizes) {
            how_.top_threads = how_.subtree_threads = threads;
            std::vector<float> top, subtrees;
            for (int k = -2; k < repeats_; ++k) {
                build();
                queue_.wait();
                if (k < 0)
                    continue;
                top.push_back(between(0)), subtrees.push_back(between(1));
            }
            table.print(Row()
                            .add("bodies", static_cast<double>(x_.size()))
                            .add("threads", threads)
                            .add("top", median(top))
                            .add("subtrees", median(subtrees)));
        }
    }

  private:
    void put(const std::vector<double>& values, backend::DeviceBuffer<double>& buffer) {
        buffer.resize(static_cast<int64_t>(values.size()));
        GRAFT_CUDA(cudaMemcpyAsync(buffer.data(), values.data(), values.size() * sizeof(double),
                                   cudaMemcpyHostToDevice, queue_.stream()));
    }
    void build() {
        builder_.build(queue_, options_, {x_.size(), x_.data(), y_.data(), z_.data(), nullptr, nullptr},
                       tree_, tree::DeviceBuild::two_phase, how_);
    }
    /// One construction; false, and room for more nodes, if there were too few.
    bool fits() {
        queue_.clear_status();
        build();
        queue_.fetch_status();
        queue_.wait();
        const backend::DeviceStatus found = queue_.fetched_status();
        if (found.stop == backend::go)
            return true;
        if (found.stop != backend::too_small)
            core::fail(core::Status::internal, "the construction stopped for reason %llu",
                       static_cast<unsigned long long>(found.stop));
        tree_.resize_nodes(found.nodes_needed);
        return false;
    }
    float between(int mark) const {
        float ms = 0;
        GRAFT_CUDA(cudaEventElapsedTime(&ms, marks_[mark], marks_[mark + 1]));
        return ms;
    }
    static double median(std::vector<float>& values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    }

    backend::Queue& queue_;
    int repeats_;
    backend::DeviceBuffer<double> x_, y_, z_;
    tree::DeviceTree tree_;
    tree::DeviceTreeBuilder builder_;
    tree::TreeOptions options_;
    tree::TwoPhase how_;
    cudaEvent_t marks_[3] = {};
};

} // namespace

int main(int count, char** words) try {
    const Words arguments(count, words);
    if (devices() == 0)
        return without_device();
    Table table(arguments.text("json", ""));
    table.title("construction of the octree in two phases on the GPU, ms");
    backend::DeviceMemory memory(0);
    backend::Queue queue(memory, nullptr);
    for (const std::size_t n : counts)
        if (static_cast<double>(n) >= arguments.number("nmin", 178) &&
            static_cast<double>(n) <= arguments.number("nmax", 1216869)) {
            const cli::Snapshot bodies = solar_system(n);
            Phases(memory, queue, arguments, bodies).print(table);
        }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
