// SPDX-License-Identifier: BSD-3-Clause
// What the studies share: particles in arrays on the GPU or the host, timed force evaluations through the
// public ABI, tables on the screen and JSON lines in a file.
#pragma once

#include "snapshot/snapshot.hpp"

#include <graft/graft.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace graft::study {

/// Words of the command line: --name value, or --name alone.
class Words {
  public:
    Words(int count, char** words);
    bool has(const std::string& name) const { return values_.count(name) > 0; }
    std::string text(const std::string& name, const std::string& otherwise) const;
    double number(const std::string& name, double otherwise) const;

  private:
    std::map<std::string, std::string> values_;
};

enum class Place { device, host };
enum class Real { fp32, fp64 };

/// x, y, z, mass and ax, ay, az of all particles, one column each; freed with the object.
class Bodies {
  public:
    Bodies(const cli::Snapshot& snapshot, Place place, Real real);
    ~Bodies();
    Bodies(const Bodies&) = delete;
    Bodies& operator=(const Bodies&) = delete;

    std::int64_t size() const { return n_; }
    graft_array column(int column) const;
    graft::Particles particles() const;
    graft::Results results() const;
    /// ax, ay, az one after the other, copied to the host.
    std::vector<double> accelerations() const;

  private:
    std::int64_t n_;
    Place place_;
    Real real_;
    char* data_ = nullptr;
};

/// Deck keys and values.
using Keys = std::vector<std::pair<std::string, std::string>>;
graft::Context make_context(const Keys& keys);

/// One kind of evaluation: the median wall time of some after a warm-up, and the figures of the last one.
struct Timing {
    double wall_s = 0;
    std::map<std::string, double> figures;       // of query
    double figure(const std::string& key) const; // NaN when there is none
};
Timing measure(graft::Context& context, const Bodies& bodies, int warm_up, int repeats);

/// |a - b| / |b| of every particle, ascending.
std::vector<double> errors(const std::vector<double>& a, const std::vector<double>& b);
double quantile(const std::vector<double>& ascending, double share);
/// Fraction of the values above a level.
double share_above(const std::vector<double>& ascending, double level);

/// A row of a table: (name, number) in order; names in brackets are for the JSON alone.
class Row {
  public:
    Row& add(const std::string& name, double value);
    Row& add(const std::string& name, const std::string& text);
    Row& hidden(const std::string& name, double value);
    std::string json() const;
    friend class Table;

  private:
    struct Cell {
        std::string name, text;
        bool is_text, shown;
    };
    std::vector<Cell> cells_;
};

/// Prints rows as they come, with a heading before the first and after each change of columns; the file gets
/// one JSON object a row.
class Table {
  public:
    explicit Table(const std::string& file);
    ~Table();
    void title(const std::string& text);
    void print(const Row& row);

  private:
    std::string heading_;
    void* file_ = nullptr;
};

/// thuering2023's data: 178 bodies are the Sun and the table of planets and moons (GRAFT_TEST_DATA's
/// planets_and_moons.csv, else the built-in one), 999 the Sun and asteroids alone, other numbers the table
/// and asteroids from published distributions of elements (his come from JPL's data base).
cli::Snapshot solar_system(std::size_t n);

/// Number of CUDA devices that work.
int devices();
/// Says on standard output that there is none; returns the exit status of what was skipped, 77.
int without_device();
/// Runs body(), and says in the table why not when the library refuses (an option that this build lacks).
template <typename Body>
bool attempt(Table& table, const std::string& what, Body&& body) {
    try {
        body();
        return true;
    } catch (const graft::Error& error) {
        table.print(Row().add("missing", what).add("why", error.what()));
        return false;
    }
}

} // namespace graft::study
