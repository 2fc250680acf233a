// SPDX-License-Identifier: BSD-3-Clause
// Ways to own the particles of the collapse study: none at all (owners or domains of the start for ever), and
// balanced ones.
//
// Each way runs the forces on ranks of its own, over the communicator of simulated ranks, so that its
// interactions are those that its decomposition really causes. Balancers and migration are the library's,
// unchanged, with virtual time.
#pragma once

#include "balance/balance.hpp"
#include "balance/migrate.hpp"
#include "collapse_sphere.hpp"
#include "study/simulate/simulated_ranks.hpp"

#include <memory>
#include <string>

namespace graft::study {

struct Machine {
    int ranks = 8;
    double rate = 0;       // pair interactions a second of a rank
    double alpha_s = 2e-6; // of a message
    double beta_s_per_byte = 1e-10;
    double gamma_s = -1; // of an elementary step of balancing; negative: the thread time it takes here
};

/// One rank of a way, kept over the run.
struct Rank {
    explicit Rank(int64_t n_all) : solver(force_settings(n_all), memory) {}
    core::Memory memory;
    engine::Solver solver;
    balance::Balancer balancer{memory};
    balance::Migration migration{memory};
    core::Buffer<int32_t> owner{memory};
    std::vector<double> field[7]; // x, v, mass
    std::vector<double> work, out;
    std::vector<int64_t> id;
    balance::Report report;

    void take(const Bodies& bodies, size_t i) {
        for (int c = 0; c < 3; ++c)
            field[c].push_back(bodies.x[c][i]), field[3 + c].push_back(bodies.v[c][i]);
        field[6].push_back(1.0 / static_cast<double>(bodies.size()));
        id.push_back(static_cast<int64_t>(i));
    }
    void clear() {
        for (auto& values : field)
            values.clear();
        id.clear();
    }
    void compute(comm::Communicator& comm) {
        engine::ParticleInput input;
        engine::Outputs outputs;
        out.resize(id.size()), work.resize(id.size());
        input.n = static_cast<int64_t>(id.size());
        for (int c = 0; c < 3; ++c)
            input.position[c] = view(field[c]);
        input.charge = view(field[6]);
        outputs.acceleration[0] = view(out);
        solver.set_communicator(&comm);
        solver.compute(input, outputs);
        solver.set_communicator(nullptr);
        solver.work_of_particles(work.data());
    }
    double total_work() const { return std::accumulate(work.begin(), work.end(), 0.0); }
    void balance(comm::Communicator& comm, const balance::Settings& settings, double rate) {
        const backend::Executor executor{memory, 1};
        decompose::Points points;
        points.n = static_cast<int64_t>(id.size());
        points.x = field[0].data(), points.y = field[1].data(), points.z = field[2].data();
        points.cost = work.data(), points.id = id.data();
        balancer.run(comm, executor, settings, {points, nullptr}, 8 * 8, total_work() / rate, nullptr, owner,
                     report);
        if (report.decision == balance::Decision::taken)
            migrate(comm, executor);
    }
    void migrate(comm::Communicator& comm, const backend::Executor& executor) {
        const double start_s = comm.time_s();
        migration.plan(comm, executor, owner.data(), owner.size());
        const size_t n = static_cast<size_t>(migration.count_after());
        std::vector<double> arrived[7];
        std::vector<int64_t> arrived_id(n);
        std::vector<particles::ArrayView> from, to;
        for (int f = 0; f < 7; ++f) {
            arrived[f].resize(n);
            from.push_back(view(field[f])), to.push_back(view(arrived[f]));
        }
        from.push_back(view(id, particles::ElementType::i64));
        to.push_back(view(arrived_id, particles::ElementType::i64));
        migration.forward(comm, executor, 8, from.data(), to.data());
        for (int f = 0; f < 7; ++f)
            field[f].swap(arrived[f]);
        id.swap(arrived_id);
        balancer.note_migration(comm.time_s() - start_s, migration.bytes_moved());
    }
};

/// Owners of the start, kept for ever.
class Way {
  public:
    Way(std::string text, const Machine& machine, std::vector<int32_t> owners)
        : name(std::move(text)), machine_(machine), owner_(std::move(owners)) {
        for (int r = 0; r < machine.ranks; ++r)
            ranks_.push_back(std::make_unique<Rank>(static_cast<int64_t>(owner_.size())));
    }
    virtual ~Way() = default;

    /// One force evaluation on the ranks, and what follows it.
    void step(const Bodies& bodies, int number) {
        choose_owners(bodies);
        for (auto& rank : ranks_)
            rank->clear();
        for (size_t i = 0; i < owner_.size(); ++i)
            ranks_[static_cast<size_t>(owner_[i])]->take(bodies, i);
        exchange_s += simulate(0, [](Rank& rank, comm::Communicator& comm) { rank.compute(comm); });
        measure();
        after_forces(number);
    }
    double total_s() const { return steps_s + balancing_s; }
    double mean_imbalance() const {
        return std::accumulate(imbalance.begin(), imbalance.end(), 0.0) /
               static_cast<double>(imbalance.size());
    }

    std::string name;
    std::vector<double> imbalance; // max / mean of the interactions, step by step
    double interactions = 0;       // of all ranks and steps
    double steps_s = 0, balancing_s = 0;
    double exchange_s = 0; // of the forces: messages alone; not in the total
    int tried = 0, taken = 0;
    int64_t moved = 0;

  protected:
    virtual void choose_owners(const Bodies&) {}
    virtual void after_forces(int) {}

    /// Virtual seconds that all ranks take for `body`.
    template <typename Body>
    double simulate(double gamma_s, const Body& body) {
        SimulatorOptions options;
        options.ranks = machine_.ranks;
        options.network.alpha_s = machine_.alpha_s;
        options.network.beta_s_per_byte = machine_.beta_s_per_byte;
        options.gamma_s = gamma_s;
        options.stack_bytes = 1 << 20;
        Simulator simulator(options);
        simulator.run([&](comm::Communicator& comm, core::Memory&) {
            body(*ranks_[static_cast<size_t>(comm.rank())], comm);
        });
        return simulator.time_s();
    }
    void measure() {
        double most = 0, sum = 0;
        for (const auto& rank : ranks_) {
            most = std::max(most, rank->total_work());
            sum += rank->total_work();
        }
        imbalance.push_back(most * machine_.ranks / sum);
        interactions += sum;
        steps_s += most / machine_.rate;
    }

    Machine machine_;
    std::vector<int32_t> owner_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

/// Slabs of space with the borders of the start.
class FixedSlabs : public Way {
  public:
    FixedSlabs(const Bodies& bodies, const Machine& machine, const std::vector<int32_t>& slabs)
        : Way("none: fixed slabs of space", machine, slabs),
          border_(static_cast<size_t>(machine.ranks), HUGE_VAL) {
        for (size_t i = 0; i < slabs.size(); ++i) {
            double& border = border_[static_cast<size_t>(slabs[i])];
            border = std::min(border, bodies.x[0][i]);
        }
    }

  protected:
    void choose_owners(const Bodies& bodies) override {
        for (size_t i = 0; i < owner_.size(); ++i)
            owner_[i] = static_cast<int32_t>(
                std::upper_bound(border_.begin() + 1, border_.end(), bodies.x[0][i]) - border_.begin() - 1);
    }

  private:
    std::vector<double> border_;
};

class Balanced : public Way {
  public:
    Balanced(std::string text, const Machine& machine, const std::vector<int32_t>& start, balance::Kind kind,
             int every)
        : Way(std::move(text), machine, start) {
        settings_.kind = kind;
        settings_.steps = every;
        settings_.tolerance = 1.03;
        settings_.shapes = false;
        settings_.decompose.tolerance = 0.005;
    }

  protected:
    void after_forces(int number) override {
        if (number % static_cast<int>(settings_.steps) != 0)
            return;
        balancing_s += simulate(machine_.gamma_s, [&](Rank& rank, comm::Communicator& comm) {
            rank.balance(comm, settings_, machine_.rate);
        });
        const balance::Report& report = ranks_[0]->report;
        tried += report.strategy_s > 0 ? 1 : 0;
        taken += report.decision == balance::Decision::taken ? 1 : 0;
        moved += report.items_moved;
        for (size_t r = 0; r < ranks_.size(); ++r)
            for (const int64_t i : ranks_[r]->id)
                owner_[static_cast<size_t>(i)] = static_cast<int32_t>(r);
    }

  private:
    balance::Settings settings_;
};

} // namespace graft::study
