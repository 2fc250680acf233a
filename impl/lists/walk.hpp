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
    bool root_terminal;
    int levels;
};

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
/// Counts, and appends to `notes` one Decision per opened node that contributes, and one with first_child =
/// -1 behind each group.
void note_groups(const WalkInput& input, const Group* groups, int64_t begin, int64_t end, int32_t* scratch,
                 const WalkOutput& output, core::Buffer<Decision>& notes);
void fill_from_notes(const core::Buffer<Decision>& notes, int64_t begin, int64_t end,
                     const WalkOutput& output);
/// At most transposed_block groups.
void count_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                      int32_t* scratch, const WalkOutput& output);
void fill_transposed(const WalkInput& input, const Group* groups, int64_t begin, int64_t end,
                     int32_t* scratch, const WalkOutput& output);

} // namespace graft::lists
