// SPDX-License-Identifier: BSD-3-Clause
// What one thread needs to evaluate a group of targets, kept between groups and calls.
#pragma once

#include "forces/m2p/cell_rows.hpp"
#include "forces/p2p/gather.hpp"
#include "forces/m2l/m2l.hpp"
#include "particles/problem.hpp"
#include "settings/settings.hpp"

#include <memory>
#include <vector>

namespace graft::forces {

template <typename T>
struct Workspace {
    explicit Workspace(core::Memory& memory)
        : sources(memory), targets(memory), cells(memory), far(memory) {}
    SourceBuffer<T> sources;
    TargetBuffer<T> targets;
    CellBuffer<T> cells;
    M2lSources<T> far;
    std::vector<geometry::Vec3> images; // periodic box

    /// The sums of the targets, back in the caller's units, to field[place(0)], field[place(1)] ..., or
    /// added.
    template <typename Place>
    void store(const Frame& frame, int64_t count, bool with_potential, bool add, particles::RawField& field,
               const Place& place) {
        const FieldSums sums = targets.sums();
        const double square = frame.scale * frame.scale;
        for (int64_t k = 0; k < count; ++k) {
            const int64_t to = place(k);
            const auto put = [=](double& value, double sum) { value = add ? value + sum : sum; };
            put(field.ax[to], sums.ax[k] * square);
            put(field.ay[to], sums.ay[k] * square);
            put(field.az[to], sums.az[k] * square);
            if (with_potential)
                put(field.potential[to], sums.potential[k] * frame.scale);
        }
    }
};

/// One workspace a thread; grows with the number of threads, never shrinks.
template <typename T>
class Workspaces {
  public:
    explicit Workspaces(core::Memory& memory) : memory_(&memory) {}
    void prepare(int threads) {
        while (static_cast<int>(work_.size()) < threads)
            work_.push_back(std::make_unique<Workspace<T>>(*memory_));
    }
    Workspace<T>& operator[](int thread) { return *work_[static_cast<size_t>(thread)]; }

  private:
    core::Memory* memory_;
    std::vector<std::unique_ptr<Workspace<T>>> work_;
};

/// Workspaces of both precisions; those in use hold memory.
struct AllWorkspaces {
    explicit AllWorkspaces(core::Memory& memory)
        : single(memory), full(memory), image_virial(memory, "image virials") {}
    Workspaces<float> single;
    Workspaces<double> full;
    core::Buffer<double> image_virial; // method direct in a periodic box: 6 a block of targets
    template <typename T>
    Workspaces<T>& of() {
        if constexpr (sizeof(T) == 4)
            return single;
        else
            return full;
    }
};

inline PairVariant pair_variant(const settings::Settings& settings, const particles::Problem& problem,
                                         bool with_potential) {
    const bool per_particle = problem.per_particle_softening;
    const bool softened = per_particle || settings.softening_length > 0;
    return {softened ? static_cast<Softening>(settings.softening) : Softening::none,
            softened && per_particle, with_potential};
}

/// Sources whose float sums are flushed to double: all of them for fp32, some hundred for mixed.
inline int64_t sum_chunk(const settings::Settings& settings) {
    return settings.precision == settings::Precision::mixed ? 512 : 0;
}

} // namespace graft::forces
