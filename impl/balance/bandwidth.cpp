// SPDX-License-Identifier: BSD-3-Clause
// See bandwidth.hpp.
#include "balance/bandwidth.hpp"

#include "core/buffer.hpp"

#include <vector>

namespace graft::balance {

namespace {

constexpr int64_t probe_bytes = 256 << 10;
constexpr int64_t least_bytes = 64 << 10; // migrations of less tell of latency only
constexpr int tag = 73;

/// Seconds of one shift around the ring on this rank.
double shift(comm::Communicator& comm, const core::Buffer<char>& send, core::Buffer<char>& receive,
             std::vector<comm::Request>& requests) {
    const int size = comm.size(), rank = comm.rank();
    comm.barrier();
    const double start_s = comm.time_s();
    requests.push_back(comm.irecv(receive.data(), probe_bytes, (rank + size - 1) % size, tag));
    requests.push_back(comm.isend(send.data(), probe_bytes, (rank + 1) % size, tag));
    comm.wait_all(requests);
    return comm.time_s() - start_s;
}

double probe(comm::Communicator& comm, core::Memory& memory) {
    core::Buffer<char> send(memory, "bandwidth probe"), receive(memory, "bandwidth probe");
    std::vector<comm::Request> requests;
    comm.together([&] {
        send.resize(probe_bytes);
        receive.resize(probe_bytes);
        std::memset(send.data(), 0, probe_bytes);
        requests.reserve(2);
    });
    double seconds = 1e30;
    for (int repeat = 0; repeat < 2; ++repeat) // the first one touches fresh pages
        seconds = std::min(seconds, comm.max(shift(comm, send, receive, requests)));
    return static_cast<double>(probe_bytes) / std::max(seconds, 1e-9);
}

} // namespace

double Bandwidth::agree(comm::Communicator& comm, core::Memory& memory) {
    if (comm.alone())
        return 0;
    double most[2] = {seconds_, static_cast<double>(bytes_)};
    comm.allreduce(most, 2, comm::Operation::max);
    seconds_ = 0;
    bytes_ = 0;
    if (most[0] > 0 && most[1] >= static_cast<double>(least_bytes))
        known_ = most[1] / most[0];
    else if (known_ <= 0)
        known_ = probe(comm, memory);
    return known_;
}

} // namespace graft::balance
