// SPDX-License-Identifier: BSD-3-Clause
// See top_tree.hpp.
#include "essential/top_tree.hpp"

#include "geometry/morton.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace graft::essential {

namespace {

constexpr int32_t most_children = 8;
constexpr double smallest_edge = 1e-290; // as for the keys of particles: 2^31 / edge must be finite

} // namespace

TopTree::TopTree(core::Memory& memory)
    : own_bytes_(memory, "own branches"), all_bytes_(memory, "branches"), branches_(memory, "branches"),
      values_(memory, "branch moments"), order_(memory, "branch order"), slot_of_(memory, "branch slots"),
      branch_of_(memory, "slot branches"), first_(memory, "first branches") {}

/// The message: every root of the own tree.
void TopTree::fill_own(const comm::Communicator& comm, const settings::Settings& settings, const Forest& forest) {
    const tree::Tree& tree = forest.tree;
    const moments::Moments& m = forest.moments;
    const int64_t value_bytes = m.stride() * static_cast<int64_t>(sizeof(double));
    const int64_t record = static_cast<int64_t>(sizeof(Branch)) + value_bytes;
    own_bytes_.resize(forest.own_roots() * record);
    for (int32_t k = 0; k < forest.own_roots(); ++k) {
        const bool softening = !m.softening.empty();
        Branch branch{};
        branch.key = settings.tree_scope == settings::TreeScope::global ? tree.root_keys[k] : 0;
        branch.rank = comm.rank();
        branch.number = k;
        branch.levels = tree.levels();
        branch.count = tree.nodes[k].count;
        branch.edge = tree.edges[k];
        branch.box = tree.boxes[k];
        branch.centre[0] = m.cx[k];
        branch.centre[1] = m.cy[k];
        branch.centre[2] = m.cz[k];
        branch.magnitude = m.magnitude[k];
        branch.radius = m.radius[k];
        branch.spread = m.spread[k];
        branch.rho = m.rho[k];
        branch.softening = softening ? m.softening[k] : 0;
        branch.softening_square = softening ? m.softening_square[k] : 0;
        branch.a = forest.criterion.a[k];
        branch.b = forest.criterion.b[k];
        branch.is_leaf = forest.criterion.links[k].child_count == 0;
        char* to = own_bytes_.data() + k * record;
        std::memcpy(to, &branch, sizeof branch);
        std::memcpy(to + sizeof branch, m.of(k), static_cast<size_t>(value_bytes));
    }
}

void TopTree::unpack(int stride) {
    const int64_t value_bytes = stride * static_cast<int64_t>(sizeof(double));
    const int64_t record = static_cast<int64_t>(sizeof(Branch)) + value_bytes;
    const int64_t count = all_bytes_.size() / record;
    branches_.resize(count);
    values_.resize(count * stride);
    for (int64_t i = 0; i < count; ++i) {
        const char* from = all_bytes_.data() + i * record;
        std::memcpy(&branches_[i], from, sizeof(Branch));
        std::memcpy(&values_[i * stride], from + sizeof(Branch), static_cast<size_t>(value_bytes));
    }
    for (int64_t r = 0; r < first_.size(); ++r)
        first_[r] = offset_[static_cast<size_t>(r)] / record;
}

/// Local trees: the key of a root is that of its centre in the cube of all centres.
void TopTree::sort(const settings::Settings& settings) {
    if (settings.tree_scope == settings::TreeScope::local) {
        geometry::Box box;
        for (const Branch& branch : branches_)
            box.include(branch.centre[0], branch.centre[1], branch.centre[2]);
        const double edge = branches_.empty() ? 1 : std::max(box.longest_edge(), smallest_edge);
        const geometry::KeyFrame frame(box.lower, edge, settings.dimension);
        for (Branch& branch : branches_)
            branch.key = frame.key(branch.centre[0], branch.centre[1], branch.centre[2]);
    }
    order_.resize(branches_.size());
    for (int32_t i = 0; i < order_.size(); ++i)
        order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
        return branches_[a].key != branches_[b].key ? branches_[a].key < branches_[b].key : a < b;
    });
}

/// The children of a node over two branches or more: cells of the keys, or equal shares where keys end.
void TopTree::part(const settings::Settings& settings, const Range& range, std::vector<Range>& parts) const {
    parts.clear();
    const auto key = [&](int32_t i) { return branches_[order_[i]].key; };
    const int levels = geometry::key_levels(settings.dimension);
    const int level = geometry::common_level(key(range.begin), key(range.end - 1), settings.dimension);
    const int32_t count = range.end - range.begin;
    if (level == levels || count <= (settings.tree_scope == settings::TreeScope::local ? most_children : 1)) {
        const int32_t share = (count + most_children - 1) / most_children;
        for (int32_t begin = range.begin; begin < range.end; begin += share)
            parts.push_back({begin, std::min(begin + share, range.end)});
        return;
    }
    const int shift = (levels - 1 - level) * settings.dimension;
    for (int32_t begin = range.begin, end = begin; begin < range.end; begin = end) {
        while (end < range.end && key(end) >> shift == key(begin) >> shift)
            ++end;
        parts.push_back({begin, end});
    }
}

/// Top nodes in level order, children together; returns the number of levels.
int TopTree::grow(const settings::Settings& settings, Forest& forest) {
    tree::Tree& tree = forest.tree;
    ranges_.clear();
    if (!branches_.empty())
        ranges_.push_back({0, static_cast<int32_t>(branches_.size())});
    int levels = 0;
    slot_of_.resize(branches_.size());
    branch_of_.clear();
    tree.nodes.resize_keep(forest.own_end);
    for (size_t begin = 0, level_end = ranges_.size(); begin < ranges_.size(); ++begin) {
        if (begin == level_end || begin == 0) {
            level_end = begin == 0 ? 1 : ranges_.size();
            ++levels;
        }
        const Range range = ranges_[begin];
        const auto node = forest.own_end + static_cast<int32_t>(begin);
        tree.nodes.push_back({0, 0, -1, levels - 1, 0, 0});
        const bool slot = range.end - range.begin == 1;
        branch_of_.push_back(slot ? order_[range.begin] : -1);
        if (slot) {
            slot_of_[order_[range.begin]] = node;
            continue;
        }
        part(settings, range, parts_);
        tree.nodes[node].first_child = forest.own_end + static_cast<int32_t>(ranges_.size());
        tree.nodes[node].child_count = static_cast<int32_t>(parts_.size());
        ranges_.insert(ranges_.end(), parts_.begin(), parts_.end());
    }
    forest.top_end = tree.node_count();
    return levels;
}

/// Boxes, edges and moments, children before parents.
void TopTree::write_nodes(const settings::Settings& settings, Forest& forest, bool per_particle_softening) {
    tree::Tree& tree = forest.tree;
    moments::Moments& m = forest.moments;
    tree.boxes.resize_keep(forest.top_end);
    tree.edges.resize_keep(forest.top_end);
    moments::resize_moments(m, forest.top_end, per_particle_softening);
    for (int32_t node = forest.top_end - 1; node >= forest.own_end; --node) {
        const Branch* from = branch(forest, node);
        if (from == nullptr) {
            const tree::Node& inner = tree.nodes[node];
            tree.boxes[node] = {};
            for (int32_t c = 0; c < inner.child_count; ++c)
                tree.boxes[node].include(tree.boxes[inner.first_child + c]);
            tree.edges[node] = tree.boxes[node].longest_edge();
            if (settings.tree_scope == settings::TreeScope::global) {
                const Range& range = ranges_[static_cast<size_t>(node - forest.own_end)];
                tree.edges[node] =
                    std::ldexp(tree.root_edge, -geometry::common_level(branches_[order_[range.begin]].key,
                                                                       branches_[order_[range.end - 1]].key,
                                                                       settings.dimension));
            }
            moments::combine_moments(tree, node, m);
            continue;
        }
        tree.boxes[node] = from->box;
        tree.edges[node] = from->edge;
        m.cx[node] = from->centre[0];
        m.cy[node] = from->centre[1];
        m.cz[node] = from->centre[2];
        m.magnitude[node] = from->magnitude;
        m.radius[node] = from->radius;
        m.spread[node] = from->spread;
        m.rho[node] = from->rho;
        if (per_particle_softening) {
            m.softening[node] = from->softening;
            m.softening_square[node] = from->softening_square;
        }
        std::copy_n(&values_[(from - branches_.data()) * m.stride()], m.stride(),
                    &m.values[node * int64_t{m.stride()}]);
    }
}

void TopTree::build(comm::Communicator& comm, const backend::Executor& executor, const settings::Settings& settings,
                    bool softened, bool per_particle_softening, Forest& forest) {
    const auto ranks = static_cast<size_t>(comm.size());
    rank_ = comm.rank();
    comm.together([&] {
        bytes_.resize(ranks);
        offset_.resize(ranks + 1);
        first_.resize(comm.size());
        fill_own(comm, settings, forest);
    });
    const int64_t own = own_bytes_.size();
    comm.allgather(&own, 1, bytes_.data());
    comm.together([&] {
        offset_[0] = 0;
        for (size_t r = 0; r < ranks; ++r)
            offset_[r + 1] = offset_[r] + bytes_[r];
        all_bytes_.resize(offset_[ranks]);
    });
    comm.allgatherv_bytes(own_bytes_.data(), own, all_bytes_.data(), bytes_.data(), offset_.data());
    comm.together([&] {
        unpack(forest.moments.stride());
        sort(settings);
        int levels = grow(settings, forest);
        write_nodes(settings, forest, per_particle_softening);
        forest.fill_top_criterion(executor, settings);
        for (int32_t node = forest.own_end; node < forest.top_end; ++node)
            if (const Branch* from = branch(forest, node); from != nullptr) {
                forest.criterion.a[node] = from->a;
                forest.criterion.b[node] = from->b;
            } else if (settings.tree_scope == settings::TreeScope::local)
                forest.keep_off(settings, node);
        int below = 0;
        for (const Branch& one : branches_)
            below = std::max(below, one.levels);
        forest.criterion.levels = levels + below;
        forest.criterion.root = forest.own_end;
        forest.fill_expansions(executor, settings, softened, forest.own_end);
        forest.alias.resize(forest.top_end - forest.own_end);
        enter_own(forest);
    });
}

double TopTree::overlap() const {
    std::vector<geometry::Box> boxes; // per rank with particles: branches come in rank order
    geometry::Box all;
    for (int64_t i = 0; i < branches_.size(); ++i) {
        if (i == 0 || branches_[i].rank != branches_[i - 1].rank)
            boxes.emplace_back();
        boxes.back().include(branches_[i].box);
        all.include(branches_[i].box);
    }
    double sum = 0;
    for (const geometry::Box& box : boxes) {
        double share = 1;
        for (int a = 0; a < 3; ++a)
            share *= all.edge(a) > 0 ? box.edge(a) / all.edge(a) : 1;
        sum += share;
    }
    return sum;
}

void TopTree::clear_remote(Forest& forest) const {
    for (int64_t i = 0; i < branches_.size(); ++i)
        if (branches_[i].rank != rank_) {
            forest.tree.nodes[slot_of_[i]] = {0, 0, -1, 0, 0, 0};
            forest.criterion.links[slot_of_[i]] = {};
        }
    link(forest);
}

void TopTree::enter_own(Forest& forest) const {
    std::fill(forest.alias.begin(), forest.alias.end(), -1);
    for (int64_t i = 0; i < branches_.size(); ++i)
        if (branches_[i].rank == rank_) {
            const int32_t slot = slot_of_[i], root = branches_[i].number;
            forest.alias[slot - forest.own_end] = root;
            forest.tree.nodes[slot] = forest.tree.nodes[root];
            forest.criterion.links[slot] = forest.criterion.links[root];
        }
    clear_remote(forest);
}

void TopTree::enter_remote(Forest& forest) const {
    std::fill(forest.alias.begin(), forest.alias.end(), -1);
    for (int64_t i = 0; i < branches_.size(); ++i)
        if (branches_[i].rank == rank_) {
            forest.tree.nodes[slot_of_[i]] = {0, 0, -1, 0, 0, 0};
            forest.criterion.links[slot_of_[i]] = {};
        }
    link(forest);
}

void TopTree::refuse_own(Forest& forest) const {
    constexpr double never = std::numeric_limits<double>::infinity();
    core::Buffer<double>& b = forest.criterion.b;
    for (int32_t node = forest.top_end - 1; node >= forest.own_end; --node) { // children before parents
        const tree::Node& inner = forest.tree.nodes[node];
        const int32_t branch = branch_of_[node - forest.own_end];
        bool own = branch >= 0 && branches_[branch].rank == rank_;
        for (int32_t c = 0; c < inner.child_count && branch < 0; ++c)
            own = own || b[inner.first_child + c] == never;
        if (own)
            b[node] = never;
    }
}

void TopTree::link(Forest& forest) const {
    core::Buffer<lists::Link>& links = forest.criterion.links;
    for (int32_t node = forest.own_end; node < forest.top_end; ++node) {
        if (branch_of_[node - forest.own_end] >= 0)
            continue;
        const tree::Node& inner = forest.tree.nodes[node];
        lists::Link& to = links[node];
        to = {inner.first_child, static_cast<uint8_t>(inner.child_count), 0, 0};
        for (int c = 0; c < inner.child_count; ++c)
            if (links[inner.first_child + c].child_count == 0)
                to.terminal_mask = static_cast<uint8_t>(to.terminal_mask | 1 << c);
    }
    forest.criterion.root_terminal =
        forest.top_end > forest.own_end && links[forest.own_end].child_count == 0;
}

} // namespace graft::essential
