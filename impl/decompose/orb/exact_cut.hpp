// SPDX-License-Identifier: BSD-3-Clause
// The last step of a search: the points that may be the crossing point, by their exact coordinates and ids.
//
// Candidates of all cells of a level are gathered on all ranks together and sorted; every rank draws the same
// conclusion. A cell with too many of them (many points with one key: a heap of coincident points, or a
// cluster far smaller than the domain) is first narrowed by histograms over the coordinate's image, then over
// the ids.
#pragma once

#include "decompose/orb/cut_search.hpp"

#include <exception>
#include <vector>

namespace graft::decompose {

struct Candidate {
    uint64_t image, id; // ordered_image of the coordinate, ordered_id
    uint64_t weight;
    int64_t slot; // index of the search
};

/// Collective over `comm` (NULL: this rank alone, nothing is sent). mine: this rank's points inside the
/// searches that are at Stage::few, by slot; is used up. All of these become Stage::found. few: what a search
/// may have inside to be gathered as it is; error: what kept this rank from finding its candidates, thrown on
/// all ranks (where a search has more than `few`, ranks must have agreed before). Throws Error(value), on all
/// ranks, when two points at one place have one id.
void decide_exactly(comm::Communicator* comm, int64_t few, const std::exception_ptr& error,
                    core::Buffer<Candidate>& mine, std::vector<Search>& searches);

} // namespace graft::decompose
