// Tree method over ranks: who is where, what each needs, and how it comes together. See let.hpp,
// top_tree.hpp.
#include "moments/expansion.hpp"
#include "pipeline/tree_state.hpp"

namespace graft::pipeline {

void TreeForce::State::meet_ranks(const Job& job) {
    core::Timer timer;
    const Settings& settings = job.settings;
    const bool lengths = job.problem.per_particle_softening;
    const kernels::PairVariant variant = pair_variant(settings, job.problem, job.with_potential);
    const bool softened = variant.softening == kernels::Softening::plummer;
    top.build(job.comm, job.executor, settings, softened, lengths, forest);
    job.comm.together([&] { domains.cover(targets.groups(), Domains::most_boxes(job.comm.size())); });
    if (settings.mac == MacType::error) {
        const bool use_last = job.comm.min<int32_t>(has_last(job)) != 0;
        if (use_last)
            job.comm.together([&] { scale_groups(job, true); });
        else
            estimate_over_ranks(job);
        job.comm.together([&] { domains.update(targets.groups()); });
    }
    domains.exchange(job.comm);
    const int64_t number = settings.precision == Precision::fp64 ? sizeof(double) : sizeof(float);
    const int64_t record_bytes = moments::record_size(settings.order, softened) * number;
    job.comm.together([&] {
        let.pack(job.comm, job.executor, settings, forest, forest.criterion, domains,
                 LetExchange::Content::all, record_bytes);
    });
    let.start(job.comm);
    job.report.time_s.ranks += timer.lap();
}

/// The estimate sees the masses of all ranks, as one walk over one tree would: every rank gets those nodes of
/// the others that a walk with opening angle 1 from anywhere in its domain could come to.
void TreeForce::State::estimate_over_ranks(const Job& job) {
    domains.exchange(job.comm);
    job.comm.together([&] {
        const int64_t nodes = forest.own_end;
        coarse.resize_keep(nodes, false);
        job.executor.for_each(nodes, [&](int64_t k) {
            coarse.cx[k] = forest.moments.cx[k], coarse.cy[k] = forest.moments.cy[k],
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
        let.pack(job.comm, job.executor, job.settings, forest, coarse, domains, LetExchange::Content::masses,
                 0);
    });
    let.start(job.comm);
    let.finish(job.comm);
    job.comm.together([&] {
        let.unpack(job.executor, job.settings, top, forest, false);
        scale_groups(job, false);
        moments::Moments& m = forest.moments;
        forest.tree.nodes.resize_keep(forest.top_end);
        forest.tree.boxes.resize_keep(forest.top_end);
        for (core::Buffer<double>* values : {&m.cx, &m.cy, &m.cz, &m.magnitude})
            values->resize_keep(forest.top_end);
        top.clear_remote(forest);
    });
}

void TreeForce::State::join_ranks(const Job& job, std::exception_ptr error) {
    core::Timer timer;
    let.finish(job.comm);
    job.comm.agree(error);
    job.comm.together([&] {
        top.enter_remote(forest);
        let.unpack(job.executor, job.settings, top, forest, job.problem.per_particle_softening);
    });
    job.report.ranks.nodes = let.nodes_received();
    job.report.ranks.particles = let.particles_received();
    job.report.time_s.ranks += timer.lap();
}

} // namespace graft::pipeline
