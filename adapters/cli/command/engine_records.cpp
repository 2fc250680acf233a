// SPDX-License-Identifier: BSD-3-Clause
// Decomposition and migration of records of 32 bytes, as bench orb measures them.
#include "command/arrays.hpp"
#include "command/engine.hpp"

namespace graft::cli {

namespace {

/// `components` numbers of each record, beginning at byte `offset`.
graft_array array_in(const std::vector<PointRecord>& records, std::size_t offset, int32_t components) {
    return graft_view_const(reinterpret_cast<const char*>(records.data()) + offset, GRAFT_F64,
                            static_cast<int64_t>(records.size()), components, sizeof(PointRecord), 0);
}

} // namespace

void Solver::decompose_records(const std::vector<PointRecord>& records, bool weighted, std::int32_t parts,
                               bool order, Parts& result) {
    result.owner.resize(order ? 0 : records.size());
    result.permutation.resize(order ? records.size() : 0);
    result.part_offset.resize(order ? static_cast<std::size_t>(parts) + 1 : 0);
    const graft_array owner = array_of(result.owner.data(), result.owner.size());
    const graft_array permutation = array_of(result.permutation.data(), result.permutation.size());
    const graft_array part_offset = array_of(result.part_offset.data(), result.part_offset.size());
    const graft_array position = array_in(records, offsetof(PointRecord, x), 3);
    const graft_array weight = array_in(records, offsetof(PointRecord, weight), 1);
    graft_particles points = sized<graft_particles>();
    points.n = static_cast<int64_t>(records.size());
    points.position[0] = &position;
    points.cost = weighted ? &weight : nullptr;
    graft_decomposition answer = sized<graft_decomposition>();
    answer.owner = order ? nullptr : &owner;
    answer.permutation = order ? &permutation : nullptr;
    answer.part_offset = order ? &part_offset : nullptr;
    engine_.require(engine_.api().decompose(context_, &points, &answer), "decomposing");
}

void Solver::migrate_records(const std::vector<std::int32_t>& owner, const std::vector<PointRecord>& records,
                             std::vector<PointRecord>& to) {
    const graft_array owners = array_of(owner.data(), owner.size());
    int64_t n_after = 0;
    engine_.require(engine_.api().migrate_plan(context_, &owners, &n_after), "moving records");
    to.resize(static_cast<std::size_t>(n_after));
    const graft_array before = array_in(records, 0, 4);
    const graft_array after = graft_view(to.data(), GRAFT_F64, n_after, 4, sizeof(PointRecord), 0);
    const graft_array* const from[1] = {&before};
    const graft_array* const into[1] = {&after};
    engine_.require(engine_.api().migrate(context_, 1, from, into), "moving records");
}

} // namespace graft::cli
