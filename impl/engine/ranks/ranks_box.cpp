// SPDX-License-Identifier: BSD-3-Clause
// RanksConductor in a periodic box, over ranks with a GPU each.
#include "engine/ranks/ranks_conductor.hpp"

#include "comm/sparse_exchange.hpp"
#include "core/timer.hpp"

#include <cstring>

namespace graft::engine {

namespace {

constexpr int tag = 15;

template <typename Function, typename... Arguments>
void call(Function function, const Arguments&... arguments) {
    backend::DeviceError error;
    backend::raise(function(arguments..., &error), error);
}

} // namespace

/// Every rank splits the sum alike, sends its particles to whoever has targets within the cut-off of an image
/// of them, and sums the pairs of its targets; the structure factors of all ranks are one sum.
RankOutcome RanksConductor::evaluate_box(comm::Communicator& comm, const Job& job, const RankFrame& frame) {
    if (begin_box(comm, job, frame)) {
        core::Timer timer;
        double* structure = nullptr;
        int64_t size = 0;
        comm.together([&] { call(job.table.box_structure, job.engine, &structure, &size); });
        comm.allreduce(structure, size, comm::Operation::sum);
        exchange_box(comm, job);
        times_.exchange_s = timer.lap();
    }
    RankOutcome outcome{};
    const bool tells = comm.rank() == 0;
    comm.together([&] { call(job.table.box_evaluate, job.engine, tells, &outcome); });
    return outcome;
}

/// Up to the splitting that all ranks have in common. False: no rank has a particle.
bool RanksConductor::begin_box(comm::Communicator& comm, const Job& job, const RankFrame& frame) {
    BoxFacts own{};
    comm.together([&] {
        call(job.table.box_measure, job.engine, &frame, &own);
        box_corners_.resize(6 * static_cast<size_t>(comm.size()));
    });
    comm.allgather(own.targets, 6, box_corners_.data());
    comm.allreduce(own.sums, 6, comm::Operation::sum);
    comm.allreduce(own.most, 5, comm::Operation::max);
    const BoxFrame all{own, own.most[3] > 0};
    comm.together([&] {
        if (frame.all_particles > 0)
            call(job.table.box_plan, job.engine, &all);
    });
    return frame.all_particles > 0;
}

void RanksConductor::exchange_box(comm::Communicator& comm, const Job& job) {
    const bool on_device = comm.device_aware();
    const int64_t item = 8 * (job.wish.per_particle ? 5 : 4);
    struct Message {
        int rank;
        int64_t count;
        const void* data;
    };
    std::vector<Message> sent, arriving;
    std::vector<comm::Outgoing> outgoing;
    std::vector<comm::Incoming> incoming;
    comm.together([&] {
        for (int step = 1; step < comm.size(); ++step) { // not all to the same rank at once
            const int to = (comm.rank() + step) % comm.size();
            int64_t count = 0;
            call(job.table.box_pack, job.engine, static_cast<int32_t>(to),
                 static_cast<const double*>(box_corners_.data() + 6 * to), on_device, &count);
            if (count > 0)
                sent.push_back({to, count, nullptr});
        }
        for (const Message& message : sent)
            outgoing.push_back({message.rank, &message.count, sizeof message.count});
    });
    comm::sparse_exchange(comm, outgoing, headers_, incoming);
    std::vector<int64_t> counts;
    comm.together([&] {
        int64_t bytes = 0;
        for (const comm::Incoming& message : incoming) {
            Message one{message.from, 0, nullptr};
            std::memcpy(&one.count, message.data, sizeof one.count);
            arriving.push_back(one);
            counts.push_back(one.count);
            bytes += one.count * item;
        }
        call(job.table.receive, job.engine, bytes, on_device, &room_);
        for (Message& message : sent)
            call(job.table.packed, job.engine, static_cast<int32_t>(message.rank), on_device, &message.data);
        requests_.reserve(sent.size() + arriving.size());
    });
    auto* room = static_cast<char*>(room_);
    for (const Message& message : arriving) {
        requests_.push_back(comm.irecv(room, message.count * item, message.rank, tag));
        room += message.count * item;
    }
    for (const Message& message : sent)
        requests_.push_back(comm.isend(message.data, message.count * item, message.rank, tag));
    comm.wait_all(requests_);
    comm.together([&] {
        call(job.table.box_take, job.engine, on_device, static_cast<const int64_t*>(counts.data()),
             static_cast<int32_t>(counts.size()));
    });
}

} // namespace graft::engine
