// Stands in until the strategy is built.
#include "core/error.hpp"
#include "decompose/strategies.hpp"

namespace graft::decompose {

struct CentralStrategy::State {};

CentralStrategy::CentralStrategy(core::Memory&) {}
CentralStrategy::~CentralStrategy() = default;

void CentralStrategy::run(const Problem& problem, Result&) {
    problem.comm.together([] { core::fail(core::Status::unsupported, "decompose: central is not built yet"); });
}

} // namespace graft::decompose
