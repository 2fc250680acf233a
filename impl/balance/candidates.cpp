// SPDX-License-Identifier: BSD-3-Clause
// See candidates.hpp.
#include "balance/candidates.hpp"

#include <algorithm>

namespace graft::balance {

namespace {

/// Larger values first, then smaller keys.
bool ahead(const std::pair<double, Candidate>& a, const std::pair<double, Candidate>& b) {
    return a.first != b.first ? a.first > b.first : key_less(a.second, b.second);
}

} // namespace

void CandidateSet::Best::offer(double value, const Candidate& candidate, size_t most) {
    if (heap.size() == most && !(value >= heap.front().first))
        return;
    heap.emplace_back(value, candidate);
    std::push_heap(heap.begin(), heap.end(), ahead);
    if (heap.size() > most) {
        std::pop_heap(heap.begin(), heap.end(), ahead);
        heap.pop_back();
    }
}

void CandidateSet::add(const Candidate& candidate) {
    if (candidate.is_super != 0)
        return supers_.offer(candidate.weight, candidate, most_supers);
    for (int a = 0; a < 3; ++a) {
        faces_[2 * a].offer(-candidate.place[a], candidate, most_per_face);
        faces_[2 * a + 1].offer(candidate.place[a], candidate, most_per_face);
    }
}

std::vector<Candidate> CandidateSet::chosen() const {
    std::vector<Candidate> all;
    const auto take = [&](const Best& best) {
        for (const auto& entry : best.heap)
            all.push_back(entry.second);
    };
    take(supers_);
    for (const Best& face : faces_)
        take(face);
    std::sort(all.begin(), all.end(), key_less);
    const auto same = [](const Candidate& a, const Candidate& b) {
        return !key_less(a, b) && !key_less(b, a);
    };
    all.erase(std::unique(all.begin(), all.end(), same), all.end());
    return all;
}

} // namespace graft::balance
