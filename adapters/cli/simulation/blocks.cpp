// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/blocks.hpp"

#include <algorithm>
#include <numeric>

namespace graft::cli {

namespace {

/// Calls f with every per-particle column of the state; those that are empty on all ranks, too.
template <typename F>
void each_column(State& state, F f) {
    Snapshot& p = state.particles;
    for (auto* column : {&p.x, &p.y, &p.z, &p.vx, &p.vy, &p.vz, &p.mass, &p.softening, &state.field.ax,
                         &state.field.ay, &state.field.az}) {
        f(*column);
    }
    f(p.id);
    f(p.component);
    f(state.place);
}

/// Particles [begin, end) with all of the state's numbers.
State block_of(State& whole, std::int64_t begin, std::int64_t end) {
    State block = whole;
    each_column(block, [&](auto& column) {
        if (!column.empty()) {
            column = {column.begin() + begin, column.begin() + end};
        }
    });
    return block;
}

/// Columns of `part` behind those of `whole`.
void append(State& whole, State& part) {
    std::vector<const void*> columns;
    each_column(part, [&](auto& column) { columns.push_back(&column); });
    std::size_t at = 0;
    each_column(whole, [&](auto& column) {
        const auto& more = *static_cast<const std::remove_reference_t<decltype(column)>*>(columns[at++]);
        column.insert(column.end(), more.begin(), more.end());
    });
}

void sort_by_place(State& state) {
    std::vector<std::size_t> order(state.place.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[static_cast<std::size_t>(state.place[i])] = i;
    }
    each_column(state, [&](auto& column) {
        auto sorted = column;
        for (std::size_t k = 0; k < sorted.size(); ++k) {
            sorted[k] = column[order[k]];
        }
        column = std::move(sorted);
    });
}

} // namespace

void Blocks::scatter(State& state) {
    state.place.resize(state.particles.size());
    std::iota(state.place.begin(), state.place.end(), 0);
    if (ranks_.alone()) {
        return;
    }
    names_ = std::move(state.particles.names);
    state.particles.names.clear();
    std::vector<ByteVector> parts;
    const auto n = static_cast<std::int64_t>(state.particles.size());
    for (int r = 0; ranks_.first() && r < ranks_.size(); ++r) {
        parts.push_back(pack(block_of(state, ranks_.block_begin(n, r), ranks_.block_begin(n, r + 1))));
    }
    state = unpack(ranks_.scatter(parts));
}

void Blocks::move(State& state, Solver& solver, const std::vector<std::int32_t>& owner) {
    std::int64_t leaving = 0;
    for (const std::int32_t rank : owner) {
        leaving += rank != ranks_.rank() ? 1 : 0;
    }
    if (ranks_.sum(leaving) == 0) {
        return;
    }
    std::vector<Column> columns;
    each_column(state, [&](auto& column) {
        // A column that a rank without particles has, too, is one that somebody has items of.
        if (ranks_.max(static_cast<std::int64_t>(column.size())) > 0) {
            columns.push_back(&column);
        }
    });
    solver.migrate(owner, columns);
}

void Blocks::decompose(State& state, Solver& solver) {
    if (!ranks_.alone()) {
        move(state, solver, solver.decompose(state.particles, state.place));
    }
}

void Blocks::balance(State& state, Solver& solver) {
    if (!ranks_.alone()) {
        move(state, solver, solver.balance(state.particles, state.place));
    }
}

State Blocks::gather(const State& state) {
    if (ranks_.alone()) {
        return state;
    }
    std::vector<ByteVector> parts = ranks_.gather(pack(state));
    State whole;
    for (std::size_t r = 0; r < parts.size(); ++r) {
        State part = unpack(parts[r]);
        ByteVector().swap(parts[r]);
        if (r == 0) {
            whole = std::move(part);
        } else {
            append(whole, part);
        }
    }
    sort_by_place(whole);
    whole.particles.names = names_;
    return whole;
}

} // namespace graft::cli
