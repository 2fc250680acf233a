// SPDX-License-Identifier: BSD-3-Clause
// The walk itself, on the SIMD instructions of the machine; used by ListBuilder only.
//
// Each function handles groups[begin ... end) on one thread. The (up to 8) children of a node are tested
// against a target at once.
#pragma once

#include "lists/lists.hpp"

namespace graft::lists {

struct WalkInput {
    const double* cx;
    const double* cy;
    const double* cz;
    const double* a;
    const double* b;
    const Link* links;
    const geometry::Box* boxes;
    const double* softening; // or null
    double softening_length;
    bool compact_softening;
    double cutoff; // infinite: none
    int32_t root;
    bool root_terminal;
    int levels;
};

WalkInput walk_input(const tree::Tree& tree, const Criterion& criterion);

/// Groups that the transposed walk takes together.
inline constexpr int64_t transposed_block = 32;

/// int32 values of scratch that a walk needs per thread.
int64_t walk_scratch(int levels);

/// Where the lists of the groups go: in the counting pass only the offsets, which then hold counts.
struct WalkOutput {
    int64_t* node_offset;
    int64_t* leaf_offset;
    int32_t* nodes;
    int32_t* leaves;
};

void count_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                  const WalkOutput& output);
void fill_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                 const WalkOutput& output);
/// At most transposed_block groups.
void count_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                      int32_t* scratch, const WalkOutput& output);
void fill_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                     int32_t* scratch, const WalkOutput& output);

/// Bit c of refused[k]: the group number ids[k] refuses node base + c; c < node_count <= 8, k < count.
void refuse(const WalkInput& input, int32_t base, int node_count, const Group* groups, const int32_t* ids,
            int64_t count, uint8_t* refused);

/// A node that some of up to 64 targets open: which of its children are opened in turn, and of which the
/// particles are wanted.
struct Opening {
    int32_t node;
    uint8_t opened, leaves;
    uint16_t unused;
    uint64_t targets; // bit t: target t opens it
};

/// What a set of targets sees of the tree below the roots [root_begin, root_end): appends the opened nodes to
/// `openings`, roots first, then level by level, the children of a node together and in order. `terminal[r]`
/// tells of each root whether it is never opened; it is set to 1 where the root's particles are wanted, and
/// to 0 otherwise. Everything a target refuses, and only that, is opened or wanted: as the test is monotone
/// in the target's box, factor and softening, a group inside a target finds all it asks for.
void open_for_targets(const WalkInput& input, int32_t root_begin, int32_t root_end, const Target* targets,
                      int count, uint8_t* terminal, core::Buffer<Opening>& openings);

} // namespace graft::lists
