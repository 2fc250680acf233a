// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/energy_log.hpp"

#include "command/arguments.hpp"
#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"

#include <cmath>
#include <fstream>

namespace graft::cli {

namespace {

constexpr const char* as_far_as_it_is =
    "its last line may not be whole; graft run --restart goes on from the last restart file";
constexpr const char* header =
    "step,time,kinetic,potential,total,relative_energy_error,lx,ly,lz,virial_ratio\n";

/// The regular lines of an old log with steps up to `last`; just the header when there is no log.
std::string lines_up_to(const std::string& path, std::int64_t every, std::int64_t last) {
    require_regular_file(path);
    std::ifstream in(path);
    std::string kept = header;
    std::string line;
    std::getline(in, line);
    while (std::getline(in, line) && !in.eof()) { // a full disk or a kill may have cut the last line
        const auto step = parse_integer(line.substr(0, line.find(',')));
        if (step && *step <= last && *step % every == 0) {
            kept += line + "\n";
        }
    }
    return kept;
}

} // namespace

double relative_energy_error(const State& state, const Energies& energies) {
    return (energies.total() - state.initial_energy) / std::abs(state.initial_energy);
}

EnergyLog::EnergyLog(std::string path, std::int64_t every, std::int64_t continue_after)
    : path_(std::move(path)), file_(nullptr, nullptr) {
    const std::string text = continue_after >= 0 ? lines_up_to(path_, every, continue_after) : header;
    write_file_atomically(path_, std::as_bytes(std::span(text.data(), text.size())));
    file_ = {std::fopen(path_.c_str(), "a"), std::fclose};
    if (!file_) {
        fail_writing("write the energy log", path_, as_far_as_it_is);
    }
}

void EnergyLog::add(const State& state, const Energies& energies) {
    const auto& l = energies.angular_momentum;
    const int written = std::fprintf(
        file_.get(), "%lld,%.17g,%.17g,%.17g,%.17g,%.6e,%.17g,%.17g,%.17g,%.9g\n",
        static_cast<long long>(state.step), state.particles.time, energies.kinetic, energies.potential,
        energies.total(), relative_energy_error(state, energies), l[0], l[1], l[2], energies.virial_ratio);
    if (written < 0 || std::fflush(file_.get()) != 0) {
        fail_writing("write the energy log", path_, as_far_as_it_is);
    }
}

} // namespace graft::cli
