// SPDX-License-Identifier: BSD-3-Clause
// gaburov2010's science rate: a merger of two galaxies with 8e5 particles, in particles a second (his: 1.6e6
// on a GT200). Leapfrog of a host whose arrays stay on the device: the loop below launches its own kicks and
// drifts on the stream that it gave to Graft, and never copies a particle.
//
//   study_gaburov2010_merger [--n 800000] [--steps 300] [--theta 0.5] [--precision fp32] [--mac box]
//                            [--json FILE]
//
// Two galaxies of disc, bulge and halo on a parabola with pericentre 2 disc scales, from 20 apart, the second
// one turned by 60 degrees; quadrupoles, theta 0.5, leaves and groups of 64, softening and step as the model
// suggests. Energy is checked at the begin and the end.
#include "ic/initial_conditions.hpp"
#include "study.hpp"

#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <stdexcept>

using namespace graft;
using namespace graft::study;

namespace {

constexpr double separation = 20, pericentre = 2, tilt = 1.0471975511965976; // 60 degrees

void require(cudaError_t error) {
    if (error != cudaSuccess)
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

struct State { // columns of n doubles on the device
    double *x, *v, *a;
};

__global__ void kick(State s, std::int64_t n, double step) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < 3 * n)
        s.v[i] += step * s.a[i];
}

__global__ void kick_and_drift(State s, std::int64_t n, double kick_step, double drift_step) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < 3 * n) {
        s.v[i] += kick_step * s.a[i];
        s.x[i] += drift_step * s.v[i];
    }
}

/// Turned about the x axis, then moved.
void append(cli::Snapshot& all, const cli::Snapshot& one, double angle, const double (&place)[3],
            const double (&speed)[3]) {
    const double c = std::cos(angle), s = std::sin(angle);
    for (std::size_t i = 0; i < one.size(); ++i) {
        all.x.push_back(one.x[i] + place[0]);
        all.y.push_back(c * one.y[i] - s * one.z[i] + place[1]);
        all.z.push_back(s * one.y[i] + c * one.z[i] + place[2]);
        all.vx.push_back(one.vx[i] + speed[0]);
        all.vy.push_back(c * one.vy[i] - s * one.vz[i] + speed[1]);
        all.vz.push_back(s * one.vy[i] + c * one.vz[i] + speed[2]);
        all.mass.push_back(one.mass[i]);
    }
}

cli::Snapshot merger(std::size_t n) {
    cli::GalaxyOptions options;
    options.n = n / 2;
    cli::Snapshot first = cli::make_galaxy(options);
    options.seed = 43;
    const cli::Snapshot second = cli::make_galaxy(options);
    const double mass = 2 * (options.disc_mass + options.bulge_mass + options.halo_mass); // G = 1
    const double across = std::sqrt(2 * mass * pericentre) / separation;
    const double inward = std::sqrt(2 * mass / separation - across * across);
    cli::Snapshot all;
    append(all, first, 0, {-separation / 2, 0, 0}, {inward / 2, -across / 2, 0});
    append(all, second, tilt, {separation / 2, 0, 0}, {-inward / 2, across / 2, 0});
    all.suggested_softening = first.suggested_softening;
    all.suggested_time_step = first.suggested_time_step;
    return all;
}

class Host {
  public:
    Host(const Words& words, const cli::Snapshot& s)
        : bodies_(s, Place::device, Real::fp64), context_(make_context(keys_of(words, s))),
          n_(bodies_.size()), step_(s.suggested_time_step), mass_(s.mass) {
        require(cudaStreamCreate(&stream_));
        const auto bytes = static_cast<std::size_t>(3 * n_) * sizeof(double);
        require(cudaMalloc(reinterpret_cast<void**>(&state_.v), bytes));
        state_.x = static_cast<double*>(bodies_.column(0).data);
        state_.a = static_cast<double*>(bodies_.column(4).data);
        const std::vector<double>* columns[] = {&s.vx, &s.vy, &s.vz};
        for (int c = 0; c < 3; ++c)
            require(cudaMemcpy(state_.v + c * n_, columns[c]->data(), bytes / 3, cudaMemcpyHostToDevice));
        context_.set_stream(stream_);
    }
    ~Host() {
        (void)cudaStreamSynchronize(stream_);
        context_.set_stream(nullptr);
        (void)cudaStreamDestroy(stream_);
        (void)cudaFree(state_.v);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Accelerations where the particles are, and the energy of all.
    double energy() {
        double potential = 0, kinetic = 0;
        context_.compute(bodies_.particles(), bodies_.results().energy(potential));
        require(cudaStreamSynchronize(stream_));
        std::vector<double> v(static_cast<std::size_t>(3 * n_));
        require(cudaMemcpy(v.data(), state_.v, v.size() * sizeof(double), cudaMemcpyDeviceToHost));
        for (std::size_t k = 0; k < v.size(); ++k)
            kinetic += 0.5 * mass_[k % static_cast<std::size_t>(n_)] * v[k] * v[k];
        return kinetic + potential;
    }

    /// Wall seconds of `steps` steps; positions and velocities end at the same time. Needs accelerations.
    double integrate(int steps) {
        const auto start = std::chrono::steady_clock::now();
        const auto blocks = static_cast<unsigned>((3 * n_ + 255) / 256);
        for (int k = 0; k < steps; ++k) {
            kick_and_drift<<<blocks, 256, 0, stream_>>>(state_, n_, k == 0 ? step_ / 2 : step_, step_);
            require(cudaGetLastError());
            context_.compute(bodies_.particles(), bodies_.results());
            force_s_ += context_.query("time_s.total");
        }
        kick<<<blocks, 256, 0, stream_>>>(state_, n_, step_ / 2);
        require(cudaStreamSynchronize(stream_));
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    double force_s() const { return force_s_; }
    double step() const { return step_; }
    double n() const { return static_cast<double>(n_); }

  private:
    static Keys keys_of(const Words& words, const cli::Snapshot& s) {
        return {{"backend", "gpu"},
                {"precision", words.text("precision", "fp32")},
                {"order", "2"},
                {"mac.type", words.text("mac", "box")},
                {"mac.theta", words.text("theta", "0.5")},
                {"tree.leaf", words.text("leaf", "64")},
                {"tree.group", words.text("group", "64")},
                {"softening.kind", "plummer"},
                {"softening.length", std::to_string(s.suggested_softening)}};
    }

    Bodies bodies_;
    graft::Context context_;
    std::int64_t n_;
    double step_, force_s_ = 0;
    std::vector<double> mass_;
    State state_{};
    cudaStream_t stream_ = nullptr;
};

} // namespace

int main(int count, char** words) try {
    const Words arguments(count, words);
    if (devices() == 0)
        return without_device();
    const int steps = static_cast<int>(arguments.number("steps", 300));
    Table table(arguments.text("json", ""));
    Host host(arguments, merger(static_cast<std::size_t>(arguments.number("n", 800000))));
    const double before = host.energy();
    const double seconds = host.integrate(steps);
    const double force_s = host.force_s(), after = host.energy();
    table.title("a merger of two galaxies, leapfrog on the device (gaburov2010: 1.6e6 particles/s)");
    table.print(Row()
                    .add("n", host.n())
                    .add("steps", steps)
                    .add("time", steps * host.step())
                    .add("seconds", seconds)
                    .add("ms_a_step", 1e3 * seconds / steps)
                    .add("ms_force", 1e3 * force_s / steps)
                    .add("particles/s", host.n() * steps / seconds)
                    .add("times_his", host.n() * steps / seconds / 1.6e6)
                    .add("energy_error", std::abs(after / before - 1)));
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
