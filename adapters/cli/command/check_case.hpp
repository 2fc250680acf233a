// SPDX-License-Identifier: BSD-3-Clause
// One accuracy check: a particle set, engine settings, and what a force evaluation with them costs and gets
// wrong.
//
// Error = |a - a_reference| / |a_reference| at seeded random targets; a_reference is Graft's method
// `reference` (compensated double-precision direct sums). Times are medians over the repeats after one
// warm-up call.
#pragma once

#include "command/engine.hpp"
#include "command/json.hpp"

#include <map>
#include <string>
#include <vector>

namespace graft::cli {

/// Values of the options of `graft check` by name ("theta" -> "0.5"); absent = the engine's default.
using CheckSettings = std::map<std::string, std::string>;

/// Options that are engine settings, with the deck key each stands for.
struct EngineSetting {
    const char* name;
    const char* key;
    const char* placeholder;
    const char* help;
};
const std::vector<EngineSetting>& engine_settings();

struct CheckResult {
    std::int64_t n = 0;
    std::string backend, simd;
    double theta = 0, accuracy = 0, softening = 0; ///< these as the engine took them
    int order = 0, leaf = 0, group = 0;
    std::string tree, walk, method;
    std::string precision, mac;
    std::int64_t threads = 0;
    std::map<std::string, double>
        figures;                ///< query keys -> median over repeats; absent ones are not in the map
    std::vector<double> errors; ///< ascending, one a target
    int repeats = 0;
    int ranks = 1;

    /// Smallest error that a share `q` of the targets does not exceed.
    double percentile(double q) const;
    std::string json(bool curve) const;
    std::string text() const;
};

/// Runs checks one after the other; particles and references are kept while they stay the same. On ranks the
/// particles are shared out by Graft's domains ("domains": orb) or in blocks as they come (block), every rank
/// sums the references of its share of the targets, and the result on rank 0 is that of all: errors of all
/// targets, interactions and bytes of all ranks, times of the slowest.
class CheckRunner {
  public:
    explicit CheckRunner(const Engine& engine, Ranks& ranks = Ranks::here())
        : engine_(engine), ranks_(ranks) {}

    CheckResult run(const CheckSettings& settings);

  private:
    void load_particles(const CheckSettings& settings);
    void load_reference(const CheckSettings& settings);
    void apply(Deck& deck, const CheckSettings& settings) const;
    std::vector<double> errors(const Field& field);
    void take_share(Solver& solver, const std::string& domains);

    Engine engine_;
    Ranks& ranks_;
    std::string particles_key_, reference_key_;
    Snapshot particles_;                ///< all of them, on every rank
    Snapshot share_;                    ///< those that this rank computes
    std::vector<std::int64_t> numbers_; ///< and where they stand among all
    std::vector<std::int64_t> targets_;
    Field reference_;
};

} // namespace graft::cli
