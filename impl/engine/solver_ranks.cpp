// Solver, third part: what the ranks must know of each other before and after a computation. Collective
// functions.
#include "core/error.hpp"
#include "essential/forest.hpp"
#include "settings/shared_settings.hpp"
#include "engine/solver.hpp"

#include <algorithm>
#include <bit>

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

int64_t digest(const settings::Settings& s) {
    Digest d;
    settings::visit_shared_settings(s, [&](auto value) { d.add(value); });
    return d.value();
}

} // namespace

/// Checks that all ranks want the same, and shares what each must know of all: numbers of particles, the sum
/// of charges, and which results anyone wants.
void Solver::agree_on(Call call, const Outputs& outputs) {
    with_sums_ = outputs.virial.present() || outputs.energy.present();
    with_virial_ = outputs.virial.present();
    with_potential_ = outputs.potential.present() || outputs.energy.present();
    all_particles_ = problem_.n;
    if (comm_->alone())
        return;
    const int64_t settings = digest(settings_), what = static_cast<int64_t>(call);
    int64_t most[] = {with_sums_, with_potential_, problem_.per_particle_softening, settings, -settings, what,
                      -what};
    comm_->allreduce(most, std::size(most), comm::Operation::max);
    comm_->together([&] {
        if (most[5] != -most[6])
            core::fail(core::Status::call_order,
                       "some ranks call compute, others field_at; expected the same call on all ranks");
        if (most[3] != -most[4])
            core::fail(
                core::Status::argument,
                "the settings differ between ranks; expected the same method, tree, softening, units and box "
                "on all. Read one deck on every rank, or set the same options");
    });
    with_sums_ = most[0] != 0, with_potential_ = most[1] != 0;
    problem_.per_particle_softening = most[2] != 0;
    all_particles_ = comm_->sum(problem_.n);
    magnitude_ = comm_->sum(magnitude_);
}

/// The first particle of the lowest rank that has any; (0, 0, 0) when none has.
void Solver::find_origin(double (&origin)[3]) {
    std::fill(origin, origin + 3, 0.0);
    if (problem_.n > 0)
        origin[0] = problem_.x[0], origin[1] = problem_.y[0], origin[2] = problem_.z[0];
    if (comm_->alone())
        return;
    const int32_t lowest = comm_->min<int32_t>(problem_.n > 0 ? comm_->rank() : comm_->size());
    if (lowest < comm_->size())
        comm_->broadcast(origin, 3, lowest);
}

void Solver::measure_ranks(const comm::Traffic& before) {
    double work = report_.pairs + report_.cells * static_cast<double>(essential::direct_count(settings_));
    const double mean = comm_->sum(work) / comm_->size(), most = comm_->max(work);
    const comm::Traffic& now = comm_->traffic();
    report_.ranks.size = comm_->size();
    report_.ranks.rank = comm_->rank();
    report_.ranks.imbalance = mean > 0 ? most / mean : 1;
    report_.ranks.bytes_sent = now.bytes_sent - before.bytes_sent;
    report_.ranks.messages = now.messages - before.messages;
    report_.ranks.collectives = now.collectives - before.collectives;
    report_.ranks.wait_s = now.wait_s - before.wait_s;
}

} // namespace graft::engine
