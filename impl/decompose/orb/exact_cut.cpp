// SPDX-License-Identifier: BSD-3-Clause
// Exact decision among few points, see exact_cut.hpp.
#include "decompose/orb/exact_cut.hpp"

#include "core/error.hpp"

#include <algorithm>
#include <bit>

namespace graft::decompose {
namespace {

constexpr int32_t refine_bins = 1024;

bool in_order(const Candidate& a, const Candidate& b) {
    return a.slot != b.slot ? a.slot < b.slot : a.image != b.image ? a.image < b.image : a.id < b.id;
}

/// Points of one coordinate that are not all among the candidates: where they begin and end in the order.
struct EqualPoints {
    bool known = false;
    int64_t begin = 0, end = 0;
    uint64_t next_id = 0; // of the heap's point after the candidates, when there is one
};

struct Window {
    uint64_t low, high;
};

Window window_of(comm::Communicator* comm, const Candidate* begin, const Candidate* end,
                 uint64_t Candidate::*value) {
    uint64_t most[2] = {0, 0}; // of ~value and of value
    for (const Candidate* c = begin; c != end; ++c) {
        most[0] = std::max(most[0], ~(c->*value));
        most[1] = std::max(most[1], c->*value);
    }
    if (comm != nullptr)
        comm->allreduce(most, 2, comm::Operation::max);
    return {~most[0], most[1]};
}

/// One histogram over the window; narrows it, base and inside to the bin of the crossing point.
void refine(comm::Communicator* comm, const Candidate* begin, const Candidate* end,
            uint64_t Candidate::*value, Window& window, Search& search) {
    const uint64_t width = window.high - window.low;
    const int shift = std::max(0, static_cast<int>(std::bit_width(width)) - 10);
    std::vector<Wide> sums(2 * refine_bins, 0);
    for (const Candidate* c = begin; c != end; ++c) {
        const uint64_t bin = (c->*value - window.low) >> shift;
        sums[2 * bin] += 1;
        sums[2 * bin + 1] += c->weight;
    }
    if (comm != nullptr)
        allreduce_wide(*comm, sums.data(), 2 * refine_bins);
    for (uint64_t bin = 0; bin < refine_bins; ++bin) {
        const Amount amount{static_cast<int64_t>(sums[2 * bin]), sums[2 * bin + 1]};
        const Amount after = search.base + amount;
        if (search.goal.past(after.count, after.weight)) {
            search.inside = amount;
            const uint64_t low = window.low + (bin << shift);
            window = {low, std::min(window.high, low + ((uint64_t{1} << shift) - 1))};
            return;
        }
        search.base = after;
    }
}

/// The smallest id above `id`, over all ranks; the largest number when there is none.
uint64_t next_in_heap(comm::Communicator* comm, const Candidate* begin, const Candidate* end, uint64_t id) {
    uint64_t most = 0; // of ~id
    for (const Candidate* c = begin; c != end; ++c)
        if (c->id > id)
            most = std::max(most, ~c->id);
    if (comm != nullptr)
        comm->allreduce(&most, 1, comm::Operation::max);
    return ~most;
}

/// Narrows a search with many candidates; returns the new end of those of this rank.
Candidate* thin_out(comm::Communicator* comm, int64_t few, Candidate* begin, Candidate* end, Search& search,
                    EqualPoints& heap) {
    const Candidate* heap_end = end;
    for (uint64_t Candidate::*value : {&Candidate::image, &Candidate::id}) {
        Window window = window_of(comm, begin, end, value);
        while (search.inside.count > few && window.low < window.high) {
            refine(comm, begin, end, value, window, search);
            end = std::partition(begin, end, [&](const Candidate& c) {
                return c.*value >= window.low && c.*value <= window.high;
            });
        }
        if (value == &Candidate::image && search.inside.count > few) {
            heap = {true, search.base.count, search.base.count + search.inside.count, 0};
            heap_end = end;
        } else if (heap.known) {
            heap.next_id = next_in_heap(comm, begin, heap_end, window.high);
        } else {
            break;
        }
    }
    return end;
}

/// Candidates of all ranks, of everyone's `mine`. total: how many there are. One collective when no rank has
/// many more than its share and none has failed.
std::vector<Candidate> gather(comm::Communicator& comm, const std::exception_ptr& error,
                              const Candidate* mine, int64_t have, int64_t total) {
    const auto ranks = static_cast<int64_t>(comm.size());
    const int64_t room = std::min(total, 2 * ((total + ranks - 1) / ranks) + 8);
    const Candidate none{};
    std::vector<Candidate> send(static_cast<size_t>(room) + 1, none);
    send[0].slot = error ? -1 : have;
    std::copy_n(mine, std::min(have, room), send.begin() + 1);
    std::vector<Candidate> all(static_cast<size_t>(ranks * (room + 1)));
    std::vector<int64_t> bytes(static_cast<size_t>(ranks), (room + 1) * int64_t{sizeof(Candidate)});
    std::vector<int64_t> offset(static_cast<size_t>(ranks));
    for (int64_t r = 0; r < ranks; ++r)
        offset[static_cast<size_t>(r)] = r * bytes[0];
    comm.allgatherv_bytes(send.data(), bytes[0], all.data(), bytes.data(), offset.data());
    std::vector<Candidate> result;
    result.reserve(static_cast<size_t>(total));
    bool overflow = false, failed = false;
    for (int64_t r = 0; r < ranks; ++r) {
        const Candidate* part = all.data() + r * (room + 1);
        failed = failed || part->slot < 0;
        overflow = overflow || part->slot > room;
        bytes[static_cast<size_t>(r)] = part->slot * int64_t{sizeof(Candidate)};
        offset[static_cast<size_t>(r)] =
            r == 0 ? 0 : offset[static_cast<size_t>(r) - 1] + bytes[static_cast<size_t>(r) - 1];
        result.insert(result.end(), part + 1, part + 1 + std::clamp<int64_t>(part->slot, 0, room));
    }
    if (failed)
        comm.agree(error);
    if (overflow) {
        result.resize(static_cast<size_t>(total));
        comm.allgatherv_bytes(mine, have * int64_t{sizeof(Candidate)}, result.data(), bytes.data(),
                              offset.data());
    }
    return result;
}

/// Finds the crossing point among all candidates of a search, sorted. False: two of them are equal.
bool decide(const Candidate* begin, const Candidate* end, const EqualPoints& heap, Search& search) {
    search.stage = Stage::found;
    Amount before = search.base;
    for (const Candidate* c = begin; c != end; ++c) {
        if (c != begin && c->image == c[-1].image && c->id == c[-1].id)
            return false;
        const Amount after = before + Amount{1, c->weight};
        if (!search.goal.past(after.count, after.weight)) {
            before = after;
            continue;
        }
        const AxisPosition place{from_ordered_image(c->image), from_ordered_id(c->id)};
        if (search.goal.takes(after.count, before.weight, after.weight)) {
            const bool listed = c + 1 != end && c[1].image == c->image;
            if (!listed && !(heap.known && after.count < heap.end))
                search.cut = cut_after(place);
            else
                search.cut = {place.x, from_ordered_id(listed ? c[1].id : heap.next_id)};
            search.left = after;
        } else {
            const bool split = heap.known ? before.count > heap.begin : c != begin && c[-1].image == c->image;
            search.cut = cut_before(place, split);
            search.left = before;
        }
        return c + 1 == end || c[1].image != c->image || c[1].id != c->id;
    }
    return false;
}

} // namespace

void decide_exactly(comm::Communicator* comm, int64_t few, const std::exception_ptr& error,
                    core::Buffer<Candidate>& mine, std::vector<Search>& searches) {
    std::vector<EqualPoints> heaps(searches.size());
    Candidate *read = mine.begin(), *kept = read;
    int64_t total = 0;
    for (size_t slot = 0; slot < searches.size(); ++slot) {
        if (searches[slot].stage != Stage::few)
            continue;
        Candidate* const begin = read;
        while (read != mine.end() && read->slot == static_cast<int64_t>(slot))
            ++read;
        Candidate* end = read;
        if (searches[slot].inside.count > few)
            end = thin_out(comm, few, begin, end, searches[slot], heaps[slot]);
        kept = std::copy(begin, end, kept);
        total += searches[slot].inside.count;
    }
    std::vector<Candidate> gathered;
    Candidate *begin = mine.begin(), *last = kept;
    if (comm != nullptr && total > 0) {
        gathered = gather(*comm, error, begin, last - begin, total);
        begin = gathered.data();
        last = begin + gathered.size();
    }
    std::sort(begin, last, in_order);
    bool distinct = true;
    for (size_t slot = 0; slot < searches.size(); ++slot) {
        if (searches[slot].stage != Stage::few)
            continue;
        Candidate* end = begin;
        while (end != last && end->slot == static_cast<int64_t>(slot))
            ++end;
        distinct = decide(begin, end, heaps[slot], searches[slot]) && distinct;
        begin = end;
    }
    if (distinct)
        return;
    const auto refuse = [] {
        core::fail(core::Status::value,
                   "decompose: two points at one place have the same id; expected ids that "
                   "differ over all ranks, or none");
    };
    comm != nullptr ? comm->together(refuse) : refuse();
}

} // namespace graft::decompose
