// SPDX-License-Identifier: BSD-3-Clause
// See p2p_fast_gpu.cuh: without the potential, and the choice.
#include "forces/p2p/p2p_gpu.cuh"
#include "forces/p2p/p2p_fast_gpu.cuh"

namespace graft::forces {

namespace fast_pairs {
extern template void launch<false, false>(backend::Queue&, const EvaluationView&, const TaskView&);
extern template void launch<true, false>(backend::Queue&, const EvaluationView&, const TaskView&);
extern template void launch<false, true>(backend::Queue&, const EvaluationView&, const TaskView&);
extern template void launch<true, true>(backend::Queue&, const EvaluationView&, const TaskView&);
} // namespace fast_pairs

void sum_pairs_fast(backend::Queue& queue, const EvaluationView& view, const TaskView& tasks,
                    const PairVariant& variant) {
    const bool softened = variant.softening == Softening::plummer;
    if (variant.potential)
        softened ? forces::fast_pairs::launch<true, true>(queue, view, tasks)
                 : forces::fast_pairs::launch<false, true>(queue, view, tasks);
    else
        softened ? forces::fast_pairs::launch<true, false>(queue, view, tasks)
                 : forces::fast_pairs::launch<false, false>(queue, view, tasks);
}

} // namespace graft::forces
