// SPDX-License-Identifier: BSD-3-Clause
// The energy log: one CSV line a measurement, flushed at once, so that a run can be watched and plotted while
// it goes. Columns: step,time,kinetic,potential,total,relative_energy_error,lx,ly,lz,virial_ratio.
#pragma once

#include "simulation/leapfrog.hpp"

#include <cstdio>
#include <memory>
#include <string>

namespace graft::cli {

class EnergyLog {
  public:
    /// A new log, or with `continue_after` >= 0 an old one to be added to: its lines up to that step that are
    /// multiples of `every` (the line where the first run was cut is dropped, and one that is not whole).
    EnergyLog(std::string path, std::int64_t every, std::int64_t continue_after);

    /// Appends a line. Throws Error when the file cannot be written.
    void add(const State& state, const Energies& energies);

  private:
    std::string path_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

/// (E - E0) / |E0|.
double relative_energy_error(const State& state, const Energies& energies);

} // namespace graft::cli
