// SPDX-License-Identifier: BSD-3-Clause
// What the last computation did: named numbers and texts, in a fixed order, for query and logs.
//
// A figure that was not measured is not there (asking for it is "absent"): never a zero that means "unknown".
#pragma once

#include "forces/fed_report.hpp"

#include <cstdint>
#include <string>

namespace graft::core {
class Memory;
}
namespace graft::settings {
struct Settings;
}

namespace graft::engine {

struct Report {
    bool valid = false;          // a computation has succeeded
    const char* backend = "cpu"; // or "gpu"
    const char* method = "";
    const char* precision = "";
    const char* simd = "";
    int threads = 0;
    int64_t n = 0;
    int64_t targets = 0;

    struct Times {
        double import = 0, sort = 0, tree = 0, moments = 0, lists = 0, forces = 0, ranks = 0, output = 0,
               total = 0;
        double p2p = 0, m2p = 0; // of forces; measured on a GPU only
    } time_s;

    double pairs = 0;     // P2P interactions: targets times sources, as evaluated
    double cells = 0;     // M2P interactions
    double far_cells = 0; // M2L: cells that went into a group's polynomial, over all groups
    std::string local;    // "on", or "off: why"; "" where the method has none
    bool has_tree = false;
    int order = 0; // of the expansions
    double ewald_alpha = 0; // 1 / length, of a split lattice sum; 0: there was none
    int64_t nodes = 0, leaves = 0, groups = 0, levels = 0;
    struct Bytes {
        int64_t lists = 0, total = 0, peak = 0;
    } bytes;
    /// What the last computation was to the ranks together; size 0: there was one rank.
    struct Ranks {
        int size = 0, rank = 0;
        int64_t bytes_sent = 0, messages = 0, collectives = 0; // by this rank
        double wait_s = 0;                                     // in communication, this rank
        double imbalance = 1;                                  // largest work of a rank over the mean
        int64_t rounds = 0;                                    // of questions (fetch), else 1
        int64_t nodes = 0, particles = 0;                      // that came from other ranks
    } ranks;
    int64_t allocations = 0; // by the context since its creation; on the host
    /// What a GPU did; there when backend is "gpu". Counts are since the context's creation but launches.
    struct Device {
        int32_t ordinal = 0;
        char name[256] = {0};
        char note[256] = {0};    // e.g. that a part was done on the host, and why
        const char* kernel = ""; // who evaluated the lists (study.kernel), and that bits differ where they do
        int64_t bytes = 0, bytes_peak = 0, bytes_pinned = 0;
        int64_t allocations = 0, waits = 0, repeats = 0;
        int64_t lists_built = 0, lists_reused = 0; // computations by what their lists were
        int64_t launches = 0, batches = 0;         // of the last computation
        bool graph = false;                        // the last computation was the replay of a CUDA graph
        forces::FedReport fed;                    // study.buffer; of its forces
    } device;
    bool on_device() const;

    /// Counts of a computation that is to begin: none yet.
    void forget_counts();
    /// What is told whoever computed, of a computation that has succeeded.
    void finish(const settings::Settings& settings, const core::Memory& memory);

    /// The text of "backend", "simd", "method", "precision", "device", "note", "kernel", "local"; false for
    /// other names, and where there is none.
    bool find_words(const std::string& key, std::string* words) const;
    /// true and *value set when `key` names a figure of this report.
    bool find(const std::string& key, double* value) const;
    /// The whole report as one JSON object.
    std::string json() const;
};

} // namespace graft::engine
