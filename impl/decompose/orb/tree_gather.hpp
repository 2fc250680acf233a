// SPDX-License-Identifier: BSD-3-Clause
// Unequal shares of all ranks to rank 0 along a binomial tree, and answers of any item size back the same
// way.
//
// Every rank remembers only its own share and those of its children in the tree (log2 P numbers); rank 0
// needs no table of counts for the way back. Rank 0 finds the shares in rank order.
#pragma once

#include "comm/communicator.hpp"
#include "core/buffer.hpp"

#include <cstdint>
#include <vector>

namespace graft::decompose {

class TreeGather {
  public:
    /// Collective. Tells the parents how many items will come. May not fail after it has begun, but for the
    /// communicator's own failures. Cost: ceil(log2 P) messages of 8 bytes one after the other.
    void plan(comm::Communicator& comm, int64_t items);
    /// One item of every rank; costs no message.
    void plan_one_each(const comm::Communicator& comm);
    /// Items that pass through this rank, its own included: what gather() and back() need room for.
    int64_t subtree_items() const { return subtree_items_; }
    int64_t own_items() const { return own_items_; }

    /// Collective, after plan(). data: room for subtree_items() items of item_bytes, this rank's first; on
    /// rank 0 it holds all items afterwards, in rank order. Cost: log2 P latencies, all bytes once through
    /// rank 0's port.
    void gather(comm::Communicator& comm, void* data, int64_t item_bytes) const;
    /// Collective, after plan(). The way back: rank 0 gives an answer per gathered item, every rank finds
    /// those to its own items at the front of data.
    void back(comm::Communicator& comm, void* data, int64_t item_bytes) const;

  private:
    struct Child {
        int rank;
        int64_t items;
    };
    std::vector<Child> children_;
    int64_t own_items_ = 0, subtree_items_ = 0;
    int parent_ = -1;
};

} // namespace graft::decompose
