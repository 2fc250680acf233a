// SPDX-License-Identifier: BSD-3-Clause
// See orb_rounds.hpp.
#include "study/papers/orb_rounds.hpp"

#include "core/error.hpp"
#include "study/papers/orb_paper.hpp"

#include <algorithm>

namespace graft::study {

namespace {

constexpr double coordinate_bytes = 4, index_bytes = 4;
constexpr const char* use = "the model of ORB in rounds";

} // namespace

std::vector<int> orb_round_levels(double leaves, int levels_per_round) {
    if (levels_per_round < 1 || levels_per_round > 16)
        core::fail(core::Status::argument, "orb model: %d levels a round; expected 1 to 16",
                   levels_per_round);
    const int levels = levels_of(leaves), rounds = (levels + levels_per_round - 1) / levels_per_round;
    std::vector<int> of_round;
    for (int round = 0, level = 0; round < rounds; ++round) {
        of_round.push_back((levels - level + rounds - round - 1) / (rounds - round));
        level += of_round.back();
    }
    return of_round;
}

OrbPrediction orb_gpu_rounds(const OrbRun& run, const model::Machine& machine, int levels_per_round) {
    const model::Gpu& gpu = machine.gpu;
    const double read =
        gpu.count * model::known(gpu.read_bandwidth_bytes_per_s, "gpu.read_bandwidth_bytes_per_s", use);
    const double count_rate = gpu.orb.count_bytes_per_s > 0 ? gpu.count * gpu.orb.count_bytes_per_s : read;
    const double copy =
        gpu.copy_bandwidth_bytes_per_s > 0 ? gpu.count * gpu.copy_bandwidth_bytes_per_s : read;
    const double move_rate = gpu.orb.move_bytes_per_s > 0 ? gpu.count * gpu.orb.move_bytes_per_s : copy;
    double count_bytes = 0, move_bytes = 0, levels = 0;
    for (const int of_round : orb_round_levels(run.leaves, levels_per_round)) {
        for (int level = 0; level < of_round; ++level)
            count_bytes += coordinate_bytes * std::min(level + 1, 3) * run.particles;
        move_bytes +=
            (2 * (3 * coordinate_bytes + index_bytes) - (levels == 0 ? index_bytes : 0)) * run.particles;
        levels += of_round;
    }
    const double box_bytes = 3 * coordinate_bytes * run.particles;
    return {"gpu-rounds",
            {{"box", box_bytes / read, box_bytes, 1},
             {"count", count_bytes / count_rate, count_bytes, levels},
             {"levels",
              levels * (gpu.orb.level_s + run.particles * gpu.orb.point_s / gpu.count) +
                  (run.leaves - 1) * gpu.orb.cell_s,
              0, 0},
             {"move", move_bytes / move_rate, move_bytes, 0}}};
}

} // namespace graft::study
