// The layouts of a GPU timed through libgraft_cuda's table, see bench.hpp.
#include "kernels/near/bench.hpp"

#include "backend/cuda_library.hpp"
#include "core/error.hpp"

namespace graft::kernels::near {

std::vector<BenchTimes> bench_layouts_on_device(const std::vector<Layout>&, const BenchCase&, const Sums&,
                                                const model::NearWay&, int32_t, int32_t) {
    (void)backend::require_cuda();
    core::fail(core::Status::unsupported, "bench p2p: the near field's layouts are not on the GPU yet");
}

Choice bench_choice_on_device(const BenchCase& one, const Sums& sums, const model::Machine& machine,
                              const ChoiceOptions& options) {
    const Structure structure = one.structure();
    return choose(shape_of(structure, sums), machine, options);
}

} // namespace graft::kernels::near
