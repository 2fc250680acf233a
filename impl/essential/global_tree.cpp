// SPDX-License-Identifier: BSD-3-Clause
// See global_tree.hpp.
#include "essential/global_tree.hpp"

#include "core/error.hpp"
#include "geometry/morton.hpp"
#include "lists/groups.hpp"
#include "essential/forest.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graft::essential {

using core::fail;
using core::Status;

namespace {

uint64_t cell_size(int level, int dimension) {
    return uint64_t{1} << (geometry::key_levels(dimension) - level) * dimension;
}

/// Cells with more particles than this have children that may go to different ranks.
int64_t most_together(const settings::Settings& settings) {
    return std::max<int64_t>({settings.leaf, settings.group, direct_count(settings)});
}

} // namespace

GlobalTree::GlobalTree(core::Memory& memory)
    : sorter_(memory), keys_(memory, "keys of all ranks' tree"), order_(memory, "order of keys"),
      place_(memory, "places of targets"), send_(memory, "particles to send"),
      receive_(memory, "particles received") {}

void GlobalTree::sort_keys(const backend::Executor& executor, const settings::Settings& settings, const particles::Problem& own) {
    keys_.resize(own.n);
    order_.resize(own.n);
    const geometry::KeyFrame frame(range_.root_lower, range_.root_edge, settings.dimension);
    executor.for_each(own.n, [&](int64_t i) {
        keys_[i] = frame.key(own.x[i], own.y[i], own.z[i]);
        order_[i] = static_cast<int32_t>(i);
    });
    sorter_.sort(executor, keys_, order_);
}

int64_t GlobalTree::keys_before(uint64_t key) const {
    return std::lower_bound(keys_.begin(), keys_.end(), key) - keys_.begin();
}

/// One level down: into the child with the wanted place, or to the nearer side of what must stay together.
void GlobalTree::descend(Border& border, const int64_t (&counts)[8], const settings::Settings& settings) const {
    const int cells = 1 << settings.dimension;
    const uint64_t size = cell_size(border.level + 1, settings.dimension);
    int child = 0;
    int64_t before = border.before;
    const int64_t around = std::accumulate(counts, counts + cells, int64_t{0});
    border.around[static_cast<size_t>(border.level)] = around;
    while (child + 1 < cells && before + counts[child] <= border.wanted)
        before += counts[child++];
    if (counts[child] > most_together(settings) &&
        border.level + 1 < geometry::key_levels(settings.dimension)) {
        border.cell += static_cast<uint64_t>(child) * size;
        border.before = before;
        ++border.level;
        return;
    }
    int first = child, last = child; // small neighbours share groups
    int64_t behind = before + counts[child];
    const auto small = [&](int c) { return counts[c] <= lists::group_limit(around, settings.group); };
    while (small(child) && first > 0 && small(first - 1))
        before -= counts[--first];
    while (small(child) && last + 1 < cells && small(last + 1))
        behind += counts[++last];
    const bool lower = border.wanted - before <= behind - border.wanted;
    border.cell += static_cast<uint64_t>(lower ? first : last + 1) * size;
    border.before = lower ? before : behind;
    border.found = true;
}

void GlobalTree::find_borders(comm::Communicator& comm, const settings::Settings& settings, int64_t own_count) {
    const int ranks = comm.size(), cells = 1 << settings.dimension;
    const uint64_t end = cell_size(0, settings.dimension);
    const int64_t total = comm.sum(own_count);
    comm.together([&] {
        borders_.clear();
        for (int r = 1; r < ranks; ++r)
            borders_.push_back({0, 0, 0, total / ranks * r + total % ranks * r / ranks, false, {}});
        if (total <= most_together(settings)) // all in one group
            for (Border& border : borders_) {
                border.cell = end;
                border.found = true;
            }
        counts_.resize(8 * borders_.size());
        first_key_.resize(static_cast<size_t>(ranks) + 1);
    });
    const auto open = [](const Border& border) { return !border.found; };
    while (std::any_of(borders_.begin(), borders_.end(), open)) {
        std::fill(counts_.begin(), counts_.end(), 0);
        for (size_t b = 0; b < borders_.size(); ++b) {
            const Border& border = borders_[b];
            const uint64_t size = border.found ? 0 : cell_size(border.level + 1, settings.dimension);
            int64_t before = border.found ? 0 : keys_before(border.cell);
            for (int c = 0; c < cells && !border.found; ++c) {
                const int64_t next = keys_before(border.cell + static_cast<uint64_t>(c + 1) * size);
                counts_[8 * b + static_cast<size_t>(c)] = next - before;
                before = next;
            }
        }
        comm.allreduce(counts_.data(), static_cast<int64_t>(counts_.size()), comm::Operation::sum);
        for (size_t b = 0; b < borders_.size(); ++b)
            if (!borders_[b].found) {
                int64_t counts[8];
                std::copy_n(&counts_[8 * b], 8, counts);
                descend(borders_[b], counts, settings);
            }
    }
    first_key_[0] = 0;
    for (size_t b = 0; b < borders_.size(); ++b)
        first_key_[b + 1] = borders_[b].cell;
    first_key_[static_cast<size_t>(ranks)] = end;
    range_.begin = first_key_[static_cast<size_t>(comm.rank())];
    range_.has_range = true;
    range_.end = first_key_[static_cast<size_t>(comm.rank()) + 1];
    range_.counted = true;
    if (comm.rank() > 0)
        range_.cut_by_begin = borders_[static_cast<size_t>(comm.rank()) - 1].around;
    if (comm.rank() + 1 < ranks)
        range_.cut_by_end = borders_[static_cast<size_t>(comm.rank())].around;
}

/// x y z charge target [softening] [last], particle by particle in the order of keys.
void GlobalTree::pack(const particles::Problem& own, int columns, bool lengths, bool last) {
    send_.resize(own.n * columns);
    const bool some = !own.points && !own.all_targets;
    place_.resize(some ? own.n : 0);
    std::fill(place_.begin(), place_.end(), 0);
    if (some)
        for (const int32_t i : own.target)
            place_[i] = 1;
    for (int64_t k = 0; k < own.n; ++k) {
        const int32_t i = order_[k];
        double* to = send_.data() + k * columns;
        *to++ = own.x[i];
        *to++ = own.y[i];
        *to++ = own.z[i];
        *to++ = own.charge[i];
        *to++ = some ? place_[i] : 1;
        if (lengths)
            *to++ = own.softening[i];
        if (last)
            *to++ = own.last[i];
    }
}

/// Sends `sent_` items a rank from send_, receives `received_` into receive_; back: the other way round.
void GlobalTree::exchange(comm::Communicator& comm, int64_t item_bytes, bool back) {
    const std::vector<int64_t>* counts[2] = {back ? &received_ : &sent_, back ? &sent_ : &received_};
    for (int side = 0; side < 2; ++side) {
        int64_t total = 0;
        for (size_t r = 0; r < counts[side]->size(); ++r) {
            bytes_[side][r] = (*counts[side])[r] * item_bytes;
            offset_[side][r] = total;
            total += bytes_[side][r];
        }
    }
    comm.alltoallv_bytes(send_.data(), bytes_[0].data(), offset_[0].data(), receive_.data(), bytes_[1].data(),
                         offset_[1].data());
}

void GlobalTree::unpack(int columns, bool lengths, bool last, particles::Problem& spread) const {
    const int64_t n = spread.n;
    for (core::Buffer<double>* values : {&spread.x, &spread.y, &spread.z, &spread.charge})
        values->resize(n);
    spread.softening.resize(lengths ? n : 0);
    spread.last.resize(last ? n : 0);
    spread.target.clear();
    for (int64_t i = 0; i < n; ++i) {
        const double* from = receive_.data() + i * columns;
        spread.x[i] = *from++;
        spread.y[i] = *from++;
        spread.z[i] = *from++;
        spread.charge[i] = *from++;
        if (*from++ != 0 && !spread.all_targets && !spread.points)
            spread.target.push_back(static_cast<int32_t>(i));
        if (lengths)
            spread.softening[i] = *from++;
        if (last)
            spread.last[i] = *from++;
    }
}

void GlobalTree::spread(comm::Communicator& comm, const backend::Executor& executor, const settings::Settings& settings,
                        const particles::Problem& own, particles::Problem& spread) {
    comm.together([&] {
        if (settings.tree_type != tree::TreeType::octree)
            fail(Status::unsupported,
                 "tree.scope: global needs tree.type: octree, found orb. Use tree.scope: local");
    });
    range_ = find_root(comm, settings, settings::TreeScope::global, own);
    comm.together([&] { sort_keys(executor, settings, own); });
    find_borders(comm, settings, own.n);
    const auto ranks = static_cast<size_t>(comm.size());
    const bool lengths = own.per_particle_softening;
    int32_t known[2] = {own.all_targets || own.n == 0, own.last.size() == own.n && settings.mac_history};
    comm.allreduce(known, 2, comm::Operation::min);
    const bool last = known[1] != 0;
    const int columns = 5 + lengths + last;
    comm.together([&] {
        pack(own, columns, lengths, last);
        for (std::vector<int64_t>* values : {&sent_, &received_})
            values->assign(ranks, 0);
        for (int side = 0; side < 2; ++side) {
            bytes_[side].resize(ranks);
            offset_[side].resize(ranks);
        }
        for (size_t r = 0; r < ranks; ++r) {
            sent_[r] = keys_before(first_key_[r + 1]) - keys_before(first_key_[r]);
            bytes_[0][r] = sizeof(int64_t);
            offset_[0][r] = static_cast<int64_t>(r * sizeof(int64_t));
        }
    });
    comm.alltoallv_bytes(sent_.data(), bytes_[0].data(), offset_[0].data(), received_.data(),
                         bytes_[0].data(), offset_[0].data());
    comm.together([&] {
        spread.n = 0;
        for (const int64_t count : received_)
            spread.n += count;
        receive_.resize(spread.n * columns);
    });
    exchange(comm, columns * static_cast<int64_t>(sizeof(double)), false);
    comm.together([&] {
        spread.points = own.points;
        spread.all_targets = !own.points && known[0] != 0;
        spread.per_particle_softening = lengths;
        spread.charge_scale = own.charge_scale;
        spread.lightest = own.lightest;
        spread.range = range_;
        unpack(columns, lengths, last, spread);
        const auto copy = [](const core::Buffer<double>& from, core::Buffer<double>& to) {
            to.resize(from.size());
            std::copy(from.begin(), from.end(), to.begin());
        };
        if (own.points) {
            copy(own.point_x, spread.point_x);
            copy(own.point_y, spread.point_y);
            copy(own.point_z, spread.point_z);
            copy(own.target_softening, spread.target_softening);
        }
    });
}

void GlobalTree::bring_back(comm::Communicator& comm, const particles::Problem& own, const particles::Problem& spread,
                            const int32_t* origin, bool with_potential, const particles::RawField& spread_field,
                            const core::Buffer<double>& spread_work, particles::RawField& field,
                            core::Buffer<double>& work) {
    const int columns = with_potential ? 5 : 4;
    comm.together([&] {
        send_.resize(spread.n * columns);
        receive_.resize(own.n * columns);
        std::fill(send_.begin(), send_.end(), 0.0);
        for (int64_t i = 0; i < spread.n; ++i)
            send_[i * columns + 3] = spread_work.empty() ? 0 : spread_work[i];
        for (int64_t k = 0; k < spread_field.ax.size() && !own.points; ++k) {
            double* to = send_.data() + origin[k] * int64_t{columns};
            to[0] = spread_field.ax[k];
            to[1] = spread_field.ay[k];
            to[2] = spread_field.az[k];
            if (with_potential)
                to[4] = spread_field.potential[k];
        }
    });
    exchange(comm, columns * static_cast<int64_t>(sizeof(double)), true);
    comm.together([&] {
        work.resize(own.n);
        for (int64_t k = 0; k < own.n; ++k)
            work[order_[k]] = receive_[k * columns + 3];
        if (own.points) { // theirs has not travelled
            for (int64_t k = 0; k < spread_field.ax.size(); ++k) {
                const int64_t to = origin[k];
                field.ax[to] = spread_field.ax[k];
                field.ay[to] = spread_field.ay[k];
                field.az[to] = spread_field.az[k];
                if (with_potential)
                    field.potential[to] = spread_field.potential[k];
            }
            return;
        }
        place_.resize(own.n);
        std::fill(place_.begin(), place_.end(), -1);
        for (int64_t t = 0; t < own.target_count(); ++t)
            place_[own.all_targets ? t : own.target[t]] = static_cast<int32_t>(t);
        for (int64_t k = 0; k < own.n; ++k) {
            const int32_t to = place_[order_[k]];
            const double* from = receive_.data() + k * columns;
            if (to < 0)
                continue;
            field.ax[to] = from[0];
            field.ay[to] = from[1];
            field.az[to] = from[2];
            if (with_potential)
                field.potential[to] = from[4];
        }
    });
}

} // namespace graft::essential
