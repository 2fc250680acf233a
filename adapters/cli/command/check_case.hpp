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
    graft_options_values options{}; ///< as the engine took them
    std::string precision, mac;
    std::int64_t threads = 0;
    std::map<std::string, double>
        figures;                ///< query keys -> median over repeats; absent ones are not in the map
    std::vector<double> errors; ///< ascending, one a target
    int repeats = 0;

    /// Smallest error that a share `q` of the targets does not exceed.
    double percentile(double q) const;
    std::string json(bool curve) const;
    std::string text() const;
};

/// Runs checks one after the other; particles and references are kept while they stay the same.
class CheckRunner {
  public:
    explicit CheckRunner(const Engine& engine) : engine_(engine) {}

    CheckResult run(const CheckSettings& settings);

  private:
    void load_particles(const CheckSettings& settings);
    void load_reference(const CheckSettings& settings);
    void apply(Deck& deck, const CheckSettings& settings) const;
    std::vector<double> errors(const Field& field) const;

    Engine engine_;
    std::string particles_key_, reference_key_;
    Snapshot particles_;
    std::vector<std::int64_t> targets_;
    Field reference_;
};

} // namespace graft::cli
