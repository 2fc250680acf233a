// SPDX-License-Identifier: BSD-3-Clause
// See fuzzy.hpp.
#include "balance/fuzzy.hpp"

#include "balance/candidates.hpp"
#include "balance/owner_table.hpp"
#include "balance/peers.hpp"
#include "decompose/orb/left_filled.hpp"

namespace graft::balance {

using decompose::Points;

namespace {

constexpr int tag = 74;
constexpr int sweeps = 2;

Candidate candidate_of(const Points& points, int64_t i, double weight, int rank, int32_t part, double least) {
    Candidate candidate;
    candidate.weight = weight;
    candidate.place[0] = points.x[i];
    candidate.place[1] = points.y[i];
    candidate.place[2] = points.z != nullptr ? points.z[i] : 0;
    candidate.id = points.id != nullptr ? points.id[i] : 0;
    candidate.home = rank;
    candidate.index = static_cast<int32_t>(i);
    candidate.plain = part;
    candidate.is_super = weight > least ? 1 : 0;
    return candidate;
}

/// Collective. This part's candidates, from all ranks where its objects live.
std::vector<Candidate> gather_candidates(comm::Communicator& comm, const backend::Executor& executor,
                                         const Points& points, const Scale& scale, double super,
                                         const core::Buffer<int32_t>& owner) {
    Shares to(executor.memory), from(executor.memory);
    core::Buffer<Candidate> send(executor.memory, "swap candidates"), received(executor.memory, "candidates");
    comm.together([&] {
        const double least = super / static_cast<double>(std::max<int64_t>(1, scale.items()));
        OwnerTable<CandidateSet> sets;
        for (int64_t i = 0; i < points.n; ++i)
            sets.at(owner[i]).add(
                candidate_of(points, i, scale.item_weight(points, i), comm.rank(), owner[i], least));
        sets.for_each([&](int32_t part, const CandidateSet& set) {
            const std::vector<Candidate> chosen = set.chosen();
            to.rank.push_back(part);
            to.count.push_back(static_cast<int64_t>(chosen.size()));
            for (const Candidate& candidate : chosen)
                send.push_back(candidate);
        });
    });
    exchange_records(comm, to, send.data(), from, received);
    std::vector<Candidate> result;
    comm.together([&] {
        CandidateSet set;
        for (const Candidate& candidate : received)
            set.add(candidate);
        result = set.chosen();
    });
    return result;
}

/// The mirror image of part `part` of `parts` across the cut of level `level`; -1: none.
int32_t partner_of(int32_t part, int32_t parts, int level) {
    int32_t first = 0, count = parts;
    for (int l = 0; count > 1; ++l) {
        const int32_t left = static_cast<int32_t>(decompose::leaves_left(count));
        const bool is_left = part < first + left;
        if (l == level) {
            const int32_t mirror = is_left ? part + left : part - left;
            return mirror < first + count && mirror >= first ? mirror : -1;
        }
        first += is_left ? 0 : left;
        count = is_left ? left : count - left;
    }
    return -1;
}

/// What goes before the candidates in a message.
struct Header {
    double weight;
    int64_t items;
    geometry::Box box;
    int64_t candidates;
};

/// Pairs of parts that swap. No allocation stands between the messages of a pair: what fails is kept until
/// all pairs are through, since a partner waits for every message.
class Swapper {
  public:
    Swapper(comm::Communicator& comm, core::Memory& memory, const SwapLimits& limits)
        : comm_(comm), limits_(limits), sent_(memory, "swap messages"), received_(memory, "swap messages") {
        sent_.resize(most_candidates);
        received_.resize(most_candidates);
    }

    /// Collective. All levels from the leaves up, `sweeps` times.
    void run(SwapPart& own) {
        std::exception_ptr failure;
        const int depth = decompose::tree_depth(comm_.size());
        for (int step = 0; step < sweeps * depth; ++step) {
            const int32_t partner = partner_of(comm_.rank(), comm_.size(), depth - 1 - step % depth);
            if (partner < 0)
                continue;
            exchange_sides(partner, own);
            try {
                swap_with(partner, own);
            } catch (...) {
                failure = std::current_exception();
            }
        }
        comm_.agree(failure);
    }

  private:
    void exchange(int partner, const void* send, int64_t send_bytes, void* receive, int64_t receive_bytes) {
        comm::Request requests[2];
        requests[0] = comm_.irecv(receive, receive_bytes, partner, tag);
        requests[1] = comm_.isend(send, send_bytes, partner, tag);
        comm_.wait_all(2, requests);
    }
    void exchange_sides(int partner, const SwapPart& own) {
        const int64_t count = static_cast<int64_t>(own.candidates.size());
        const Header header{own.weight, own.items, own.box, count};
        exchange(partner, &header, sizeof header, &other_, sizeof other_);
        std::copy(own.candidates.begin(), own.candidates.end(), sent_.data());
        const int64_t bytes = sizeof(Candidate);
        exchange(partner, sent_.data(), count * bytes, received_.data(), other_.candidates * bytes);
    }
    void swap_with(int32_t partner, SwapPart& own) {
        SwapPart next = own; // a failure leaves `own` as it was
        SwapPart other{other_.weight,
                       other_.items,
                       other_.box,
                       {received_.data(), received_.data() + other_.candidates}};
        const bool is_left = comm_.rank() < partner;
        SwapPart& left = is_left ? next : other;
        SwapPart& right = is_left ? other : next;
        const Swap swap = choose_swap(left, right, limits_);
        apply_swap(swap, left, right);
        std::swap(own, next);
    }

    comm::Communicator& comm_;
    SwapLimits limits_;
    core::Buffer<Candidate> sent_, received_;
    Header other_{};
};

/// An object's new part, told to the rank where it lives.
struct Change {
    int32_t index, part;
};

/// Collective. Owners of the candidates that ended in another part than the plain one.
void tell_owners(comm::Communicator& comm, core::Memory& memory, const std::vector<Candidate>& candidates,
                 core::Buffer<int32_t>& owner) {
    Shares to(memory), from(memory);
    core::Buffer<Change> send(memory, "swaps"), received(memory, "swaps");
    comm.together([&] {
        std::vector<Candidate> moved;
        for (const Candidate& candidate : candidates)
            if (candidate.plain != comm.rank())
                moved.push_back(candidate);
        std::stable_sort(moved.begin(), moved.end(),
                         [](const Candidate& a, const Candidate& b) { return a.home < b.home; });
        for (const Candidate& candidate : moved) {
            if (to.size() == 0 || to.rank[to.size() - 1] != candidate.home) {
                to.rank.push_back(candidate.home);
                to.count.push_back(0);
            }
            ++to.count[to.size() - 1];
            send.push_back({candidate.index, comm.rank()});
        }
    });
    exchange_records(comm, to, send.data(), from, received);
    for (const Change& change : received)
        owner[change.index] = change.part;
}

FuzzyReport count_swaps(comm::Communicator& comm, const std::vector<Candidate>& candidates,
                        const geometry::Box& box) {
    double sums[3] = {0, 0, 0};
    for (const Candidate& candidate : candidates)
        if (candidate.plain != comm.rank()) {
            sums[candidate.is_super != 0 ? 0 : 1] += 1;
            sums[2] += relative_distance(candidate.place, box);
        }
    comm.allreduce(sums, 3, comm::Operation::sum);
    const double moved = sums[0] + sums[1];
    return {static_cast<int64_t>(sums[0]), static_cast<int64_t>(sums[1]), moved > 0 ? sums[2] / moved : 0};
}

} // namespace

FuzzyReport swap_across_cuts(comm::Communicator& comm, const backend::Executor& executor,
                             const Points& points, const Scale& scale, const Load& future,
                             const Settings& settings, core::Buffer<int32_t>& owner) {
    SwapPart own{scale.weight(future), future.items, future.box, {}};
    own.candidates = gather_candidates(comm, executor, points, scale, settings.super, owner);
    const double mean = 1.0 / comm.size();
    const SwapLimits limits{mean, settings.decompose.cap, mean * (1 + 0.5 * (settings.tolerance - 1))};
    std::unique_ptr<Swapper> swapper;
    comm.together([&] { swapper = std::make_unique<Swapper>(comm, executor.memory, limits); });
    swapper->run(own);
    tell_owners(comm, executor.memory, own.candidates, owner);
    return count_swaps(comm, own.candidates, future.box);
}

} // namespace graft::balance
