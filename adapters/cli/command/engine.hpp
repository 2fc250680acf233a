// SPDX-License-Identifier: BSD-3-Clause
// The plugin as this command uses it: loaded at run time through the vendorable loader, like by any other
// host. Invariants: every failing entry becomes an Error with the library's own message; handles are freed
// exactly once.
#pragma once

#include "ic/points.hpp"
#include "ranks/ranks.hpp"
#include "snapshot/snapshot.hpp"

#include <graft/graft.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace graft::cli {

/// The loaded library and its table; lives until the process ends, so copies are cheap.
class Engine {
  public:
    /// Loads `library` ("" = the loader's search). Throws Error with every path tried.
    explicit Engine(const std::string& library = "");

    const graft_api_v1& api() const noexcept { return *api_; }
    /// Throws Error with last_error() unless status is GRAFT_OK; `where` names the call or file.
    void require(int32_t status, const std::string& where) const;
    /// Every deck key in a form of GRAFT_EXPLAIN_*; with `study` also the papers' parameters.
    std::string explain(int32_t form, bool study) const;
    /// The names of all keys of a deck; "host.*" stands for the host's own.
    std::vector<std::string> keys() const;
    /// JSON answer of a tool of the library. Throws Error.
    std::string run_tool(const std::string& name, const std::string& yaml) const;
    /// The same of a study, from the study library beside the loaded one. Throws Error, also when there is none.
    std::string run_study(const std::string& name, const std::string& yaml) const;
    /// The file the library was loaded from.
    std::string path() const;

  private:
    const graft_api_v1* api_ = nullptr;
};

/// Engine options: deck keys and their values.
class Deck {
  public:
    explicit Deck(const Engine& engine);
    ~Deck();
    Deck(const Deck&) = delete;
    Deck& operator=(const Deck&) = delete;

    void read_file(const std::string& path);
    void set(const std::string& key, const std::string& value);
    /// The value as text; nothing when the key is known but has no value. Throws Error for an unknown key.
    std::optional<std::string> get(const std::string& key) const;
    /// Of a key that has a number. Throws Error for words and for no value.
    double number(const std::string& key) const;
    bool is(const std::string& key, const std::string& word) const { return get(key) == word; }
    const graft_options* handle() const noexcept { return options_; }
    const Engine& engine() const noexcept { return engine_; }

  private:
    Engine engine_;
    graft_options* options_ = nullptr;
};

/// What a computation gives: accelerations in the host's order, and sums when asked for.
struct Field {
    std::vector<double> ax, ay, az;
    std::vector<double> potential; ///< of each particle, where it has an item for each before the computation
    double potential_energy = 0; ///< one half of sum m phi
    double virial = 0;           ///< trace: sum m a.x

    void resize(std::size_t n);
};

/// A per-particle array that migrate moves.
using Column = std::variant<std::vector<double>*, std::vector<std::int64_t>*, std::vector<std::int32_t>*>;

/// What a decomposition of records says: the part of each, and where asked for their order by part.
struct Parts {
    std::vector<std::int32_t> owner, permutation;
    std::vector<std::int64_t> part_offset;
};

/// One context of the library. With ranks all calls but figure are collective: each rank has its own
/// particles, virial and energy are those of all.
class Solver {
  public:
    /// Alone, and without a log.
    explicit Solver(const Deck& deck);
    /// The first rank has the log, too: log_to_stderr().
    Solver(const Deck& deck, const Ranks& ranks);
    /// One of the ranks of this table, which outlives it; without a log.
    Solver(const Deck& deck, const graft_comm_v1& rank);
    ~Solver();
    Solver(const Solver&) = delete;
    Solver& operator=(const Solver&) = delete;

    /// Messages of the library, as deck key log.level says, go to stderr.
    void log_to_stderr();
    /// Accelerations of all particles; with `energies` the sums too. Masses are the charges;
    /// softening lengths per particle are passed on when `own_softening`.
    void compute(const Snapshot& particles, Field& field, bool energies, bool own_softening);
    /// The same for the particles with these indices only; other entries of field are left as they were.
    void compute_targets(const Snapshot& particles, const std::vector<std::int64_t>& targets, Field& field,
                         bool own_softening);
    /// The rank for each particle: compact domains of equal count. `id` differs for all particles of all
    /// ranks.
    std::vector<std::int32_t> decompose(const Snapshot& particles, const std::vector<std::int64_t>& id);
    /// The same by the work of the last compute; this rank's own number throughout where that is not worth
    /// its cost.
    std::vector<std::int32_t> balance(const Snapshot& particles, const std::vector<std::int64_t>& id);
    /// Moves every item of the columns to its new owner.
    void migrate(const std::vector<std::int32_t>& owner, const std::vector<Column>& columns);
    /// The same for records, into any number of parts: their owners or, with `order`, the order by parts.
    void decompose_records(const std::vector<PointRecord>& records, bool weighted, std::int32_t parts,
                           bool order, Parts& result);
    /// `to` gets the records that belong here; it grows as needed.
    void migrate_records(const std::vector<std::int32_t>& owner, const std::vector<PointRecord>& records,
                         std::vector<PointRecord>& to);
    /// A figure of the last computation; nothing when it does not exist.
    std::optional<double> figure(const std::string& key) const;
    std::string figure_text(const std::string& key) const;

  private:
    void run(const Snapshot& particles, const graft_array* targets, Field& field, bool energies,
             bool own_softening);

    Engine engine_;
    graft_context* context_ = nullptr;
    int rank_ = 0;
};

} // namespace graft::cli
