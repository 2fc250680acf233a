// SPDX-License-Identifier: BSD-3-Clause
// See groups.hpp. Leaves larger than a group are cut further by the keys they were sorted by.
#include "lists/groups.hpp"

#include "geometry/morton.hpp"

#include <algorithm>

namespace graft::lists {

namespace {

class Cutter {
  public:
    Cutter(const tree::Tree& tree, const int32_t* before, int group_size, core::Buffer<Group>& groups,
           core::Buffer<TargetCell>& cells)
        : tree_(tree), before_(before), group_size_(group_size), groups_(groups), cells_(cells) {}

    /// Roots that are sisters in the tree of all particles are packed together as there.
    void cut_roots() {
        for (int32_t k = 0; k < tree_.root_count(); ++k) {
            if (k > 0 && !sisters(k - 1, k))
                flush();
            const tree::Node& root = tree_.nodes[k];
            const int64_t around = tree_.root_parents.empty() ? 0 : tree_.root_parents[k];
            const int64_t limit = around > 0 ? group_limit(around, group_size_) : limit_of(root);
            if (!pack(root.first, root.first + root.count, limit))
                cut_node(k);
        }
        flush();
    }

  private:
    bool sisters(int32_t a, int32_t b) const {
        const int level = tree_.root_levels[a], dimension = tree_.options.dimension;
        const int shift = (geometry::key_levels(dimension) - level + 1) * dimension;
        return level > 0 && level == tree_.root_levels[b] &&
               tree_.root_keys[a] >> shift == tree_.root_keys[b] >> shift;
    }

    /// What is in a leaf meets itself directly, however it is cut.
    int64_t limit_of(const tree::Node& node) const {
        return node.child_count == 0 ? group_size_ : group_limit(node.count, group_size_);
    }

    void cut_node(int32_t index) {
        const tree::Node& node = tree_.nodes[index];
        const int64_t last = node.first + node.count, limit = limit_of(node);
        const bool whole = pack(node.first, last, limit);
        const int64_t cell = cells_.size();
        if (!whole)
            cells_.push_back({});
        if (!whole && node.child_count == 0)
            cut_keys(node.first, last);
        for (int32_t c = 0; c < node.child_count && !whole; ++c) {
            const tree::Node& child = tree_.nodes[node.first_child + c];
            if (!pack(child.first, child.first + child.count, limit))
                cut_node(node.first_child + c);
        }
        flush();
        if (!whole)
            cells_[cell].next = static_cast<int32_t>(cells_.size());
    }

    int64_t targets_before(int64_t place) const { return before_ != nullptr ? before_[place] : place; }

    /// Adds the targets at places [begin, end) to the open group, or starts a new one. False: more than
    /// `limit`; no group is open then.
    bool pack(int64_t begin, int64_t end, int64_t limit) {
        const int64_t first = targets_before(begin), count = targets_before(end) - first;
        if (open_.count + count > limit)
            flush();
        if (count > limit)
            return false;
        if (open_.count == 0)
            open_.first = first;
        open_.count += count;
        return true;
    }

    void flush() {
        if (open_.count > 0) {
            TargetCell cell;
            cell.group = static_cast<int32_t>(groups_.size());
            cell.next = static_cast<int32_t>(cells_.size() + 1);
            cells_.push_back(cell);
            groups_.push_back(open_);
        }
        open_.count = 0;
    }

    /// Too many targets at places [begin, end) of one leaf: by cells of its keys; where keys end, in equal
    /// pieces.
    void cut_keys(int64_t begin, int64_t end) {
        const uint64_t* keys = tree_.keys.data();
        const int dimension = tree_.options.dimension, levels = geometry::key_levels(dimension);
        const int level = geometry::common_level(keys[begin], keys[end - 1], dimension);
        if (level == levels) {
            cut_evenly(targets_before(begin), targets_before(end));
            return;
        }
        const int shift = (levels - 1 - level) * dimension;
        for (int64_t first = begin, last = begin; first < end; first = last) {
            last = std::partition_point(keys + first, keys + end,
                                        [&](uint64_t key) { return key >> shift == keys[first] >> shift; }) -
                   keys;
            if (!pack(first, last, group_size_))
                cut_keys(first, last);
        }
        flush();
    }

    void cut_evenly(int64_t first, int64_t last) {
        for (; first < last; first += group_size_) {
            open_.first = first;
            open_.count = std::min<int64_t>(group_size_, last - first);
            flush();
        }
    }

    const tree::Tree& tree_;
    const int32_t* before_;
    int64_t group_size_;
    core::Buffer<Group>& groups_;
    core::Buffer<TargetCell>& cells_;
    Group open_;
};

} // namespace

void cut_groups(const tree::Tree& octree, const int32_t* before, int group_size,
                core::Buffer<Group>& groups, core::Buffer<TargetCell>& cells) {
    groups.clear();
    cells.clear();
    Cutter(octree, before, group_size, groups, cells).cut_roots();
}

} // namespace graft::lists
