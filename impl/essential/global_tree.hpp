// SPDX-License-Identifier: BSD-3-Clause
// One tree over all ranks: particles go to the ranks by ranges of Morton keys of one root cube, and results
// come back.
//
// The borders between ranks stand between cells of the tree that one rank alone would build, and where it
// would end a group of targets: of a cell with more particles than a leaf or a group may have, between two
// children of which one is no part of a group of small neighbours (lists/groups.hpp). So nodes, leaves and groups are those of
// the one tree, whatever the number of ranks; only nodes across borders are put together by all (TopTree).
// Counts differ from equal shares by no more than some groups. (Groups of active subsets may end at borders
// where those of one rank would not.)
#pragma once

#include "backend/radix_sort.hpp"
#include "comm/communicator.hpp"
#include "particles/problem.hpp"
#include "essential/root_cube.hpp"
#include "settings/settings.hpp"

#include <array>
#include <vector>

namespace graft::essential {

class GlobalTree {
  public:
    explicit GlobalTree(core::Memory& memory);

    /// Collective. Fills `spread` with this rank's range of the keys of all particles, targets among them
    /// marked; points stay where they are. Throws Error(value) for particles outside a given box or spans
    /// beyond 1e150, Error(unsupported) for a k-d tree, Error(memory, communication); the same on all ranks.
    /// Cost: a sort of the own particles, at most 31 reductions of 64 bytes a rank, one exchange of all
    /// particles.
    void spread(comm::Communicator& comm, const backend::Executor& executor, const settings::Settings& settings,
                const particles::Problem& own, particles::Problem& spread);

    /// Collective. The field at the targets of `spread`, target k being its particle origin[k], becomes
    /// `field` at the targets of `own`, in their order; work of its particles that of the own particles.
    void bring_back(comm::Communicator& comm, const particles::Problem& own, const particles::Problem& spread,
                    const int32_t* origin, bool with_potential, const particles::RawField& spread_field,
                    const core::Buffer<double>& spread_work, particles::RawField& field, core::Buffer<double>& work);

  private:
    struct Border {    // on its way down to the place between two ranks
        uint64_t cell; // first key
        int level;
        int64_t before; // particles of all ranks before the cell
        int64_t wanted; // place in the order of all particles
        bool found;
        std::array<int64_t, 32> around{}; // particles of all ranks in the cells on the way down
    };
    void sort_keys(const backend::Executor& executor, const settings::Settings& settings, const particles::Problem& own);
    void find_borders(comm::Communicator& comm, const settings::Settings& settings, int64_t own_count);
    void descend(Border& border, const int64_t (&counts)[8], const settings::Settings& settings) const;
    int64_t keys_before(uint64_t key) const;
    void pack(const particles::Problem& own, int columns, bool lengths, bool last);
    void unpack(int columns, bool lengths, bool last, particles::Problem& spread) const;
    void exchange(comm::Communicator& comm, int64_t item_bytes, bool back);

    backend::RadixSorter sorter_;
    particles::KeyRange range_;
    core::Buffer<uint64_t> keys_; // sorted
    core::Buffer<int32_t> order_; // sorted place -> own particle
    core::Buffer<int32_t> place_; // own particle -> its target, -1 = none; packing: whether it is one
    core::Buffer<double> send_, receive_;
    std::vector<Border> borders_;
    std::vector<int64_t> counts_;               // of children, per border
    std::vector<uint64_t> first_key_;           // per rank, and the end
    std::vector<int64_t> sent_, received_;      // items per rank
    std::vector<int64_t> bytes_[2], offset_[2]; // of an exchange: own side, other side
};

} // namespace graft::essential
