// SPDX-License-Identifier: BSD-3-Clause
// Coarse walk, one group at a time.
#include "lists/field_estimate.hpp"

#include "lists/estimate_step.hpp"

namespace graft::lists {

namespace {

constexpr int stack_size = 2048; // levels times seven siblings, for any depth of a tree in double coordinates

struct Walker {
    const tree::Tree& tree;
    const moments::Moments& moments;
    int32_t root;

    /// Opens every node closer than its size; leaves and what the stack cannot hold count as they are.
    void add(const double (&at)[3], double extent, EstimateSum& sum) const {
        int32_t stack[stack_size];
        int top = 0;
        stack[top++] = root;
        while (top > 0) {
            const int32_t node = stack[--top];
            const double edge = tree.boxes[node].longest_edge();
            const double x = moments.cx[node] - at[0], y = moments.cy[node] - at[1],
                         z = moments.cz[node] - at[2];
            const double r2 = x * x + y * y + z * z;
            const tree::Node& n = tree.nodes[node];
            if (n.child_count > 0 && coarse_opens(edge, r2) && top + n.child_count <= stack_size) {
                for (int32_t k = 0; k < n.child_count; ++k)
                    stack[top++] = n.first_child + k;
                continue;
            }
            coarse_add(moments.magnitude[node], edge, extent, x, y, z, r2, sum);
        }
    }
};

/// size[g] = size_at(walker, centre, longest edge) of each group.
template <class SizeAt>
void estimate(const backend::Executor& executor, const Walker& walker, const core::Buffer<Group>& groups,
              core::Buffer<double>& size, const SizeAt& size_at) {
    size.resize(groups.size());
    executor.for_each(
        groups.size(),
        [&](int64_t g) {
            const geometry::Box& box = groups[g].target.box;
            size[g] = size_at(walker, geometry::Vec3{box.centre(0), box.centre(1), box.centre(2)}, box.longest_edge());
        },
        64);
}

} // namespace

void estimate_accelerations(const backend::Executor& executor, const tree::Tree& tree,
                            const moments::Moments& moments, int32_t root,
                            const core::Buffer<Group>& groups, core::Buffer<double>& size) {
    estimate(executor, {tree, moments, root}, groups, size,
             [](const Walker& walker, const geometry::Vec3& at, double extent) {
                 EstimateSum sum;
                 walker.add({at.x, at.y, at.z}, extent, sum);
                 return coarse_size(sum);
             });
}

void estimate_accelerations(const backend::Executor& executor, const tree::Tree& tree,
                            const moments::Moments& moments, int32_t root, const core::Buffer<Group>& groups,
                            const core::Buffer<geometry::Vec3>& images,
                            const std::function<geometry::Vec3(const geometry::Vec3&)>& beyond,
                            core::Buffer<double>& size) {
    estimate(executor, {tree, moments, root}, groups, size,
             [&](const Walker& walker, const geometry::Vec3& at, double extent) {
                 EstimateSum sum;
                 for (const geometry::Vec3& image : images)
                     walker.add({at.x + image.x, at.y + image.y, at.z + image.z}, extent, sum);
                 const geometry::Vec3 rest = beyond(at);
                 return std::hypot(sum.x + rest.x, sum.y + rest.y, sum.z + rest.z);
             });
}

} // namespace graft::lists
