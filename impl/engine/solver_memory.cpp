// Solver: what was begun and not ended, seen from outside; memory that is kept and given back.
#include "core/error.hpp"
#include "engine/gpu_side.hpp"
#include "engine/tree_force.hpp"
#include "periodic/periodic.hpp"

#include <memory>

namespace graft::engine {

using core::fail;
using core::Status;

// The GPU's engine does not tell yet how far it is (poll, event) and takes no host's allocator; until its table has
// these, a computation on it has ended when end_compute() says so, and what would need them is UNSUPPORTED.

bool Solver::poll() {
    return !on_gpu_;
}

void* Solver::event() {
    if (on_gpu_)
        fail(Status::unsupported,
             "compute_event: the GPU's part of this library makes no event; expected compute_poll or "
             "compute_end to be asked");
    return nullptr;
}

void Solver::set_device_allocator(const DeviceAllocator& allocator) {
    if (device_ || ranks_on_device_)
        fail(Status::call_order, "context_set_device_allocator: the context has taken device memory already; "
                                 "call it before the first "
                                 "computation, or after context_release_memory");
    device_allocator_ = allocator;
}

namespace {

template <typename T>
void renew(T& kept, core::Memory& memory) {
    std::destroy_at(&kept);
    std::construct_at(&kept, memory);
}

} // namespace

void Solver::release() {
    require_nothing_begun("context_release_memory");
    core::Buffer<double> last(memory_, "last accelerations");
    last.swap(problem_.last);
    renew(problem_, memory_), renew(spread_, memory_);
    last.swap(problem_.last);
    renew(field_, memory_), renew(scratch_, memory_), renew(spread_field_, memory_);
    renew(global_tree_, memory_), renew(direct_targets_, memory_), renew(workspaces_, memory_),
        renew(ring_, memory_);
    work_.release(), spread_work_.release(), seen_.release(), sums_.release();
    tree_force_.reset();
    periodic_.reset();
    origin_ = nullptr;
    ranks_on_device_.reset();
    device_.reset();
    released_ = true;
}

} // namespace graft::engine
