// SPDX-License-Identifier: BSD-3-Clause
// N_leaf and N_group on a GPU, and the blocks of liu2022's kernels: a sweep over all, each beside what the
// model says from one evaluation's counts, and what `tree.sizes` model and trial choose, with their regret.
//
// Words: --scenes plummer:1e6:1e-3,uniform:1e6:1e-3 (ic:n:accuracy, more with :order), --kernel auto |
// pairs-1d | tiles-2d, --leaf 16,32,64,128, --group 32,64,128,256 or "leaf" (the same), --block 4x16,8x32
// (1-D: 128,256) or "all", --precision fp32 | mixed | fp64, --repeats (5), --warm-up (2), --trial (also the
// trial). One line of JSON an evaluation, one a scene. Times by events, medians; arrays on the device.
#include "study.hpp"

#include "model/tree_sizes.hpp"
#include "study/bench/bench_force.hpp"
#include "forces/m2l/m2l_choice.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace {

using namespace graft;
using model::BlockShape;
using model::TreeSizes;

std::vector<std::string> words_of(const std::string& text, char between) {
    std::vector<std::string> list;
    std::stringstream in(text);
    for (std::string word; std::getline(in, word, between);)
        list.push_back(word);
    return list;
}

struct Scene {
    std::string name;
    study::ForceBench bench;
};

Scene scene_of(const std::string& text, const study::Words& words) {
    const std::vector<std::string> parts = words_of(text, ':');
    Scene scene{text, {}};
    settings::Settings& s = scene.bench.settings;
    s.backend = settings::Backend::cuda, s.tuned = false;
    scene.bench.on_device = true;
    scene.bench.cloud = parts.at(0) == "uniform" ? graft::study::Cloud::uniform : graft::study::Cloud::plummer;
    scene.bench.n = static_cast<int64_t>(std::stod(parts.at(1)));
    s.accuracy = std::stod(parts.at(2));
    s.order = parts.size() > 3 ? std::stoi(parts[3]) : 2;
    const std::string precision = words.text("precision", "fp32"), kernel = words.text("kernel", "auto");
    s.precision = precision == "fp64"    ? settings::Precision::fp64
                  : precision == "mixed" ? settings::Precision::mixed
                                         : settings::Precision::fp32;
    s.device.kernel = kernel == "pairs-1d" ? 3 : kernel == "tiles-2d" ? 4 : 0;
    scene.bench.repeats = static_cast<int>(words.number("repeats", 5));
    scene.bench.warm_up = static_cast<int>(words.number("warm-up", 2));
    return scene;
}

struct Measured {
    TreeSizes sizes;
    model::TreeCounts counts;
    model::TreeTimes times;
    std::string by;
};

Measured measure(const study::ForceBench& bench) {
    const study::ForceBenchResult result = study::bench_force(bench);
    const auto figure = [&](const char* name) {
        const auto found = result.median.find(name);
        return found == result.median.end() ? 0.0 : found->second;
    };
    Measured m;
    m.sizes = result.sizes.sizes, m.by = result.sizes.by;
    m.counts.sizes = m.sizes, m.counts.order = bench.settings.order;
    m.counts.kernels = engine::tree_kernels(bench.settings, true);
    m.counts.targets = static_cast<double>(bench.n);
    m.counts.groups = figure("tree.groups"), m.counts.leaves = figure("tree.leaves");
    m.counts.pairs = figure("interactions.p2p"), m.counts.cells = figure("interactions.m2p");
    m.counts.far_cells = figure("interactions.m2l");
    m.times = {figure("time_s.sort"), figure("time_s.tree"), figure("time_s.moments"), figure("time_s.lists"),
               figure("time_s.forces")};
    return m;
}

void print_times(const char* name, const model::TreeTimes& t) {
    std::printf(",\"%s\":{\"tree\":%.5g,\"moments\":%.5g,\"lists\":%.5g,\"forces\":%.5g,\"total\":%.5g}",
                name, t.tree_s, t.moments_s, t.lists_s, t.forces_s, t.total_s());
}

void print_sizes(const char* name, const TreeSizes& s) {
    std::printf(",\"%s\":[%d,%d,%d,%d]", name, s.leaf, s.group, s.block.x, s.block.y);
}

void print_case(const Scene& scene, const Measured& m, const model::TreeTimes& predicted) {
    std::printf("{\"study\":\"sizes\",\"scene\":\"%s\",\"kernel\":%d,\"precision\":%d", scene.name.c_str(),
                static_cast<int>(scene.bench.settings.device.kernel),
                static_cast<int>(scene.bench.settings.precision));
    print_sizes("sizes", m.sizes);
    print_times("time_s", m.times);
    print_times("predicted_s", predicted);
    std::printf(
        ",\"targets\":%.0f,\"groups\":%.0f,\"leaves\":%.0f,\"pairs\":%.6g,\"cells\":%.6g,\"far_cells\":%.6g",
        m.counts.targets, m.counts.groups, m.counts.leaves, m.counts.pairs, m.counts.cells,
        m.counts.far_cells);
    if (m.sizes.block.x > 0) {
        const model::PaperCounts work = model::paper_work(m.counts);
        const model::PaperTerms terms = m.counts.kernels == model::TreeKernels::pairs_1d
                                            ? model::pairs_1d_terms(work, m.sizes.block.x)
                                            : model::tiles_2d_terms(work, m.sizes.block);
        std::printf(",\"terms\":[");
        for (size_t k = 0; k < terms.size(); ++k)
            std::printf("%s%.6g", k > 0 ? "," : "", terms[k]);
        std::printf("]");
    }
    std::printf("}\n");
    std::fflush(stdout);
}

BlockShape block_of(const std::string& text) {
    const std::vector<std::string> sides = words_of(text, 'x');
    return {std::stoi(sides.at(0)), sides.size() > 1 ? std::stoi(sides[1]) : 0};
}

std::vector<TreeSizes> sizes_of(const study::Words& words, model::TreeKernels kernels) {
    std::vector<TreeSizes> list;
    const std::string groups = words.text("group", "32,64,128,256"), block = words.text("block", "all");
    for (const std::string& leaf : words_of(words.text("leaf", "16,32,64,128"), ','))
        for (const std::string& group : words_of(groups == "leaf" ? leaf : groups, ',')) {
            std::vector<BlockShape> blocks = {{}};
            if (kernels == model::TreeKernels::pairs_1d)
                blocks = model::blocks_1d({});
            if (kernels == model::TreeKernels::tiles_2d)
                blocks = model::blocks_2d({});
            if (block != "all") {
                blocks.clear();
                for (const std::string& one : words_of(block, ','))
                    blocks.push_back(block_of(one));
            }
            for (const BlockShape& one : blocks)
                list.push_back({std::stoi(leaf), std::stoi(group), one});
        }
    return list;
}

study::ForceBench with(const Scene& scene, const TreeSizes& sizes) {
    study::ForceBench bench = scene.bench;
    settings::Settings& s = bench.settings;
    s.leaf = sizes.leaf, s.group = sizes.group, s.tuned = true;
    s.device.block_x = sizes.block.x, s.device.block_y = sizes.block.y;
    return bench;
}

/// What tree.sizes chooses: measured after it has settled.
Measured chosen(const Scene& scene, engine::TreeSizesBy by) {
    study::ForceBench bench = scene.bench;
    bench.sizes = by, bench.warm_up = by == engine::TreeSizesBy::trial ? 21 : 3;
    return measure(bench);
}

/// Model's error: |predicted / measured - 1| of all sizes, the start's left out.
void print_choices(const Scene& scene, std::vector<Measured>& all, std::vector<double>& errors, bool trial) {
    const auto choices = {engine::TreeSizesBy::model, engine::TreeSizesBy::trial};
    std::vector<Measured> taken;
    for (const engine::TreeSizesBy by : choices)
        if (by == engine::TreeSizesBy::model || trial)
            taken.push_back(chosen(scene, by));
    std::vector<Measured> every = all;
    every.insert(every.end(), taken.begin(), taken.end());
    const auto best = std::min_element(every.begin(), every.end(), [](const Measured& a, const Measured& b) {
        return a.times.total_s() < b.times.total_s();
    });
    std::sort(errors.begin(), errors.end());
    const auto at = [&](double share) {
        return errors.empty() ? 0.0 : errors[static_cast<size_t>(share * double(errors.size() - 1))];
    };
    std::printf("{\"study\":\"choice\",\"scene\":\"%s\",\"kernel\":%d,\"cases\":%zu", scene.name.c_str(),
                static_cast<int>(scene.bench.settings.device.kernel), all.size());
    print_sizes("start", all.front().sizes);
    print_sizes("best", best->sizes);
    std::printf(",\"start_s\":%.5g,\"best_s\":%.5g,\"error_median\":%.3f,\"error_p90\":%.3f",
                all.front().times.total_s(), best->times.total_s(), at(0.5), at(0.9));
    for (size_t k = 0; k < taken.size(); ++k) {
        print_sizes(k == 0 ? "model" : "trial", taken[k].sizes);
        std::printf(",\"%s_s\":%.5g,\"%s_regret\":%.3f,\"%s_by\":\"%s\"", k == 0 ? "model" : "trial",
                    taken[k].times.total_s(), k == 0 ? "model" : "trial",
                    taken[k].times.total_s() / best->times.total_s() - 1, k == 0 ? "model" : "trial",
                    taken[k].by.c_str());
    }
    std::printf("}\n");
    std::fflush(stdout);
}

void sweep(const Scene& scene, const study::Words& words) {
    std::vector<Measured> all = {measure(scene.bench)}; // its own choice of sizes
    const Measured& start = all.front();
    model::TreeCounts known = start.counts;
    known.least_far_groups =
        known.kernels == model::TreeKernels::gpu ? static_cast<double>(forces::least_far_groups) : 0;
    const double ratio = start.times.total_s() / model::tree_times(known).total_s();
    print_case(scene, start, model::tree_times(known, ratio));
    std::vector<double> errors;
    for (const TreeSizes& sizes : sizes_of(words, known.kernels)) {
        const Measured m = measure(with(scene, sizes));
        model::TreeCounts there = model::counts_at(known, sizes);
        const model::TreeTimes predicted = model::tree_times(there, ratio);
        print_case(scene, m, predicted);
        errors.push_back(std::abs(predicted.total_s() / m.times.total_s() - 1));
        all.push_back(m);
    }
    if (words.has("choices") || words.has("trial"))
        print_choices(scene, all, errors, words.has("trial"));
}

} // namespace

int main(int count, char** text) {
    try {
        const study::Words words(count, text);
        if (study::devices() == 0) {
            std::fprintf(stderr, "study_sizes: no CUDA device\n");
            return 77;
        }
        for (const std::string& scene : words_of(words.text("scenes", "plummer:1e6:1e-3"), ','))
            sweep(scene_of(scene, words), words);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "study_sizes: %s\n", error.what());
        return 1;
    }
}
