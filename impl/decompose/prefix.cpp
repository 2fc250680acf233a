// Stands in until the strategy is built.
#include "core/error.hpp"
#include "decompose/strategies.hpp"

namespace graft::decompose {

struct PrefixStrategy::State {};

PrefixStrategy::PrefixStrategy(core::Memory&) {}
PrefixStrategy::~PrefixStrategy() = default;

void PrefixStrategy::run(const Problem& problem, Result&) {
    problem.comm.together([] { core::fail(core::Status::unsupported, "decompose: prefix is not built yet"); });
}

} // namespace graft::decompose
