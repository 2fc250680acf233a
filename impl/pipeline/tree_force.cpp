#include "pipeline/tree_force.hpp"
#include "pipeline/evaluate_direct.hpp"
namespace graft::pipeline {
struct TreeForce::State {};
TreeForce::TreeForce(core::Memory&) {}
TreeForce::~TreeForce() = default;
const int32_t* TreeForce::evaluate(const backend::Executor& executor, const Settings& settings, const Problem& problem,
                            bool with_potential, AllWorkspaces& workspaces, RawField& field, Report&,
                            const core::Log&) {
    evaluate_direct(executor, settings, problem, with_potential, workspaces, field);
    return problem.points || problem.all_targets ? nullptr : problem.target.data();
}
}
