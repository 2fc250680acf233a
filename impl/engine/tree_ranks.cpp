// SPDX-License-Identifier: BSD-3-Clause
// Tree method over ranks: who is where, what each needs, and how it comes together. See top_tree.hpp,
// essential_tree.hpp, fetch.hpp.
#include "moments/expansion.hpp"
#include "engine/tree_state.hpp"

namespace graft::engine {

namespace {

/// Parts of the first pass between which a rank looks after the others' questions.
constexpr int64_t slices = 16;

} // namespace

void TreeForce::State::evaluate_over_ranks(const Job& job) {
    const settings::Settings& settings = job.settings;
    const bool traces = has_traces(job);
    const int64_t number = settings.precision == settings::Precision::fp64 ? sizeof(double) : sizeof(float);
    const essential::LetExchange::Frame frame{job.executor,
                                   settings,
                                   forest,
                                   top,
                                   job.problem.per_particle_softening,
                                   moments::record_size(settings.order, traces) * number};
    core::Timer timer;
    if (settings.tree_scope == settings::TreeScope::local)
        find_pieces(job);
    top.build(job.comm, job.executor, settings, traces, frame.lengths, forest);
    job.comm.together([&] { let.begin(frame); });
    meet_ranks(job, frame);
    job.report.time_s.ranks += timer.lap();
    settings.exchange == settings::Exchange::fetch ? fetch(job, frame) : push(job, frame);
    timer.lap();
    job.comm.together([&] {
        top.enter_remote(forest);
        let.apply(frame);
        if (has_hierarchy(job))
            top.refuse_own(forest);
    });
    job.report.ranks.nodes = let.nodes_received();
    job.report.ranks.particles = let.particles_received();
    job.report.time_s.ranks += timer.lap();
    tell_cost(job);
}

/// What the host's decomposition costs; once as a warning where domains overlap much.
void TreeForce::State::tell_cost(const Job& job) {
    constexpr double much = 2;
    const int64_t all = job.comm.sum(job.problem.n), came = let.particles_received();
    const double overlap = top.overlap(); // the same on every rank
    const bool warn = overlap > much && !has_warned && job.comm.rank() == 0;
    has_warned = has_warned || overlap > much;
    if (!job.log.wants(warn ? core::LogLevel::warning : core::LogLevel::info))
        return;
    const int64_t others = all - job.problem.n;
    std::string text = core::format(
        "rank %d of %d: %lld nodes and %lld particles (%.3g %% of the others') came from other ranks",
        job.comm.rank(), job.comm.size(), static_cast<long long>(let.nodes_received()),
        static_cast<long long>(came),
        others > 0 ? 100.0 * static_cast<double>(came) / static_cast<double>(others) : 0);
    if (overlap > much)
        text += core::format(
            "; the ranks' domains overlap %.1f-fold, so groups of targets, and with them the nodes they open "
            "and the particles that travel, are larger than they need be. Decompose by space first, or "
            "set tree.scope: global",
            overlap);
    job.log.write(warn ? core::LogLevel::warning : core::LogLevel::info, text);
}

void TreeForce::State::cover_particles(core::Buffer<lists::Group>& boxes) const {
    boxes.clear();
    if (forest.own_end == 0)
        return;
    const core::Buffer<int32_t>& offset = forest.tree.level_offset;
    int level = 0; // the first with enough nodes to choose boxes from
    while (level + 1 < forest.tree.levels() && offset[level + 1] - offset[level] < 512)
        ++level;
    for (int32_t k = 0; k < offset[level + 1]; ++k)
        if (k >= offset[level] || forest.tree.is_leaf(k))
            boxes.push_back({0, 0, {forest.tree.boxes[k], 0, 0}});
}

/// Cells of the common root cube that several ranks have particles in: their nodes are pieces.
void TreeForce::State::find_pieces(const Job& job) {
    job.comm.together([&] {
        cover_particles(patches);
        regions.cover(patches, essential::Domains::most_boxes(job.comm.size()));
    });
    regions.exchange(job.comm);
    job.comm.together([&] {
        std::vector<geometry::Box> others;
        for (int r = 0; r < job.comm.size(); ++r)
            for (int k = 0; k < regions.count(r) && r != job.comm.rank(); ++k)
                others.push_back(regions.boxes(r)[k].box);
        forest.keep_off_pieces(job.executor, job.settings, others);
    });
}

/// Where everyone's targets are, and how much error their groups may have.
void TreeForce::State::meet_ranks(const Job& job, const essential::LetExchange::Frame& frame) {
    const bool error = job.settings.mac == settings::MacType::error;
    const bool use_last = error && job.comm.min<int32_t>(has_last(job)) != 0;
    const bool push = job.settings.exchange == settings::Exchange::push;
    const bool estimate = error && !use_last && estimates(job);
    if (push || estimate)
        job.comm.together([&] { domains.cover(groups_met(), essential::Domains::most_boxes(job.comm.size())); });
    if (error && !estimate)
        job.comm.together([&] { scale_groups(job, use_last); });
    else if (estimate)
        estimate_over_ranks(job, frame);
    if (error)
        job.comm.together([&] { domains.update(groups_met()); });
    if (push)
        domains.exchange(job.comm);
}

/// The estimate sees the masses of all ranks, as one walk over one tree would: every rank gets those nodes of
/// the others that a walk with opening angle 1 from anywhere in its domain could come to.
void TreeForce::State::estimate_over_ranks(const Job& job, const essential::LetExchange::Frame& frame) {
    domains.exchange(job.comm);
    job.comm.together([&] {
        fill_coarse(job);
        let.pack_domains(job.comm, frame, coarse, domains, essential::LetExchange::Content::masses);
    });
    let.start(job.comm);
    let.finish(job.comm);
    job.comm.together([&] {
        let.unpack(frame, nullptr);
        let.apply(frame);
        scale_groups(job, false);
        let.begin(frame);
        forest.resize_masses(forest.top_end, frame.lengths);
        top.clear_remote(forest);
    });
}

/// Opens every own node that is larger than its distance.
void TreeForce::State::fill_coarse(const Job& job) {
    const int64_t nodes = forest.own_end;
    coarse.resize_keep(nodes, false);
    job.executor.for_each(nodes, [&](int64_t k) {
        coarse.cx[k] = forest.moments.cx[k];
        coarse.cy[k] = forest.moments.cy[k];
        coarse.cz[k] = forest.moments.cz[k];
        coarse.a[k] = 0;
        coarse.b[k] = forest.tree.boxes[k].longest_edge();
        const tree::Node& node = forest.tree.nodes[k];
        lists::Link& link = coarse.links[k];
        link = {node.first_child, static_cast<uint8_t>(node.child_count), 0, 0};
        for (int c = 0; c < node.child_count; ++c)
            if (forest.tree.is_leaf(node.first_child + c))
                link.terminal_mask = static_cast<uint8_t>(link.terminal_mask | 1 << c);
    });
}

void TreeForce::State::push(const Job& job, const essential::LetExchange::Frame& frame) {
    core::Timer timer;
    job.comm.together(
        [&] { let.pack_domains(job.comm, frame, forest.criterion, domains, essential::LetExchange::Content::all); });
    let.start(job.comm);
    job.report.time_s.ranks += timer.lap();
    std::exception_ptr error;
    try {
        evaluate(job, 0, targets.group_count(), false);
    } catch (...) { // messages are under way: they end first
        error = std::current_exception();
    }
    timer.lap();
    let.finish(job.comm);
    job.comm.agree(error);
    job.comm.together([&] { let.unpack(frame, nullptr); });
    job.report.ranks.rounds = 1;
    job.report.time_s.ranks += timer.lap();
}

void TreeForce::State::fetch(const Job& job, const essential::LetExchange::Frame& frame) {
    core::Timer timer;
    const int64_t groups = targets.group_count();
    int64_t done = 0;
    job.comm.together([&] { fetcher.begin(frame, let, targets.groups()); });
    std::exception_ptr error;
    const auto sum_up_to = [&](int64_t end) {
        job.report.time_s.ranks += timer.lap();
        try {
            if (!error)
                evaluate(job, done, end, false);
        } catch (...) {
            error = std::current_exception();
        }
        done = end;
        timer.lap();
    };
    for (int64_t round = 1; job.comm.sum(fetcher.wanted()) > 0; ++round) {
        fetcher.ask(job.comm, frame, let);
        let.start(job.comm);
        sum_up_to(std::min(groups, groups * round / slices));
        let.finish(job.comm);
        job.comm.agree(error);
        job.comm.together([&] { fetcher.go_on(frame, let, targets.groups()); });
        job.report.ranks.rounds = round;
    }
    sum_up_to(groups);
    job.comm.agree(error);
    job.report.time_s.ranks += timer.lap();
}

} // namespace graft::engine
