// SPDX-License-Identifier: BSD-3-Clause
// What a feed of liu2022's kernels by the host did (study/papers/liu_fed_lists_gpu.cuh). For the host's compiler too.
#pragma once

#include <cstdint>

namespace graft::forces {

struct FedReport {
    int64_t buffer = 0; // interactions a kernel; 0: nothing was fed
    int64_t launches = 0, leaf_entries = 0, node_entries = 0, groups = 0;
    double wall_s = 0;   // from the lists on the device to the last sum there
    double append_s = 0; // the host, filling buffers
    double call_s = 0;   // in the calls that send them
    double wait_s = 0;   // for buffers that the device still has, and for pieces of the lists

    /// A computation's next batch.
    void add(const FedReport& next) {
        buffer = next.buffer;
        launches += next.launches;
        groups += next.groups;
        leaf_entries += next.leaf_entries;
        node_entries += next.node_entries;
        wall_s += next.wall_s;
        append_s += next.append_s;
        call_s += next.call_s;
        wait_s += next.wait_s;
    }
};

} // namespace graft::forces
