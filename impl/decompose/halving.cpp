// Stands in until the strategy is built.
#include "core/error.hpp"
#include "decompose/strategies.hpp"

namespace graft::decompose {

struct HalvingStrategy::State {};

HalvingStrategy::HalvingStrategy(core::Memory&) {}
HalvingStrategy::~HalvingStrategy() = default;

void HalvingStrategy::run(const Problem& problem, Result&) {
    problem.comm.together([] { core::fail(core::Status::unsupported, "decompose: halving is not built yet"); });
}

} // namespace graft::decompose
