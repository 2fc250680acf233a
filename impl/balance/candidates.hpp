// SPDX-License-Identifier: BSD-3-Clause
// The objects of a part that fuzzy ORB may move: its heaviest super-objects and the small objects nearest to
// its six faces.
//
// The best of a union are among the best of its members: chosen on the ranks where objects live, then again
// on the rank of the part, the result is that of all objects at once.
#pragma once

#include "balance/swap_pair.hpp"

#include <cstdint>
#include <vector>

namespace graft::balance {

inline constexpr size_t most_supers = 16;   // of a part
inline constexpr size_t most_per_face = 16; // small objects at each of a part's six faces

class CandidateSet {
  public:
    /// May throw std::bad_alloc.
    void add(const Candidate& candidate);
    /// All chosen, each once, sorted by key.
    std::vector<Candidate> chosen() const;

  private:
    /// The `most` with the largest values, as a heap whose front is the smallest.
    struct Best {
        std::vector<std::pair<double, Candidate>> heap;
        void offer(double value, const Candidate& candidate, size_t most);
    };
    Best supers_, faces_[6];
};

} // namespace graft::balance
