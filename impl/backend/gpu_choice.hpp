// SPDX-License-Identifier: BSD-3-Clause
// Which GPU a rank works on: one rule for forces and decompositions. Plain host code.
#pragma once

namespace graft::backend {

/// asked: the deck's gpu.device (-1: not said); rank_on_host: this rank's number among those of its host;
/// devices: GPUs that this process sees (>= 1). What is asked for is taken as it is, else ranks go round the
/// GPUs, so that up to `devices` ranks of a host have one each.
constexpr int choose_device(int asked, int rank_on_host, int devices) noexcept {
    return asked >= 0 ? asked : rank_on_host % (devices > 0 ? devices : 1);
}

} // namespace graft::backend
