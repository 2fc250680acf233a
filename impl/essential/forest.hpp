// SPDX-License-Identifier: BSD-3-Clause
// The nodes that groups of targets walk over, and all that is known of them.
//
// Invariants: nodes [0, own_end) are this rank's tree; [own_end, top_end) are the top, a small tree over the
// roots (branches) of all ranks' trees, whose terminal nodes are copies of those roots (slots); from top_end
// on stand nodes that came from other ranks. The walk begins at criterion.root: 0 on one rank, where there is
// no top, else own_end. Particles of nodes from other ranks stand in `remote`, all others in the tree.
#pragma once

#include "forces/p2p/gather.hpp"
#include "lists/criterion.hpp"
#include "moments/expansion.hpp"
#include "moments/moments.hpp"
#include "settings/settings.hpp"
#include "essential/cpu_message.hpp"
#include "tree/tree.hpp"

#include <vector>

namespace graft::essential {

struct ParticleStore {
    explicit ParticleStore(core::Memory& memory)
        : x(memory, "remote x"), y(memory, "remote y"), z(memory, "remote z"),
          charge(memory, "remote charges"), softening(memory, "remote softening") {}
    core::Buffer<double> x, y, z, charge, softening; // softening may be empty
    void resize_keep(int64_t n, bool with_softening) {
        for (core::Buffer<double>* values : {&x, &y, &z, &charge})
            values->resize_keep(n);
        softening.resize_keep(with_softening ? n : 0);
    }
    forces::ParticleArrays view() const {
        return {x.data(), y.data(), z.data(), charge.data(), softening.empty() ? nullptr : softening.data(),
                x.size()};
    }
};

struct Forest {
    explicit Forest(core::Memory& memory)
        : tree(memory), moments(memory), single(memory, "expansions"), full(memory, "expansions"),
          criterion(memory), reach(memory, "MAC reach"), heap_of(memory, "heaps"), heaps(memory),
          remote(memory), alias(memory, "own branches") {}

    tree::Tree tree;
    moments::Moments moments;
    core::Buffer<float> single;
    core::Buffer<double> full;
    lists::Criterion criterion;
    core::Buffer<double> reach; // error MAC: per node
    // Leaves of many equal points act as one source each: their particles differ in nothing but the charge.
    core::Buffer<int32_t> heap_of; // node -> heap, -1 = no heap; empty when there are none
    ParticleStore heaps;
    ParticleStore remote;
    core::Buffer<int32_t> alias; // top node -> the own root it is a slot of, -1 = none
    int32_t own_end = 0, top_end = 0;

    template <typename T>
    core::Buffer<T>& expansion() {
        if constexpr (sizeof(T) == 4)
            return single;
        else
            return full;
    }

    /// The expansions of the precision in use.
    char* expansion_bytes(const settings::Settings& settings) {
        return settings.precision == settings::Precision::fp64 ? reinterpret_cast<char*>(full.data())
                                                     : reinterpret_cast<char*>(single.data());
    }

    /// Room for nodes and particles from other ranks, node_count and particle_count in all; for the masses of
    /// nodes.
    void resize_remote(const settings::Settings& settings, int64_t node_count, int64_t particle_count, bool lengths,
                       int64_t record_bytes);
    void resize_masses(int64_t node_count, bool lengths);
    void set_remote(int64_t node, const PackedNode& packed);
    /// lists::estimated_softening() of a node.
    double estimated_softening(const settings::Settings& settings, int64_t node) const;
    void set_mass(int64_t node, const PackedMass& mass);
    /// The walk's link of a slot or a node from another rank, from its children.
    void link_remote(int32_t node);

    /// Roots of the own tree stand first: [0, own_roots()).
    int32_t own_roots() const { return tree.root_count(); }

    /// Own tree built, charges sorted: heaps of leaves with more than `leaf` particles.
    void find_heaps(int leaf);
    /// The criterion of the own nodes, whose moments are known; those of few particles are always summed
    /// directly.
    void fill_own_criterion(const backend::Executor& executor, const settings::Settings& settings);
    /// Nodes whose cells meet one of the boxes, where other ranks have particles, are pieces of a cell:
    /// lopsided, with mass at the rim, so that their errors are larger than those of cells and add up along
    /// the border. They must be further away. Without it the error grows by half and more over 8 ranks.
    void keep_off_pieces(const backend::Executor& executor, const settings::Settings& settings,
                         const std::vector<geometry::Box>& others);
    void keep_off(const settings::Settings& settings, int64_t node);
    /// The criterion of the nodes from own_end on, none of which is summed directly.
    void fill_top_criterion(const backend::Executor& executor, const settings::Settings& settings);
    /// Expansions of nodes [begin, node count of the moments).
    void fill_expansions(const backend::Executor& executor, const settings::Settings& settings, bool softened,
                         int32_t begin);

    /// The sources that an entry of a leaf list stands for.
    struct Source {
        forces::ParticleArrays from;
        int64_t first, count;
    };
    Source source_of(int32_t entry) const {
        int32_t node = entry;
        if (node >= own_end && node < top_end && alias[node - own_end] >= 0)
            node = alias[node - own_end];
        if (!heap_of.empty() && node < own_end && heap_of[node] >= 0)
            return {heaps.view(), heap_of[node], 1};
        return {node < own_end ? forces::tree_particles(tree) : remote.view(), tree.nodes[node].first,
                tree.nodes[node].count};
    }

  private:
    void fill_criterion(const backend::Executor& executor, const settings::Settings& settings, int64_t begin, bool own);
};

/// Numbers of sources below which a node is summed directly: an expansion costs about as much as this many
/// pairs.
int64_t direct_count(const settings::Settings& settings);
/// What the settings say of the criterion of a rank's own nodes.
lists::CriterionOptions criterion_options(const settings::Settings& settings);

} // namespace graft::essential
