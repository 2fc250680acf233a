// SPDX-License-Identifier: BSD-3-Clause
// The arithmetic of one double, for bodies over `Ops` (target_bodies.hpp). No fused multiply-adds: the same bits on every
// machine.
#pragma once

namespace graft::core {

struct PlainOps {
    using Real = double;
    static double set(double v) { return v; }
    static double add(double a, double b) { return a + b; }
    static double sub(double a, double b) { return a - b; }
    static double mul(double a, double b) { return a * b; }
    static double fma(double a, double b, double c) { return a * b + c; }
};

} // namespace graft::core
