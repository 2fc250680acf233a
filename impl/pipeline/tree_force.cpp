// The tree method on the CPU; see docs/map.md for the way of the data.
#include "pipeline/tree_force.hpp"

#include "core/timer.hpp"
#include "kernels/cells.hpp"
#include "kernels/gather.hpp"
#include "kernels/m2p.hpp"
#include "kernels/p2p.hpp"
#include "lists/criterion.hpp"
#include "lists/lists.hpp"
#include "lists/targets.hpp"
#include "moments/expansion.hpp"
#include "pipeline/estimate.hpp"
#include "tree/build.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace graft::pipeline {

namespace {

/// Lists of this many groups are built and evaluated at a time: they stay in the last-level cache, and memory
/// is bounded.
constexpr int64_t batch_groups = 2048;
constexpr int64_t groups_per_block = 8;
/// Sources gathered before the kernel runs: they stay in the first-level cache.
constexpr int64_t source_batch = 2048;
/// An expansion costs about as much as this many pairs, by order: smaller nodes are summed directly.
constexpr int64_t direct_counts[moments::max_order + 1] = {1, 2, 3, 5, 8};

lists::WalkKind walk_kind(Walk walk) {
    return walk == Walk::transposed ? lists::WalkKind::transposed : lists::WalkKind::recorded;
}

/// S^(1/(p+3)) of a node whose force error at distance d is about S / d^(p+3): S = sum |q| r^(p+1), bounded
/// by spread * radius^(p-1) for p >= 1 and sqrt(sum |q| * spread) for p = 0. Plummer lengths that differ
/// within the node act like as much extent. The roots are taken one by one: S itself leaves double in very
/// small or large units.
double error_reach(const moments::Moments& m, int32_t k, const Settings& settings) {
    double spread = m.spread[k], radius = m.radius[k];
    if (!m.softening.empty() && settings.softening == Softening::plummer) {
        spread += m.magnitude[k] * m.softening_square[k];
        radius = std::hypot(radius, m.softening[k]);
    }
    const double root = 1.0 / (settings.order + 3);
    if (settings.order == 0)
        return std::pow(m.magnitude[k], 0.5 * root) * std::pow(spread, 0.5 * root);
    return std::pow(spread, root) * std::pow(radius, (settings.order - 1) * root);
}

} // namespace

struct TreeForce::State {
    explicit State(core::Memory& memory)
        : builder(memory), tree(memory), moments(memory), single(memory, "expansions"),
          full(memory, "expansions"), targets(memory), criterion(memory), list_builder(memory), lists(memory),
          reach(memory, "MAC reach"), acceleration(memory, "group accelerations"),
          last(memory, "last accelerations"), heap_of(memory, "heaps"), heap_x(memory, "heap x"),
          heap_y(memory, "heap y"), heap_z(memory, "heap z"), heap_charge(memory, "heap charges"),
          pairs(memory, "pair counts"), cells(memory, "cell counts") {}

    tree::TreeBuilder builder;
    tree::Tree tree;
    moments::Moments moments;
    core::Buffer<float> single;
    core::Buffer<double> full;
    lists::TargetSet targets;
    lists::Criterion criterion;
    lists::ListBuilder list_builder;
    lists::InteractionLists lists;
    core::Buffer<double> reach;        // error MAC: per node
    core::Buffer<double> acceleration; // error MAC: per group
    core::Buffer<double> last;         // |field| of the last computation by host index; empty: none
    // Leaves of many equal points act as one source each: their particles differ in nothing but the charge.
    core::Buffer<int32_t> heap_of; // node -> heap, -1 = no heap; empty when there are none
    core::Buffer<double> heap_x, heap_y, heap_z, heap_charge;
    core::Buffer<int64_t> pairs, cells; // per group

    template <typename T>
    core::Buffer<T>& expansion() {
        if constexpr (sizeof(T) == 4)
            return single;
        else
            return full;
    }

    void build(const backend::Executor& executor, const Settings& settings, const Problem& problem,
               Report& report);
    void find_heaps(const Settings& settings);
    void choose_targets(const backend::Executor& executor, const Settings& settings, const Problem& problem);
    void scale_groups(const backend::Executor& executor, const Settings& settings, const Problem& problem);
    void set_criterion(const backend::Executor& executor, const Settings& settings, const Problem& problem);
    void remember(const Settings& settings, const Problem& problem, const RawField& field);
    void count(Report& report) const;
    template <typename T>
    void evaluate(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                  bool with_potential, Workspaces<T>& workspaces, RawField& field, Report& report);
    template <typename T>
    void gather(int64_t entry_begin, int64_t entry_end, const kernels::Frame& frame,
                const kernels::PairVariant& variant, double length, int64_t chunk, Workspace<T>& work,
                int64_t& sources);
    double nearest_length(const lists::Group& group, int64_t in_batch) const;
    template <typename T>
    void evaluate_group(const Settings& settings, int64_t group, int64_t in_batch,
                        const kernels::PairVariant& variant, Workspace<T>& work, RawField& field);
};

TreeForce::TreeForce(core::Memory& memory) : state_(std::make_unique<State>(memory)) {}
TreeForce::~TreeForce() = default;

void TreeForce::State::build(const backend::Executor& executor, const Settings& settings,
                             const Problem& problem, Report& report) {
    tree::TreeOptions options;
    options.type = settings.tree_type;
    options.dimension = settings.dimension;
    options.leaf = settings.leaf;
    if (settings.has_box && settings.tree_type == tree::TreeType::octree) {
        options.has_root = true;
        for (int a = 0; a < settings.dimension; ++a) {
            options.root_lower[a] = settings.box_lower[a];
            options.root_edge = std::max(options.root_edge, settings.box_upper[a] - settings.box_lower[a]);
        }
    }
    tree::BuildTimes times;
    builder.build(executor, options, problem.n, problem.x.data(), problem.y.data(), problem.z.data(),
                  problem.charge.data(), problem.softening.empty() ? nullptr : problem.softening.data(), tree,
                  times);
    report.time_s.sort = times.sort_s;
    report.time_s.tree = times.tree_s;
    find_heaps(settings);
}

void TreeForce::State::find_heaps(const Settings& settings) {
    heap_of.resize(0);
    for (core::Buffer<double>* values : {&heap_x, &heap_y, &heap_z, &heap_charge})
        values->resize(0);
    if (!tree.softening.empty()) // they may differ in their lengths
        return;
    for (int32_t k = 0; k < tree.node_count(); ++k) {
        const tree::Node& node = tree.nodes[k];
        if (node.child_count > 0 || node.count <= settings.leaf)
            continue;
        if (heap_of.empty()) {
            heap_of.resize(tree.node_count());
            std::fill(heap_of.begin(), heap_of.end(), -1);
        }
        double charge = 0;
        for (int64_t i = node.first; i < node.first + node.count; ++i)
            charge += tree.charge[i];
        heap_of[k] = static_cast<int32_t>(heap_x.size());
        heap_x.push_back(tree.x[node.first]), heap_y.push_back(tree.y[node.first]);
        heap_z.push_back(tree.z[node.first]), heap_charge.push_back(charge);
    }
}

void TreeForce::State::choose_targets(const backend::Executor& executor, const Settings& settings,
                                      const Problem& problem) {
    if (problem.points)
        targets.set_points(executor, settings.dimension, problem.target_count(), problem.target_x(),
                           problem.target_y(), problem.target_z(), problem.target_length(), settings.group);
    else if (problem.all_targets)
        targets.set_all(executor, tree, settings.group);
    else
        targets.set_particles(executor, tree, problem.target_count(), problem.target.data(), settings.group);
}

/// f_g of the error MAC: a node's error S / d^(p+3) may be accuracy * (size of the group's acceleration).
void TreeForce::State::scale_groups(const backend::Executor& executor, const Settings& settings,
                                    const Problem& problem) {
    const bool use_last =
        settings.mac_history && !problem.points && last.size() == problem.n && problem.n > 0;
    if (!use_last)
        estimate_accelerations(executor, tree, moments, targets.groups(), acceleration);
    else
        acceleration.resize(targets.group_count());
    const double exponent = -1.0 / (settings.order + 3);
    executor.for_each(
        targets.group_count(),
        [&](int64_t g) {
            lists::Group& group = targets.groups()[g];
            double size = use_last ? last[targets.origin()[group.first]] : acceleration[g];
            for (int64_t k = group.first; use_last && k < group.first + group.count; ++k)
                size = std::min(size, last[targets.origin()[k]]);
            group.target.factor = size > 0 ? std::pow(settings.accuracy * size, exponent) : 1e30;
        },
        256);
}

void TreeForce::State::set_criterion(const backend::Executor& executor, const Settings& settings,
                                     const Problem& problem) {
    const bool error = settings.mac == MacType::error;
    if (error) {
        scale_groups(executor, settings, problem);
        reach.resize(tree.node_count());
        executor.for_each(tree.node_count(), [&](int64_t k) {
            reach[k] = error_reach(moments, static_cast<int32_t>(k), settings);
        });
    }
    lists::CriterionOptions options;
    options.mac = static_cast<lists::Mac>(settings.mac);
    options.theta = settings.theta;
    options.direct_count = direct_counts[settings.order];
    options.compact_softening = settings.softening == Softening::spline;
    options.softening_length = settings.softening_length;
    lists::NodeProperties properties;
    properties.cx = moments.cx.data(), properties.cy = moments.cy.data(), properties.cz = moments.cz.data();
    properties.radius = moments.radius.data();
    properties.reach = error ? reach.data() : nullptr;
    properties.softening = moments.softening.empty() ? nullptr : moments.softening.data();
    lists::fill_criterion(executor, tree, options, properties, criterion);
}

/// P2P with the particles of lists.leaves[entry_begin ... entry_end), in batches that stay in cache.
template <typename T>
void TreeForce::State::gather(int64_t entry_begin, int64_t entry_end, const kernels::Frame& frame,
                              const kernels::PairVariant& variant, double length, int64_t chunk,
                              Workspace<T>& work, int64_t& sources) {
    const kernels::ParticleArrays particles = kernels::tree_particles(tree);
    const kernels::ParticleArrays heaps{heap_x.data(),      heap_y.data(), heap_z.data(),
                                        heap_charge.data(), nullptr,       heap_x.size()};
    work.sources.clear();
    for (int64_t e = entry_begin; e < entry_end; ++e) {
        const int32_t leaf = lists.leaves[e];
        const tree::Node& node = tree.nodes[leaf];
        if (!heap_of.empty() && heap_of[leaf] >= 0)
            work.sources.append(heaps, heap_of[leaf], 1, frame, variant);
        else
            work.sources.append(particles, node.first, node.count, frame, variant);
        if (work.sources.particle_count() < source_batch && e + 1 < entry_end)
            continue;
        sources += work.sources.particle_count();
        kernels::p2p(variant, length, work.sources.view(), work.targets.view(), chunk, work.targets.sums());
        work.sources.clear();
    }
}

/// How near or large the nearest sources of targets at one place are: the length of their frame. 0 where
/// every source is at that place, and for groups with an extent, which need no other length.
double TreeForce::State::nearest_length(const lists::Group& group, int64_t in_batch) const {
    const geometry::Box& box = group.target.box;
    if (box.longest_edge() > 0)
        return 0;
    double nearest = std::numeric_limits<double>::infinity();
    const auto look_at = [&](int32_t node) {
        const double length = tree.boxes[node].furthest(box.lower);
        nearest = length > 0 ? std::min(nearest, length) : nearest;
    };
    std::for_each(lists.leaves.data() + lists.leaf_offset[in_batch],
                  lists.leaves.data() + lists.leaf_offset[in_batch + 1], look_at);
    std::for_each(lists.nodes.data() + lists.node_offset[in_batch],
                  lists.nodes.data() + lists.node_offset[in_batch + 1], look_at);
    return std::isfinite(nearest) ? nearest : 0;
}

template <typename T>
void TreeForce::State::evaluate_group(const Settings& settings, int64_t g, int64_t in_batch,
                                      const kernels::PairVariant& variant, Workspace<T>& work,
                                      RawField& field) {
    const lists::Group& group = targets.groups()[g];
    const int64_t leaf_begin = lists.leaf_offset[in_batch], leaf_end = lists.leaf_offset[in_batch + 1];
    const double reach = tree.boxes[0].furthest(group.target.box.lower);
    const kernels::Frame frame =
        kernels::make_frame<T>(group.target.box, nearest_length(group, in_batch), reach);
    const double length = settings.softening_length * frame.scale;
    const kernels::ParticleArrays all{targets.x(), targets.y(),         targets.z(),
                                      nullptr,     targets.softening(), targets.count()};
    work.targets.fill(all, group.first, group.count, frame, variant);
    int64_t sources = 0;
    gather(leaf_begin, leaf_end, frame, variant, length, sum_chunk(settings), work, sources);

    const bool plummer = variant.softening == kernels::Softening::plummer;
    const kernels::CellVariant cell_variant{settings.order, plummer, plummer && variant.per_particle,
                                            variant.potential};
    const int64_t node_end = lists.node_offset[in_batch + 1];
    for (int64_t e = lists.node_offset[in_batch]; e < node_end; e += kernels::CellBuffer<T>::capacity) {
        work.cells.fill(moments, expansion<T>().data(), lists.nodes.data() + e,
                        std::min(kernels::CellBuffer<T>::capacity, node_end - e), frame, cell_variant);
        kernels::m2p(cell_variant, length, work.cells.view(), work.targets.view(), 0, work.targets.sums());
    }
    work.store(frame, group.count, variant.potential, field, [&](int64_t k) { return group.first + k; });
    pairs[g] = sources * group.count;
    cells[g] = (node_end - lists.node_offset[in_batch]) * group.count;
}

template <typename T>
void TreeForce::State::evaluate(const backend::Executor& executor, const Settings& settings,
                                const Problem& problem, bool with_potential, Workspaces<T>& workspaces,
                                RawField& field, Report& report) {
    core::Timer timer;
    const kernels::PairVariant variant = pair_variant(settings, problem, with_potential);
    moments::fill_expansion(executor, moments, variant.softening == kernels::Softening::plummer,
                            expansion<T>());
    report.time_s.moments += timer.lap();
    workspaces.prepare(executor.threads);
    const int64_t groups = targets.group_count();
    pairs.resize(groups);
    cells.resize(groups);
    for (int64_t begin = 0; begin < groups; begin += batch_groups) {
        const int64_t count = std::min(batch_groups, groups - begin);
        list_builder.build(executor, tree, criterion, targets.groups().data() + begin, count,
                           walk_kind(settings.walk), lists);
        report.time_s.lists += timer.lap();
        executor.for_blocks(count, groups_per_block, [&](int64_t first, int64_t end, int thread) {
            for (int64_t k = first; k < end; ++k)
                evaluate_group(settings, begin + k, k, variant, workspaces[thread], field);
        });
        report.bytes_lists = std::max(report.bytes_lists, 4 * (lists.nodes.size() + lists.leaves.size()) +
                                                              16 * (lists.group_count() + 1));
        report.time_s.forces += timer.lap();
    }
}

void TreeForce::State::remember(const Settings& settings, const Problem& problem, const RawField& field) {
    if (settings.mac != MacType::error || !settings.mac_history || !problem.all_targets) {
        last.resize(0);
        return;
    }
    last.resize(problem.n);
    for (int64_t k = 0; k < problem.n; ++k)
        last[targets.origin()[k]] = std::hypot(field.ax[k], field.ay[k], field.az[k]);
}

void TreeForce::State::count(Report& report) const {
    report.has_tree = true;
    report.nodes = tree.node_count();
    report.leaves = 0;
    for (int32_t k = 0; k < tree.node_count(); ++k)
        report.leaves += tree.is_leaf(k) ? 1 : 0;
    report.groups = targets.group_count();
    report.levels = tree.levels();
    for (int64_t g = 0; g < report.groups; ++g) {
        report.pairs += static_cast<double>(pairs[g]);
        report.cells += static_cast<double>(cells[g]);
    }
}

const int32_t* TreeForce::evaluate(const backend::Executor& executor, const Settings& settings,
                                   const Problem& problem, bool with_potential, AllWorkspaces& workspaces,
                                   RawField& field, Report& report, const core::Log& log) {
    State& s = *state_;
    report.bytes_lists = 0;
    s.build(executor, settings, problem, report);
    core::Timer timer;
    moments::compute_moments(executor, s.tree, settings.order, s.moments);
    report.time_s.moments = timer.lap();
    s.choose_targets(executor, settings, problem);
    s.set_criterion(executor, settings, problem);
    report.time_s.lists = timer.lap();
    if (settings.precision == Precision::fp64)
        s.evaluate<double>(executor, settings, problem, with_potential, workspaces.full, field, report);
    else
        s.evaluate<float>(executor, settings, problem, with_potential, workspaces.single, field, report);
    s.remember(settings, problem, field);
    s.count(report);
    if (log.wants(core::LogLevel::info))
        log.write(
            core::LogLevel::info,
            core::format("tree: %lld particles, %lld nodes, %lld groups; %.3g pairs and %.3g cells evaluated",
                         static_cast<long long>(problem.n), static_cast<long long>(report.nodes),
                         static_cast<long long>(report.groups), report.pairs, report.cells));
    return s.targets.origin();
}

} // namespace graft::pipeline
