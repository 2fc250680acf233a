// SPDX-License-Identifier: BSD-3-Clause
// See tree_gather.hpp.
#include "decompose/orb/tree_gather.hpp"

#include <algorithm>

namespace graft::decompose {
namespace {

constexpr int tag_count = 101, tag_up = 102, tag_down = 103;

void send(comm::Communicator& comm, const void* data, int64_t bytes, int to, int tag) {
    comm::Request request = comm.isend(data, bytes, to, tag);
    comm.wait_all(1, &request);
}

void receive(comm::Communicator& comm, void* data, int64_t bytes, int from, int tag) {
    comm::Request request = comm.irecv(data, bytes, from, tag);
    comm.wait_all(1, &request);
}

} // namespace

void TreeGather::plan(comm::Communicator& comm, int64_t items) {
    children_.clear();
    children_.reserve(32);
    own_items_ = subtree_items_ = items;
    parent_ = -1;
    const int rank = comm.rank();
    for (int step = 1; step < comm.size(); step *= 2) {
        if ((rank & step) != 0) {
            parent_ = rank - step;
            send(comm, &subtree_items_, sizeof subtree_items_, parent_, tag_count);
            return;
        }
        if (rank + step < comm.size()) {
            int64_t count = 0;
            receive(comm, &count, sizeof count, rank + step, tag_count);
            children_.push_back({rank + step, count});
            subtree_items_ += count;
        }
    }
}

void TreeGather::plan_one_each(const comm::Communicator& comm) {
    children_.clear();
    own_items_ = subtree_items_ = 1;
    parent_ = -1;
    const int rank = comm.rank(), size = comm.size();
    int step = 1;
    for (; step < size && (rank & step) == 0; step *= 2)
        if (rank + step < size) {
            children_.push_back({rank + step, std::min(step, size - rank - step)});
            subtree_items_ += children_.back().items;
        }
    if (step < size)
        parent_ = rank - step;
}

void TreeGather::gather(comm::Communicator& comm, void* data, int64_t item_bytes) const {
    char* end = static_cast<char*>(data) + own_items_ * item_bytes;
    for (const Child& child : children_)
        if (child.items > 0) {
            receive(comm, end, child.items * item_bytes, child.rank, tag_up);
            end += child.items * item_bytes;
        }
    if (parent_ >= 0 && subtree_items_ > 0)
        send(comm, data, subtree_items_ * item_bytes, parent_, tag_up);
}

void TreeGather::back(comm::Communicator& comm, void* data, int64_t item_bytes) const {
    if (parent_ >= 0 && subtree_items_ > 0)
        receive(comm, data, subtree_items_ * item_bytes, parent_, tag_down);
    char* end = static_cast<char*>(data) + subtree_items_ * item_bytes;
    for (auto child = children_.rbegin(); child != children_.rend(); ++child)
        if (child->items > 0) {
            end -= child->items * item_bytes;
            send(comm, end, child->items * item_bytes, child->rank, tag_down);
        }
}

} // namespace graft::decompose
