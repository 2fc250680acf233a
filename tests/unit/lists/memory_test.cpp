// SPDX-License-Identifier: BSD-3-Clause
// Refused memory at every point of tree, targets and lists: an Error each time, and the same objects work
// afterwards.
#include "scene.hpp"

#include "core/error.hpp"

#include <cstdlib>

namespace graft::lists {
namespace {

using namespace testing;

struct Refusing { // an allocator that refuses its `refuse`-th allocation
    int64_t made = 0, refuse = -1;
    static void* allocate(void* user, int64_t bytes, int64_t alignment) {
        auto* self = static_cast<Refusing*>(user);
        if (self->made++ == self->refuse)
            return nullptr;
        const auto step = static_cast<size_t>(alignment);
        return std::aligned_alloc(step, (static_cast<size_t>(bytes) + step - 1) / step * step);
    }
    static void release(void*, void* pointer, int64_t) { std::free(pointer); }
};

/// Everything from particles to lists, in objects that live through failures.
struct Engine {
    core::Memory& memory;
    tree::TreeBuilder builder{memory};
    tree::Tree tree{memory};
    TargetSet targets{memory};
    Criterion criterion{memory};
    ListBuilder list_builder{memory};
    InteractionLists lists{memory};

    void run(const Points& points, tree::TreeType type, WalkKind kind) {
        const backend::Executor executor{memory,
                                         1}; // one thread: the refused allocation is always the same one
        tree::TreeOptions options;
        options.type = type;
        tree::BuildTimes times;
        builder.build(executor, options, points.size(), points.x.data(), points.y.data(), points.z.data(),
                      nullptr, points.softening.data(), tree, times);
        const std::vector<int32_t> chosen = {5, 900, 17, 3, 2, 1999};
        targets.set_particles(executor, tree, static_cast<int64_t>(chosen.size()), chosen.data(), 4);
        const Properties properties(tree);
        fill_criterion(executor, tree, {}, properties.view(true), criterion);
        list_builder.build(executor, tree, criterion, targets.groups().data(), targets.group_count(), kind,
                           lists);
    }
};

TEST(Memory, refused_at_every_point_is_an_error_and_leaves_a_working_engine) {
    Points points = two_balls(2000);
    for (size_t i = 0; i < points.x.size(); i += 2)
        points.x[i] += 1e12; // deeper than the keys
    for (const tree::TreeType type : {tree::TreeType::octree, tree::TreeType::orb})
        for (const WalkKind kind : {WalkKind::two_pass, WalkKind::transposed}) {
            Refusing plain;
            core::Memory good({&plain, Refusing::allocate, Refusing::release});
            Engine expected{good};
            expected.run(points, type, kind);
            ASSERT_GT(plain.made, 20);
            for (int64_t refuse = 0; refuse < plain.made; ++refuse) {
                Refusing refusing;
                refusing.refuse = refuse;
                core::Memory memory({&refusing, Refusing::allocate, Refusing::release});
                {
                    Engine engine{memory};
                    try {
                        engine.run(points, type, kind);
                        ADD_FAILURE() << "allocation " << refuse << " was refused, and nobody noticed";
                    } catch (const core::Error& error) {
                        ASSERT_EQ(error.status(), core::Status::memory);
                    }
                    engine.run(points, type, kind);
                    expect_same_lists(engine.lists, expected.lists);
                }
                ASSERT_EQ(memory.bytes_held(), 0);
            }
        }
}

} // namespace
} // namespace graft::lists
