// SPDX-License-Identifier: BSD-3-Clause
// Time of a step over GPUs of one host: threads as ranks, or under `mpiexec -n RANKS` processes, each with
// its GPU and its part of a Plummer sphere, or of a periodic box of charges that planes cut. ranks_times
// RANKS PARTICLES [CALLS] [ACCURACY] [host|device] [plummer|box]; arrays in the host's memory, or in the
// devices'. A line of JSON, with the split of the slowest rank between sums on the device, exchange, and
// waiting in communication, and a line a rank on stderr with all of it. Every rank has its share of the
// cores. Exit status 77: no GPU.
#include "backend/gpu_library.hpp"
#include "thread_ranks.hpp"
#include "core/timer.hpp"
#include "engine/solver.hpp"
#include "ranks/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace graft;
using namespace graft::engine;
using namespace graft::settings;

/// Counter-based random numbers in [0, 1): any thread makes any particle.
double random_at(uint64_t counter) {
    counter = (counter + 1) * 0x9e3779b97f4a7c15u;
    counter = (counter ^ counter >> 30) * 0xbf58476d1ce4e5b9u;
    counter = (counter ^ counter >> 27) * 0x94d049bb133111ebu;
    return static_cast<double>((counter ^ counter >> 31) >> 11) * 0x1p-53;
}

/// Rank r's part of the sphere, which its mirror planes cut into `ranks` equal ones (a power of two up to 8).
void put_plummer(int ranks, int rank, int64_t number, float* at) {
    const uint64_t c =
        4 * static_cast<uint64_t>(number) * static_cast<uint64_t>(ranks) + 4 * static_cast<uint64_t>(rank);
    const double r = 1 / std::sqrt(std::pow(0.999 * random_at(c) + 1e-9, -2.0 / 3) - 1);
    const double z = 2 * random_at(c + 1) - 1, phi = 6.283185307179586 * random_at(c + 2);
    const double rho = r * std::sqrt(1 - z * z);
    double point[3] = {rho * std::cos(phi), rho * std::sin(phi), r * z};
    for (int a = 0; a < 3 && 1 << a < ranks; ++a)
        point[a] = (rank >> a & 1) != 0 ? -std::abs(point[a]) : std::abs(point[a]);
    for (int a = 0; a < 3; ++a)
        at[a] = static_cast<float>(point[a]);
}

/// Slab r of the unit cube.
void put_uniform(int ranks, int rank, int64_t number, float* at) {
    const uint64_t c =
        3 * static_cast<uint64_t>(number) * static_cast<uint64_t>(ranks) + 3 * static_cast<uint64_t>(rank);
    at[0] = static_cast<float>((rank + random_at(c)) / ranks);
    at[1] = static_cast<float>(random_at(c + 1)), at[2] = static_cast<float>(random_at(c + 2));
}

int cores() {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void fill(int ranks, int rank, int64_t n, bool box, float* positions) {
    const int threads = std::max(1, cores() / ranks);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t)
        workers.emplace_back([=] {
            for (int64_t i = n * t / threads; i < n * (t + 1) / threads; ++i)
                (box ? put_uniform : put_plummer)(ranks, rank, i, positions + 3 * i);
        });
    for (std::thread& worker : workers)
        worker.join();
}

/// x y z of n particles behind each other, on a device (>= 0) or in the host's memory.
class Triples {
  public:
    Triples(int64_t n, int device) : n_(n), device_(device) {
        backend::DeviceError error;
        void* data = nullptr;
        if (device_ >= 0)
            backend::raise(backend::require_cuda().allocate(device_, 12 * n, &data, &error), error);
        else
            data = new float[static_cast<size_t>(3 * n)];
        data_ = static_cast<float*>(data);
    }
    ~Triples() {
        if (device_ >= 0)
            backend::require_cuda().release(device_, data_);
        else
            delete[] data_;
    }
    Triples(const Triples&) = delete;
    Triples& operator=(const Triples&) = delete;
    void set(const float* values) {
        backend::DeviceError error;
        if (device_ >= 0)
            backend::raise(backend::require_cuda().copy(data_, values, 12 * n_, &error), error);
        else
            std::copy_n(values, 3 * n_, data_);
    }
    particles::ArrayView column(int axis) const {
        return {reinterpret_cast<char*>(data_ + axis),
                particles::ElementType::f32,
                1,
                n_,
                12,
                12,
                device_ >= 0 ? particles::MemorySpace::device : particles::MemorySpace::host};
    }

  private:
    int64_t n_;
    int device_;
    float* data_ = nullptr;
};

/// A rank's step; plain, as ranks of MPI send it.
struct Split {
    double wall_s = 0, sums_s = 0, exchange_s = 0, wait_s = 0;
    int32_t device = 0;
};

struct Measured {
    Split split;
    Report report;
};

struct Task {
    int64_t n; // a rank
    int calls;
    double accuracy;
    bool on_device, box;
};

/// Mixed precision, as large an error as is asked for.
void make_box(Settings& settings, double accuracy) {
    settings.softening = Softening::none;
    settings.interaction = Interaction::coulomb;
    settings.has_box = settings.periodic = true;
    settings.box_upper[0] = settings.box_upper[1] = settings.box_upper[2] = 1;
    settings.ewald_accuracy = accuracy;
}

void run(comm::Communicator& comm, const Task& task, Measured& best) {
    const int64_t n = task.n;
    int32_t devices = 1;
    backend::DeviceError error;
    backend::raise(backend::require_cuda().device_count(&devices, &error), error);
    const int device = task.on_device ? comm.rank() % devices : -1;
    Triples in(n, device), out(n, device);
    {
        const std::unique_ptr<float[]> positions(new float[static_cast<size_t>(3 * n)]);
        fill(comm.size(), comm.rank(), n, task.box, positions.get());
        in.set(positions.get());
    }
    core::Memory memory;
    Settings settings;
    settings.backend = Backend::cuda, settings.tuned = false, settings.accuracy = task.accuracy;
    settings.threads = std::max(1, cores() / comm.size());
    settings.softening = Softening::plummer, settings.softening_length = 1e-4;
    if (task.box)
        make_box(settings, task.accuracy);
    Solver solver(settings, memory);
    solver.set_communicator(&comm);
    ParticleInput input;
    Outputs outputs;
    input.n = n, input.charge_all = 1.0 / (static_cast<double>(n) * comm.size());
    for (int a = 0; a < 3; ++a) {
        input.position[a] = in.column(a);
        outputs.acceleration[a] = out.column(a);
    }
    best.split.wall_s = 1e30;
    for (int call = 0; call < task.calls; ++call) {
        comm.barrier();
        const core::Timer timer;
        solver.compute(input, outputs);
        comm.barrier();
        const double wall_s = timer.seconds();
        if (wall_s >= best.split.wall_s)
            continue;
        const Report& r = solver.report();
        best = {{wall_s, r.time_s.forces, r.time_s.ranks, r.ranks.wait_s, r.device.ordinal}, r};
    }
}

/// The split of one rank's step.
void tell(const Measured& m) {
    const Report& r = m.report;
    const Report::Times& t = r.time_s;
    std::fprintf(
        stderr,
        "  rank %d on device %d: wall %.1f ms: import %.1f, tree %.1f, moments %.1f, lists %.1f, sums "
        "%.1f, output %.1f\n",
        r.ranks.rank, r.device.ordinal, 1e3 * m.split.wall_s, 1e3 * t.import, 1e3 * t.tree, 1e3 * t.moments,
        1e3 * t.lists, 1e3 * m.split.sums_s, 1e3 * t.output);
    if (r.ranks.size > 1)
        std::fprintf(
            stderr,
            "    exchange %.1f ms, in communication %.1f; %lld nodes and %lld particles came, %.1f MB sent\n",
            1e3 * m.split.exchange_s, 1e3 * m.split.wait_s, static_cast<long long>(r.ranks.nodes),
            static_cast<long long>(r.ranks.particles), 1e-6 * static_cast<double>(r.ranks.bytes_sent));
    std::fprintf(stderr,
                 "    pairs %.3g, cells %.3g, into polynomials %.3g (%s), imbalance %.3f, %.1f GB on the "
                 "device, repeats %lld, batches %lld\n",
                 r.pairs, r.cells, r.far_cells, r.local.c_str(), r.ranks.imbalance,
                 1e-9 * static_cast<double>(r.device.bytes), static_cast<long long>(r.device.repeats),
                 static_cast<long long>(r.device.batches));
}

std::vector<Split> in_process(int ranks, const Task& task) {
    std::vector<Measured> measured(static_cast<size_t>(ranks));
    comm::run_ranks(
        ranks, [&](comm::Communicator& comm) { run(comm, task, measured[static_cast<size_t>(comm.rank())]); },
        0);
    std::vector<Split> splits;
    for (const Measured& m : measured) {
        tell(m);
        splits.push_back(m.split);
    }
    return splits;
}

/// Of all ranks on the first one; on the others nothing. Collective.
std::vector<Split> over_mpi(cli::Ranks& ranks, const Task& task) {
    comm::Communicator comm(ranks.table());
    Measured own;
    run(comm, task, own);
    tell(own);
    std::vector<Split> splits;
    const auto* bytes = reinterpret_cast<const std::byte*>(&own.split);
    for (const cli::ByteVector& part : ranks.gather({bytes, bytes + sizeof own.split})) {
        splits.emplace_back();
        std::memcpy(&splits.back(), part.data(), sizeof(Split));
    }
    return splits;
}

void print(const std::vector<Split>& splits, const std::string& by, const Task& task, const char* particles) {
    std::set<int32_t> devices;
    for (const Split& one : splits)
        devices.insert(one.device);
    const auto slow = std::max_element(splits.begin(), splits.end(),
                                       [](const auto& a, const auto& b) { return a.sums_s < b.sums_s; });
    const auto n = static_cast<double>(task.n) * static_cast<double>(splits.size());
    std::printf(
        "{\"what\": \"%s %.2g, %zu GPUs %s%s\", \"command\": \"%sgpu_ranks_times %zu %s%s\", \"n\": %.0f, "
        "\"ours\": %.2f, \"unit\": \"ms\", \"first\": null, \"goal\": null, \"floor\": null, \"ok\": true, "
        "\"sums_ms\": %.2f, \"exchange_ms\": %.2f, \"wait_ms\": %.2f, \"devices\": %zu}\n",
        task.box ? "periodic box" : "Plummer", n, splits.size(), by.c_str(),
        task.on_device ? ", arrays on them" : "", by == "in process" ? "" : "mpiexec ", splits.size(),
        particles, task.box ? " 6 1e-5 device box" : "", n, 1e3 * splits[0].wall_s, 1e3 * slow->sums_s,
        1e3 * slow->exchange_s, 1e3 * slow->wait_s, devices.size());
}

} // namespace

int main(int count, char** words) {
    if (count < 3) {
        std::printf("ranks_times RANKS PARTICLES [CALLS] [ACCURACY] [host|device] [plummer|box]\n");
        return 2;
    }
#ifdef GRAFT_CUDA_REAL
    setenv("GRAFT_CUDA_LIBRARY", GRAFT_CUDA_REAL, 0);
#endif
    std::string why;
    if (backend::find_cuda(&why) == nullptr) {
        std::fprintf(stderr, "ranks_times: %s\n", why.c_str());
        return 77;
    }
    const int ranks = std::max(1, std::atoi(words[1]));
    const bool on_device = count > 5 && std::string(words[5]) == "device";
    const bool box = count > 6 && std::string(words[6]) == "box";
    const Task task{static_cast<int64_t>(std::atof(words[2])) / ranks, count > 3 ? std::atoi(words[3]) : 3,
                    count > 4 ? std::atof(words[4]) : 1e-3, on_device, box};
    cli::Ranks& started = cli::Ranks::here();
    std::string error;
    try {
        started.start("auto");
        if (!started.alone() && started.size() != ranks)
            throw std::runtime_error("mpiexec started " + std::to_string(started.size()) + " ranks, not " +
                                     std::to_string(ranks));
        const auto splits = started.alone() ? in_process(ranks, task) : over_mpi(started, task);
        if (!splits.empty())
            print(splits, started.alone() ? "in process" : "of " + started.mpi(), task, words[2]);
    } catch (const std::exception& failure) {
        error = failure.what();
    }
    error = started.agree(error);
    if (!error.empty() && started.first())
        std::fprintf(stderr, "ranks_times: %s\n", error.c_str());
    started.finish();
    return error.empty() ? 0 : 1;
}
