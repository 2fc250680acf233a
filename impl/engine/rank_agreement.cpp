// SPDX-License-Identifier: BSD-3-Clause
// See rank_agreement.hpp.
#include "engine/rank_agreement.hpp"

#include "core/error.hpp"
#include "engine/checks.hpp"
#include "engine/report.hpp"
#include "essential/forest.hpp"
#include "settings/shared_settings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace graft::engine {

namespace {

/// A number that differs where settings differ that all ranks must share (threads need not be equal).
class Digest {
  public:
    template <typename T>
    void add(T value) {
        if constexpr (std::is_floating_point_v<T>)
            mix(std::bit_cast<uint64_t>(static_cast<double>(value)));
        else
            mix(static_cast<uint64_t>(static_cast<int64_t>(value)));
    }
    int64_t value() const { return static_cast<int64_t>(hash_ >> 2); }

  private:
    void mix(uint64_t bits) {
        hash_ = (hash_ ^ bits) * 0x9e3779b97f4a7c15u;
        hash_ ^= hash_ >> 29;
    }
    uint64_t hash_ = 0xcbf29ce484222325u;
};

constexpr int64_t no_charge = -10000; // in the place of an exponent

int64_t digest(const settings::Settings& s) {
    Digest d;
    settings::visit_shared_settings(s, [&](auto value) { d.add(value); });
    return d.value();
}

} // namespace

Agreement agree(comm::Communicator& comm, const settings::Settings& settings, const Request& request,
                const ChargeSizes& own) {
    const Outputs& outputs = request.outputs;
    const ParticleInput& particles = request.particles;
    const bool some_only = request.points == nullptr && !request.whole() && particles.n > 0;
    const int64_t shared = comm.alone() ? 0 : digest(settings), call = request.points != nullptr ? 2 : 1;
    int64_t most[] = {outputs.with_sums(),
                      outputs.with_potential(),
                      particles.softening.present(),
                      outputs.virial.present(),
                      some_only,
                      shared,
                      -shared,
                      call,
                      -call,
                      own.lightest > 0 ? -std::ilogb(own.lightest) : no_charge};
    comm.allreduce(most, std::size(most), comm::Operation::max);
    const double least = most[9] == no_charge ? 0 : std::ldexp(1.0, -static_cast<int>(most[9]));
    double sums[] = {static_cast<double>(particles.n), own.magnitude};
    comm.allreduce(sums, 2, comm::Operation::sum);
    const Agreement all{static_cast<int64_t>(sums[0]), {sums[1], least}, most[1] != 0, most[0] != 0, most[2] != 0, most[3] != 0};
    comm.together([&] {
        if (most[7] != -most[8])
            core::fail(core::Status::call_order,
                       "some ranks call compute, others field_at; expected the same call on all ranks");
        if (most[5] != -most[6])
            core::fail(
                core::Status::argument,
                "the settings differ between ranks; expected the same method, tree, softening, units and box "
                "on all. Read one deck on every rank, or set the same options");
        if (settings.periodic && all.particles > 0)
            check_lattice(settings, settings.softening_length > 0 || all.per_particle_softening,
                          most[3] != 0 && most[4] != 0);
    });
    return all;
}

void find_origin(comm::Communicator& comm, const double* own, double (&origin)[3]) {
    std::fill(origin, origin + 3, 0.0);
    if (own != nullptr)
        std::copy_n(own, 3, origin);
    if (comm.alone())
        return;
    const int32_t lowest = comm.min<int32_t>(own != nullptr ? comm.rank() : comm.size());
    if (lowest < comm.size())
        comm.broadcast(origin, 3, lowest);
}

void measure_ranks(comm::Communicator& comm, const settings::Settings& settings, const comm::Traffic& before,
                   Report& report) {
    const double work = report.pairs + report.cells * static_cast<double>(essential::direct_count(settings));
    const double mean = comm.sum(work) / comm.size(), most = comm.max(work);
    const comm::Traffic& now = comm.traffic();
    Report::Ranks& ranks = report.ranks;
    ranks.size = comm.size();
    ranks.rank = comm.rank();
    ranks.imbalance = mean > 0 ? most / mean : 1;
    ranks.bytes_sent = now.bytes_sent - before.bytes_sent;
    ranks.messages = now.messages - before.messages;
    ranks.collectives = now.collectives - before.collectives;
    ranks.wait_s = now.wait_s - before.wait_s;
}

} // namespace graft::engine
