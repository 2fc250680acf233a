// SPDX-License-Identifier: BSD-3-Clause
// What bench p2p --density was asked and found, and that as JSON.
#pragma once

#include "study/bench/bench_near.hpp"
#include "near/choice/choose.hpp"

#include <string>

namespace graft::study {

using near::Kernel;
using near::Layout;
using near::Precision;

struct NearRequest {
    BenchGrid grid;
    near::Sums sums;
    std::vector<Layout> layouts;
    near::ChoiceOptions choice;
    bool cuda = false;
    int32_t device = 0, repeats = 9, serial_repeats = 0;
};

struct NearAnswer {
    near::Choice choice;
    std::vector<BenchTimes> times; // of request.layouts
    near::Shape shape;
    double serial_s = 0;
};

std::string near_answer_json(const NearRequest& request, const NearAnswer& answer);

} // namespace graft::study
