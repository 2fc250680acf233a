// SPDX-License-Identifier: BSD-3-Clause
// See ranks_conductor.hpp.
#include "engine/ranks/ranks_conductor.hpp"

#include "comm/sparse_exchange.hpp"
#include "core/timer.hpp"
#include "engine/checks.hpp"
#include "essential/root_cube.hpp"
#include "forces/frame.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

namespace graft::engine {

namespace {

constexpr int tag = 12;
constexpr double smallest_box = 1e-280; // below it all trees are points
constexpr int64_t most_runs = 2048;     // that domains are covered from

/// A step of the device's, whose error is thrown.
template <typename Function, typename... Arguments>
void call(Function function, const Arguments&... arguments) {
    backend::DeviceError error;
    backend::raise(function(arguments..., &error), error);
}

/// The first particle of the lowest rank that has any.
void find_centre(comm::Communicator& comm, const RankFacts& own, double (&centre)[3]) {
    std::copy_n(own.first, 3, centre);
    const int32_t lowest = comm.min<int32_t>(own.n > 0 ? comm.rank() : comm.size());
    if (lowest < comm.size())
        comm.broadcast(centre, 3, lowest);
    else
        std::fill(centre, centre + 3, 0.0);
}

} // namespace

RanksConductor::RanksConductor(core::Memory& memory)
    : domains_(memory), regions_(memory), groups_(memory, "runs of groups"), headers_(memory, "headers") {}

RankOutcome RanksConductor::evaluate(comm::Communicator& comm, const Job& job) {
    times_ = {};
    const RankFrame frame = agree_on_charges(comm, job);
    const bool any_charge = job.settings.precision == settings::Precision::fp64 || frame.lightest == 0;
    if (any_charge || frame.lightest * frame.scale >= forces::least_charge_in_single) {
        const RankOutcome outcome = evaluate_once(comm, job, frame);
        if (outcome.needs_double == 0)
            return outcome;
    }
    settings::Settings in_double = job.settings;
    in_double.precision = settings::Precision::fp64;
    const Job again{job.table, job.engine, in_double, job.particles, job.points, job.outputs, job.stream, job.wish};
    return evaluate_once(comm, again, agree_on_charges(comm, again));
}

RankOutcome RanksConductor::evaluate_once(comm::Communicator& comm, const Job& job, const RankFrame& frame) {
    RankOutcome outcome = job.settings.periodic ? evaluate_box(comm, job, frame) : evaluate_tree(comm, job, frame);
    constexpr int totals = std::extent_v<decltype(RankOutcome::totals)>, net = std::extent_v<decltype(RankOutcome::net_force)>;
    double sums[totals + net + 1]; // one round for all
    *std::copy_n(outcome.net_force, net, std::copy_n(outcome.totals, totals, sums)) = outcome.needs_double;
    comm.allreduce(sums, totals + net + 1, comm::Operation::sum);
    std::copy_n(sums, totals, outcome.totals);
    outcome.needs_double = sums[totals + net];
    if (job.settings.conserve_momentum && job.points == nullptr && outcome.needs_double == 0) {
        double* const here = outcome.totals;
        comm.together([&] { call(job.table.take_off, job.engine, sums + totals, here); });
        comm.allreduce(outcome.totals, totals, comm::Operation::sum);
    }
    return outcome;
}

RankOutcome RanksConductor::evaluate_tree(comm::Communicator& comm, const Job& job, const RankFrame& frame) {
    begin(comm, job, frame);
    core::Timer timer;
    find_pieces(comm, job);
    meet_ranks(comm, job);
    pack(comm, job, essential::RankContent::all);
    comm.together([&] { call(job.table.evaluate_own, job.engine); });
    start(comm, job, essential::RankContent::all);
    finish(comm, job, essential::RankContent::all);
    times_.exchange_s += timer.lap();
    RankOutcome outcome{};
    comm.together([&] { call(job.table.evaluate_all, job.engine, &outcome); });
    return outcome;
}

void RanksConductor::write(const Job& job, const RankOutcome& outcome) {
    const double* totals = outcome.totals;
    call(job.table.write, job.engine, totals);
}

/// Collective: the import, and the scale of all ranks' charges. Throws, the same on all ranks.
RankFrame RanksConductor::agree_on_charges(comm::Communicator& comm, const Job& job) {
    comm.together([&] {
        call(job.table.begin, job.engine, &job.settings, &job.particles, job.points, &job.outputs, job.stream,
             &job.wish, &facts_);
    });
    RankFrame frame{};
    double sums[] = {facts_.magnitude, static_cast<double>(facts_.n)};
    comm.allreduce(sums, std::size(sums), comm::Operation::sum);
    const double magnitude = sums[0];
    frame.all_particles = static_cast<int64_t>(sums[1]);
    const double none = std::numeric_limits<double>::infinity(), least = comm.min(facts_.lightest > 0 ? facts_.lightest : none);
    frame.lightest = least < none ? least : 0;
    find_centre(comm, facts_, frame.centre);
    comm.together([&] { frame.scale = scale_of_charges(magnitude); });
    return frame;
}

void RanksConductor::begin(comm::Communicator& comm, const Job& job, RankFrame frame) {
    if (frame.all_particles > 0) {
        const particles::KeyRange root = essential::find_root(comm, job.settings, settings::TreeScope::local, facts_.corners,
                                                              [](const particles::KeyRange&) {});
        frame.has_box = !job.settings.has_box && root.root_edge > smallest_box;
        for (int a = 0; a < 3; ++a) {
            frame.lower[a] = -facts_.corners[a];
            frame.upper[a] = facts_.corners[3 + a];
        }
    }
    comm.together([&] { call(job.table.build, job.engine, &frame, &shape_); });
}

/// Cells of the common root cube that several ranks have particles in: their nodes are pieces.
void RanksConductor::find_pieces(comm::Communicator& comm, const Job& job) {
    comm.together([&] {
        groups_.resize(most_runs);
        int64_t count = 0;
        call(job.table.cover_particles, job.engine, groups_.data(), most_runs, &count);
        groups_.resize(count);
        regions_.cover(groups_, essential::Domains::most_boxes(comm.size()));
    });
    regions_.exchange(comm);
    comm.together([&] {
        std::vector<geometry::Box> others;
        for (int r = 0; r < comm.size(); ++r)
            for (int k = 0; k < regions_.count(r) && r != comm.rank(); ++k)
                others.push_back(regions_.boxes(r)[k].box);
        call(job.table.keep_off, job.engine, others.data(), static_cast<int64_t>(others.size()));
    });
}

void RanksConductor::cover_targets(const Job& job) {
    groups_.resize(most_runs);
    int64_t count = 0;
    call(job.table.cover_targets, job.engine, groups_.data(), most_runs, &count);
    groups_.resize(count);
}

/// Where everyone's targets are, and how much error their groups may have.
void RanksConductor::meet_ranks(comm::Communicator& comm, const Job& job) {
    comm.together([&] {
        cover_targets(job);
        domains_.cover(groups_, essential::Domains::most_boxes(comm.size()));
    });
    if (job.settings.mac == settings::MacType::error) {
        const bool use_last = comm.min<int32_t>(facts_.has_last) != 0;
        if (!use_last) {
            domains_.exchange(comm);
            pack(comm, job, essential::RankContent::masses);
            start(comm, job, essential::RankContent::masses);
            finish(comm, job, essential::RankContent::masses);
        }
        comm.together([&] {
            call(job.table.scale_targets, job.engine, use_last);
            cover_targets(job);
            domains_.update(groups_);
        });
    }
    domains_.exchange(comm);
}

/// What every other rank needs.
void RanksConductor::pack(comm::Communicator& comm, const Job& job, essential::RankContent content) {
    shape_.content = content;
    comm.together([&] {
        parcels_.clear();
        for (int step = 1; step < comm.size(); ++step) { // not all to the same rank at once
            const int to = (comm.rank() + step) % comm.size();
            essential::RankHeader header{};
            call(job.table.pack, job.engine, content, static_cast<int32_t>(to), domains_.boxes(to),
                 static_cast<int32_t>(domains_.count(to)), comm.device_aware(), &header);
            if (header.nodes > 0)
                parcels_.push_back({to, header, nullptr});
        }
    });
}

/// Tells the headers, then starts the messages.
void RanksConductor::start(comm::Communicator& comm, const Job& job, essential::RankContent content) {
    const bool on_device = comm.device_aware();
    std::vector<comm::Outgoing> outgoing;
    std::vector<comm::Incoming> incoming;
    comm.together([&] {
        for (const Parcel& parcel : parcels_)
            outgoing.push_back({parcel.to, &parcel.header, sizeof(essential::RankHeader)});
    });
    comm::sparse_exchange(comm, outgoing, headers_, incoming);
    comm.together([&] {
        arrivals_.clear();
        senders_.clear();
        int64_t bytes = 0;
        for (const comm::Incoming& message : incoming) {
            RankArrival arrival{{}, bytes};
            std::memcpy(&arrival.header, message.data, sizeof arrival.header);
            arrivals_.push_back(arrival);
            senders_.push_back(message.from);
            bytes += essential::message_bytes(shape_, arrival.header);
        }
        call(job.table.receive, job.engine, bytes, on_device, &room_);
        for (Parcel& parcel : parcels_)
            call(job.table.packed, job.engine, static_cast<int32_t>(parcel.to), on_device, &parcel.data);
        requests_.reserve(parcels_.size() + arrivals_.size());
    });
    const int own_tag = tag + static_cast<int>(content);
    for (size_t i = 0; i < arrivals_.size(); ++i)
        requests_.push_back(comm.irecv(static_cast<char*>(room_) + arrivals_[i].offset,
                                       essential::message_bytes(shape_, arrivals_[i].header), senders_[i], own_tag));
    for (const Parcel& parcel : parcels_)
        requests_.push_back(
            comm.isend(parcel.data, essential::message_bytes(shape_, parcel.header), parcel.to, own_tag));
}

void RanksConductor::finish(comm::Communicator& comm, const Job& job, essential::RankContent content) {
    comm.wait_all(requests_);
    comm.together([&] {
        call(job.table.take, job.engine, content, comm.device_aware(), arrivals_.data(),
             static_cast<int32_t>(arrivals_.size()));
    });
}

} // namespace graft::engine
