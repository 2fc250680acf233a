// What bench p2p --density was asked and found, and that as JSON.
#pragma once

#include "study/bench/bench_near.hpp"
#include "near/choice/choose.hpp"

#include <string>

namespace graft::capi {

using kernels::near::Kernel;
using kernels::near::Layout;
using kernels::near::Precision;

struct NearRequest {
    kernels::near::BenchGrid grid;
    kernels::near::Sums sums;
    std::vector<Layout> layouts;
    kernels::near::ChoiceOptions choice;
    bool cuda = false;
    int32_t device = 0, repeats = 9, serial_repeats = 0;
};

struct NearAnswer {
    kernels::near::Choice choice;
    std::vector<kernels::near::BenchTimes> times; // of request.layouts
    kernels::near::Shape shape;
    double serial_s = 0;
};

std::string near_answer_json(const NearRequest& request, const NearAnswer& answer);

} // namespace graft::capi
