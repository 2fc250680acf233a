// SPDX-License-Identifier: BSD-3-Clause
// thuering2023, figures 5.3 to 5.5 and 5.13 on the CPU: the octree's construction by levels and in two
// phases, the top of 1 to 9 levels. Needs no GPU; on the GPU the same is part of study_thuering2023.
//
//   study_thuering2023_build [--nmax 1216869] [--threads 0] [--leaf 32] [--repeat 5] [--json FILE]
//
// Milliseconds of the nodes alone, least of the repetitions; the ways take turns, so that ratios hold on a
// busy machine. top: the first phase (his figure 5.4), subtrees: the second (5.5), nodes: all nodes and boxes
// (5.3), ratio: of the construction by levels, without subtrees, over this one (5.13). Sort and gather, the
// same for all, are on the line of "levels". His CPU, the largest belt: 607.9 ms at depth 9, 1,337 at 7;
// about 1,950 without subtrees.
#include "backend/executor.hpp"
#include "study.hpp"
#include "tree/build.hpp"

#include <algorithm>
#include <cstdio>

using namespace graft;
using namespace graft::study;

namespace {

constexpr std::size_t counts[] = {178, 999, 2678, 19054, 138723, 1216869};
constexpr int deepest = 9;

/// Depth 0: by levels.
class Ways {
  public:
    Ways(const Words& words, const cli::Snapshot& bodies)
        : threads_(backend::resolve_threads(static_cast<int>(words.number("threads", 0)))), bodies_(bodies),
          builder_(memory_), tree_(memory_) {
        options_.leaf = static_cast<int>(words.number("leaf", 32));
        for (int repeat = -1; repeat < words.number("repeat", 5); ++repeat)
            for (int depth = 0; depth <= deepest; ++depth)
                keep_least(build(depth), repeat < 0, best_[depth]);
    }

    void print(Table& table) const {
        for (int depth = 0; depth <= deepest; ++depth) {
            const tree::BuildTimes& t = best_[depth];
            table.print(Row()
                            .add("bodies", static_cast<double>(bodies_.size()))
                            .add("threads", threads_)
                            .add("way", depth == 0 ? std::string("levels") : "depth " + std::to_string(depth))
                            .add("sort", 1e3 * t.sort_s)
                            .add("top", 1e3 * t.top_s)
                            .add("subtrees", 1e3 * t.subtrees_s)
                            .add("nodes", 1e3 * t.tree_s)
                            .add("ratio", best_[0].tree_s / t.tree_s));
        }
    }

  private:
    tree::BuildTimes build(int depth) {
        options_.two_phase = depth > 0, options_.top_depth = std::max(depth, 1);
        tree::BuildTimes times;
        builder_.build({memory_, threads_}, options_, static_cast<std::int64_t>(bodies_.size()),
                       bodies_.x.data(), bodies_.y.data(), bodies_.z.data(), bodies_.mass.data(), nullptr,
                       tree_, times);
        return times;
    }
    static void keep_least(const tree::BuildTimes& now, bool first, tree::BuildTimes& best) {
        best.sort_s = first ? now.sort_s : std::min(best.sort_s, now.sort_s);
        if (!first && now.tree_s > best.tree_s)
            return;
        best.tree_s = now.tree_s, best.top_s = now.top_s, best.subtrees_s = now.subtrees_s;
    }

    int threads_;
    const cli::Snapshot& bodies_;
    core::Memory memory_;
    tree::TreeBuilder builder_;
    tree::Tree tree_;
    tree::TreeOptions options_;
    tree::BuildTimes best_[deepest + 1];
};

} // namespace

int main(int count, char** words) try {
    const Words arguments(count, words);
    Table table(arguments.text("json", ""));
    table.title("construction of the octree on the CPU, ms");
    for (const std::size_t n : counts)
        if (static_cast<double>(n) <= arguments.number("nmax", 1216869)) {
            const cli::Snapshot bodies = solar_system(n);
            Ways(arguments, bodies).print(table);
        }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
