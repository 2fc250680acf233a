// SPDX-License-Identifier: BSD-3-Clause
// Coarse walk, one group at a time.
#include "lists/field_estimate.hpp"

namespace graft::lists {

namespace {

constexpr int stack_size = 2048; // levels times seven siblings, for any depth of a tree in double coordinates

struct Walker {
    const tree::Tree& tree;
    const moments::Moments& moments;
    int32_t root;
    EstimateSoftening softening;

    /// Opens every node closer than its size; leaves and what the stack cannot hold count as they are.
    void add(const double (&at)[3], double extent, double length, EstimateSum& sum) const {
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
            coarse_add(moments.magnitude[node], edge, extent, x, y, z, r2,
                       softening.square(r2, estimated_softening(softening, moments, node), length), sum);
        }
    }
};

} // namespace

void estimate_accelerations(const backend::Executor& executor, const EstimateInput& input, core::Buffer<double>& size) {
    const Walker walker{input.tree, input.moments, input.root, input.softening};
    size.resize(input.groups.size());
    executor.for_each(
        size.size(),
        [&](int64_t g) {
            const Target& target = input.groups[g].target;
            const geometry::Vec3 at{target.box.centre(0), target.box.centre(1), target.box.centre(2)};
            EstimateSum sum;
            if (input.images == nullptr) {
                walker.add({at.x, at.y, at.z}, target.box.longest_edge(), target.softening, sum);
                size[g] = coarse_size(sum);
                return;
            }
            for (const geometry::Vec3& image : *input.images)
                walker.add({at.x + image.x, at.y + image.y, at.z + image.z}, target.box.longest_edge(),
                           target.softening, sum);
            const geometry::Vec3 rest = input.beyond(at);
            size[g] = std::hypot(sum.x + rest.x, sum.y + rest.y, sum.z + rest.z);
        },
        64);
}

} // namespace graft::lists
