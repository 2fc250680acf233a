// SPDX-License-Identifier: BSD-3-Clause
// Pieces up and down a binomial tree.
#include "comm/collectives.hpp"

#include "comm/binomial.hpp"

#include <cstring>

namespace graft::comm {

using core::Status;

namespace {

constexpr int size_tag = first_own_tag + 10, piece_tag = first_own_tag + 11;

int64_t padded(int64_t bytes) {
    return (bytes + 7) / 8 * 8;
}

void copy(char* to, const void* from, int64_t bytes) {
    if (bytes > 0)
        std::memcpy(to, from, static_cast<size_t>(bytes));
}

/// Bytes of the subtrees of my children (ascending) and of mine, which starts with `own`. O(log P).
struct Totals {
    int64_t child[32] = {};
    int64_t all = 0;
};

Totals gather_totals(Communicator& comm, const Binomial& tree, int64_t own) {
    Totals totals;
    Request requests[33];
    int64_t children = 0;
    tree.for_children([&](int64_t place) {
        requests[children] = comm.irecv(&totals.child[children], 8, tree.rank(place), size_tag);
        ++children;
    });
    comm.wait_all(children, requests);
    totals.all = own;
    for (int64_t k = 0; k < children; ++k)
        totals.all += totals.child[k];
    if (!tree.is_root()) {
        requests[0] = comm.isend(&totals.all, 8, tree.parent(), size_tag);
        comm.wait_all(1, requests);
    }
    return totals;
}

/// Sizes of my subtree's pieces, in order of place: from the parent, who has them for its own subtree.
void scatter_sizes(Communicator& comm, const Binomial& tree, int64_t* sizes) {
    Request requests[32];
    if (!tree.is_root()) {
        requests[0] = comm.irecv(sizes, 8 * tree.count(), tree.parent(), size_tag);
        comm.wait_all(1, requests);
    }
    int64_t children = 0;
    tree.for_children([&](int64_t place) {
        requests[children++] =
            comm.isend(sizes + (place - tree.place()), 8 * tree.count(place), tree.rank(place), size_tag);
    });
    comm.wait_all(children, requests);
}

/// The pieces likewise; `pieces` holds my subtree's, one after the other, each padded.
void scatter_data(Communicator& comm, const Binomial& tree, const int64_t* sizes, char* pieces,
                  int64_t total) {
    Request requests[32];
    if (!tree.is_root()) {
        requests[0] = comm.irecv(pieces, total, tree.parent(), piece_tag);
        comm.wait_all(1, requests);
    }
    int64_t children = 0, begin = 0, passed = 0;
    tree.for_children([&](int64_t place) {
        for (; passed < place - tree.place(); ++passed)
            begin += padded(sizes[passed]);
        int64_t bytes = 0;
        for (int64_t k = 0; k < tree.count(place); ++k)
            bytes += padded(sizes[passed + k]);
        requests[children++] = comm.isend(pieces + begin, bytes, tree.rank(place), piece_tag);
    });
    comm.wait_all(children, requests);
}

} // namespace

void gather_contributions(Communicator& comm, int root, const void* data, int64_t bytes,
                          Contributions& pieces) {
    const Binomial tree(comm.rank(), comm.size(), root);
    const int64_t own = Contributions::header + padded(bytes);
    const Totals totals = gather_totals(comm, tree, own);
    core::Buffer<char>& all = pieces.bytes_;
    comm.together([&] {
        all.resize(totals.all);
        pieces.offset_.resize(tree.is_root() ? comm.size() : 0);
    });
    std::memset(all.data() + own - 8, 0, 8); // the padding, before what it pads
    std::memcpy(all.data(), &bytes, sizeof bytes);
    copy(all.data() + Contributions::header, data, bytes);
    Request requests[32];
    int64_t children = 0, begin = own;
    tree.for_children([&](int64_t place) {
        requests[children] =
            comm.irecv(all.data() + begin, totals.child[children], tree.rank(place), piece_tag);
        begin += totals.child[children++];
    });
    comm.wait_all(children, requests);
    if (!tree.is_root()) {
        requests[0] = comm.isend(all.data(), totals.all, tree.parent(), piece_tag);
        comm.wait_all(1, requests);
        all.release();
        return;
    }
    int64_t offset = 0;
    for (int64_t place = 0; place < comm.size(); ++place) {
        const int rank = tree.rank(place);
        pieces.offset_[rank] = offset;
        offset += Contributions::header + padded(pieces.bytes(rank));
    }
}

void scatter_pieces(Communicator& comm, int root, const void* data, const int64_t* bytes,
                    const int64_t* offset, core::Buffer<char>& mine) {
    const Binomial tree(comm.rank(), comm.size(), root);
    core::Buffer<int64_t> sizes(mine.memory(), "sizes of scattered pieces");
    core::Buffer<char> pieces(mine.memory(), "scattered pieces");
    comm.together([&] {
        sizes.resize(tree.count());
        for (int64_t place = 0; tree.is_root() && place < tree.count(); ++place) {
            const int rank = tree.rank(place);
            if (bytes[rank] < 0)
                core::fail(Status::argument, "scatter_pieces: the piece of rank %d has %lld bytes", rank,
                           static_cast<long long>(bytes[rank]));
            sizes[place] = bytes[rank];
        }
    });
    scatter_sizes(comm, tree, sizes.data());
    int64_t total = 0;
    for (const int64_t size : sizes)
        total += padded(size);
    comm.together([&] {
        pieces.resize(total);
        mine.resize(sizes[0]);
    });
    int64_t begin = 0;
    for (int64_t place = 0; tree.is_root() && place < tree.count(); begin += padded(sizes[place++]))
        copy(pieces.data() + begin, static_cast<const char*>(data) + offset[tree.rank(place)], sizes[place]);
    scatter_data(comm, tree, sizes.data(), pieces.data(), total);
    copy(mine.data(), pieces.data(), sizes[0]);
}

} // namespace graft::comm
