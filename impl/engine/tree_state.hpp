// SPDX-License-Identifier: BSD-3-Clause
// What the steps of the tree method share; tree_force.cpp builds, tree_ranks.cpp meets the other ranks,
// tree_walk.cpp walks, tree_evaluate.cpp sums.
#pragma once

#include "core/timer.hpp"
#include "lists/dual_walk.hpp"
#include "lists/targets.hpp"
#include "forces/p2p/close_targets.hpp"
#include "essential/target_domain.hpp"
#include "essential/fetch.hpp"
#include "essential/forest.hpp"
#include "essential/essential_tree.hpp"
#include "essential/top_tree.hpp"
#include "engine/target_walk.hpp"
#include "engine/tree_force.hpp"
#include "tree/build.hpp"

namespace graft::engine {

struct TreeForce::State {
    explicit State(core::Memory& memory)
        : builder(memory), forest(memory), targets(memory), walk(memory),
          acceleration(memory, "group accelerations"), pair_counts(memory, "pair counts"),
          cell_counts(memory, "cell counts"), shifts(memory, "image shifts"),
          image_force(memory, "image forces"), moved(memory, "images of groups"), top(memory),
          domains(memory), regions(memory), patches(memory, "patches of the region"), let(memory),
          fetcher(memory), coarse(memory) {}

    tree::TreeBuilder builder;
    essential::Forest forest;
    lists::TargetSet targets;
    TargetWalk walk;
    core::Buffer<double> acceleration;              // error MAC: per group
    core::Buffer<int64_t> pair_counts, cell_counts; // per group
    // Periodic box where cells do not hand polynomials down: targets.groups() then holds every group once an image,
    // those of one group next to each other.
    core::Buffer<geometry::Vec3> shifts; // of the groups' targets; empty: none is moved
    core::Buffer<double> image_force;    // x y z per group: sum of charge * field
    core::Buffer<lists::Group> moved;    // scratch

    // Many ranks.
    bool has_warned = false; // of domains that overlap
    essential::TopTree top;
    essential::Domains domains;                    // where the targets are
    essential::Domains regions;                    // where the particles are
    core::Buffer<lists::Group> patches; // of the own region
    essential::LetExchange let;
    essential::Fetcher fetcher;
    lists::Criterion coarse; // own nodes: what the estimate of accelerations opens

    /// What stays the same in all steps of one computation.
    struct Job {
        const backend::Executor& executor;
        const settings::Settings& settings;
        const particles::Problem& problem;
        bool with_potential;
        forces::AllWorkspaces& workspaces;
        particles::RawField& field;
        Report& report;
        comm::Communicator& comm;
        const core::Log& log;
    };

    /// The targets of a group where one image of the sources meets them.
    struct GroupImage {
        int32_t cell;
        int64_t index;        // of the group
        lists::Group group;   // moved
        geometry::Vec3 shift;
        bool adds, counts_on; // to the field, to the counts of the group, that are there
    };

    // tree_force.cpp
    void build_own(const Job& job);
    void build_tree(const Job& job);
    void choose_targets(const Job& job);
    void choose_images(const Job& job);
    void sum_images(const Job& job) const;
    const core::Buffer<lists::Group>& groups_met();
    bool estimates(const Job& job) const;
    bool has_last(const Job& job) const;
    bool has_traces(const Job& job) const;
    void scale_groups(const Job& job, bool use_last);
    void count(Report& report) const;
    /// What is told of a computation whose sums are done.
    void tell(const Job& job) const;

    // tree_ranks.cpp
    /// Collective: the top, the factors of the error MAC, and all that the own groups need of other ranks;
    /// between sending and receiving it does the first pass. The forest is then ready for the second.
    void evaluate_over_ranks(const Job& job);
    /// Boxes that the own particles are in: the nodes of the first level with enough of them, and leaves above.
    void cover_particles(core::Buffer<lists::Group>& boxes) const;
    void find_pieces(const Job& job);
    void meet_ranks(const Job& job, const essential::LetExchange::Frame& frame);
    void estimate_over_ranks(const Job& job, const essential::LetExchange::Frame& frame);
    void fill_coarse(const Job& job);
    void push(const Job& job, const essential::LetExchange::Frame& frame);
    void fetch(const Job& job, const essential::LetExchange::Frame& frame);
    void tell_cost(const Job& job);

    // tree_walk.cpp
    bool has_hierarchy(const Job& job) const;
    /// Lists and sums of the cells that the groups [begin, end) are, or of all cells where they have a hierarchy. On
    /// many ranks the first pass takes own nodes, of groups alone also accepted branches; the second (`remote`) takes
    /// nodes from other ranks, and adds.
    template <typename T>
    void evaluate_cells(const Job& job, int64_t begin, int64_t end, bool remote);
    void share_out(const Job& job, int32_t begin, int32_t end, int32_t above);
    template <typename T>
    void walk_upper(const Job& job);
    template <typename T>
    void inherit(const Job& job, int32_t cell, const Inherited& above, Inherited& own, int thread);
    template <typename T>
    void list_group(const Job& job, const GroupImage& of, std::span<const lists::Undecided> from, WalkThread& lists) const;
    template <typename T>
    void visit_group(const Job& job, int32_t cell, const Inherited& above, bool remote, int thread);
    template <typename T>
    void visit_images(const Job& job, const GroupImage& own, const Inherited& above, bool remote, int thread);
    GroupImage group_image(int32_t cell, bool remote) const;
    template <typename T>
    bool serves_all(const Job& job, const geometry::Box& box, const forces::Frame& frame, double softening) const;
    template <typename T>
    void visit(const Job& job, int32_t cell, const Inherited& above, size_t depth, bool remote, int thread);
    template <typename T>
    void visit_transposed(const Job& job, const CellTask& task, bool remote, int thread);

    // tree_evaluate.cpp
    void evaluate(const Job& job, int64_t begin, int64_t end, bool remote);
    template <typename T>
    void evaluate_group(const Job& job, const GroupImage& of, const CellField& above, bool remote, int thread);
    bool is_nearer(int32_t node, const geometry::Box& box, double least) const;
    bool has_close(const forces::CloseTargets& close, const int32_t* begin, const int32_t* end) const;
    int64_t pairs_in_double(const Job& job, const GroupImage& of, const int32_t* entry_begin, const int32_t* entry_end,
                            const forces::Frame& frame, const forces::PairVariant& variant, bool add,
                            forces::Workspace<double>& work);
    template <typename T>
    int64_t sum_beyond(const Job& job, const GroupImage& of, const int32_t* leaf_begin, const int32_t* leaf_end,
                       const int32_t* node_begin, const int32_t* node_end, const forces::Frame& frame,
                       const forces::PairVariant& variant, forces::Workspace<double>& work);
    double longest_softening(const Job& job, const lists::Group& group,
                             const forces::PairVariant& variant) const;
    forces::CellVariant cell_variant(const Job& job) const;
    forces::ParticleArrays target_arrays() const;
    template <typename T>
    void gather(const int32_t* entry_begin, const int32_t* entry_end, const forces::Frame& frame,
                const forces::PairVariant& variant, double length, int64_t chunk,
                const forces::Screening& screening, forces::Workspace<T>& work, int64_t& sources);
    void add_image_force(const Job& job, const GroupImage& of, const forces::Frame& frame,
                         const forces::FieldSums& sums);
    /// The first of the groups that are images of one.
    bool leads(int64_t group) const {
        return group == 0 || targets.groups()[group - 1].first != targets.groups()[group].first;
    }
    template <typename T>
    void sum_far(const lists::Group& group, const CellField& above, const int32_t* far, int64_t count,
                 const forces::Frame& frame, const forces::CellVariant& variant, double length,
                 forces::Workspace<T>& work);
    template <typename T>
    void sum_cells(const Job& job, const lists::Group& group, const CellField& above, int32_t* begin, int32_t* end,
                   const core::Buffer<int32_t>& far,
                   const forces::Frame& frame, double length, forces::Workspace<T>& work, int64_t& near_count);
    template <typename T>
    void add_far_cells(const int32_t* nodes, int64_t count, const forces::CellVariant& variant, double length,
                       const geometry::Vec3& shift, CellField& field, forces::Workspace<T>& work);
    int32_t* near_end(const Job& job, const lists::Group& group, const forces::CellVariant& variant,
                      int32_t* begin, int32_t* end) const;
    double nearest_length(const lists::Group& group, const CellField& above, const WalkThread& lists) const;
};

} // namespace graft::engine
