// SPDX-License-Identifier: BSD-3-Clause
// See backend_choice.hpp.
#include "engine/backend_choice.hpp"

#include "backend/gpu_choice.hpp"
#include "backend/gpu_library.hpp"
#include "core/error.hpp"
#include "moments/moment_terms.hpp"
#include "periodic/lattice_kind.hpp"
#include "settings/choices.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <vector>

namespace graft::engine {

using core::fail;
using core::Status;

namespace {

/// gpu.device; or the device of the first array in device memory; or the one held; or by rank.
int32_t device_for(const comm::Communicator& comm, const settings::Settings& settings, const NamedView& array,
                   int32_t held) {
    if (settings.device.device >= 0)
        return settings.device.device;
    const backend::CudaTable& cuda = backend::require_cuda();
    backend::DeviceError error;
    int32_t kind = 0, device = -1, devices = 1;
    if (array.view != nullptr)
        backend::raise(cuda.pointer_kind(array.view->data, &kind, &device, &error), error);
    if (device >= 0)
        return device;
    if (held >= 0)
        return held;
    backend::raise(cuda.device_count(&devices, &error), error);
    return backend::choose_device(-1, comm.rank(), devices);
}

/// NULL where a GPU has expansions of this order, and forces as exact.
const char* why_not_exact(const settings::Settings& settings) {
    if (settings::bounds_largest(settings))
        return "mac.kind max";
    return settings.method == settings::Method::tree && moments::is_harmonic(settings.order) ? "orders above 4" : nullptr;
}

/// What of the settings only the CPU does over ranks; NULL: nothing.
const char* why_not_over_ranks(const settings::Settings& settings) {
    if (settings.periodic) // one sum, whatever the tree
        return settings.method == settings::Method::reference ? "method reference"
                                                              : periodic::why_no_gpu_lattice(settings);
    if (settings.method != settings::Method::tree)
        return "over ranks, GPUs do the tree method only";
    if (settings.tree_type != tree::TreeType::octree)
        return "over ranks, GPUs build octrees only";
    if (settings.tree_scope != settings::TreeScope::local)
        return "over ranks, GPUs build a tree per rank: tree.scope local";
    if (settings.exchange != settings::Exchange::push)
        return "over ranks, GPUs exchange by push only";
    return why_not_exact(settings);
}

/// Why a rank alone computes on the CPU; "": on a GPU. Throws for a GPU that is asked for and not there.
std::string why_on_cpu(const settings::Settings& settings, const Request& request, bool arrays_on_device) {
    if (settings.backend == settings::Backend::cpu)
        return "backend cpu";
    if (settings.method == settings::Method::reference)
        return "method reference";
    const bool asked = settings.backend == settings::Backend::cuda;
    const char* const lattice = periodic::why_no_gpu_lattice(settings);
    if (const char* why = lattice != nullptr ? lattice : why_not_exact(settings); why != nullptr) {
        if (asked)
            fail(Status::unsupported, "backend: gpu does not compute %s; expected backend cpu or auto", why);
        return why;
    }
    if (asked) {
        backend::require_cuda();
        return "";
    }
    if (!arrays_on_device && request.particles.n < least_for_gpu &&
        (request.points == nullptr || request.points->n < least_for_gpu))
        return "too few particles for a GPU to pay";
    std::string why;
    return backend::find_cuda(&why) == nullptr ? why : "";
}

} // namespace

void Placement::require_reach() const {
    if (!gpu && device_array.view != nullptr)
        fail(Status::unsupported,
             "%s is in device memory, but this computation runs on the CPU (%s); expected host or managed "
             "memory, or "
             "backend gpu or auto on a machine with a GPU",
             device_array.name, why.c_str());
}

std::string Placement::words() const {
    return gpu ? std::string("backend: gpu") : core::format("backend: cpu (%s)", why.c_str());
}

Placement BackendChoice::choose(comm::Communicator& comm, const settings::Settings& settings,
                                const Request& request, int32_t held) {
    Placement placement;
    placement.device_array = device_array(request);
    const bool alone =
        !request.outputs.with_sums() && !request.outputs.with_potential() && !settings.conserve_momentum;
    placement.call = {request.particles.n, alone && !request.particles.softening.present()};
    if (comm.alone()) {
        check(settings, request);
        choose_alone(placement, comm, settings, request, held);
    } else {
        comm.guarded([&] { choose_over_ranks(placement, comm, settings, request); });
    }
    placement.gpu = placement.why.empty();
    return placement;
}

void BackendChoice::choose_alone(Placement& placement, comm::Communicator& comm,
                                 const settings::Settings& settings, const Request& request, int32_t held) {
    placement.why = why_on_cpu(settings, request, placement.device_array.view != nullptr);
    if (placement.why.empty())
        placement.device = device_for(comm, settings, placement.device_array, held);
}

void BackendChoice::choose_over_ranks(Placement& placement, comm::Communicator& comm,
                                      const settings::Settings& settings, const Request& request) {
    const settings::Backend backend = settings.backend;
    const char* const refused = why_not_over_ranks(settings);
    int64_t some[] = {backend == settings::Backend::auto_, backend == settings::Backend::cpu,
                      backend == settings::Backend::cuda, refused != nullptr,
                      !placement.call.forces_alone,       placement.call.particles};
    comm.allreduce(some, std::size(some), comm::Operation::max);
    placement.call = {some[5] * comm.size(), some[4] == 0};
    comm.together([&] {
        if (some[0] != 0 && (some[1] != 0 || some[2] != 0))
            fail(Status::argument, "the backend differs between ranks: auto on some, %s on others; expected auto on all "
                                   "ranks, or cpu or gpu on each",
                 some[1] == 0 ? "gpu" : (some[2] == 0 ? "cpu" : "cpu or gpu"));
        check(settings, request);
    });
    if (some[2] != 0)
        return choose_asked(placement, comm, settings, some[1] != 0);
    if (backend == settings::Backend::cpu)
        placement.why = "backend cpu";
    else if (some[3] != 0) // on one rank: settings that differ, see agree()
        placement.why = refused != nullptr ? refused : "another rank's settings are the CPU's";
    if (!placement.why.empty())
        return;
    std::string no_gpu;
    const bool here = backend::find_cuda(&no_gpu) != nullptr;
    if (comm.min<int32_t>(here ? 1 : 0) == 0)
        placement.why = here ? "another rank has no GPU" : no_gpu;
    else
        choose_auto(placement, comm, settings, request);
}

/// Collective, where some ranks ask for a GPU. mixed: others ask for the CPU.
void BackendChoice::choose_asked(Placement& placement, comm::Communicator& comm, const settings::Settings& settings,
                                 bool mixed) {
    const bool here = settings.backend == settings::Backend::cuda;
    comm.together([&] {
        const char* const refused = why_not_over_ranks(settings);
        if (refused != nullptr)
            fail(Status::unsupported, "backend gpu with %d ranks: %s; expected backend auto or cpu on all",
                 comm.size(), refused);
        if (mixed && settings.periodic)
            fail(Status::unsupported, "backend gpu on some ranks and cpu on others in a periodic box; expected the "
                                      "same on all, or an open box");
        if (!here)
            return;
        backend::require_cuda();
        placement.device = device_for(comm, settings, placement.device_array, -1);
    });
    placement.beside_gpus = !here;
    if (!here)
        placement.why = "backend cpu, beside ranks with GPUs";
}

/// Collective, where all ranks have found a GPU. Device arrays leave no placement.
void BackendChoice::choose_auto(Placement& placement, comm::Communicator& comm,
                                const settings::Settings& settings, const Request& request) {
    int64_t all[] = {request.particles.n, request.points != nullptr ? request.points->n : 0,
                     placement.device_array.view != nullptr ? 1 : 0};
    comm.allreduce(all, std::size(all), comm::Operation::sum);
    const bool may_choose = all[2] == 0;
    if (may_choose && std::max(all[0], all[1]) < least_for_gpu * comm.size()) {
        placement.why = "too few particles a rank for GPUs to pay";
        return;
    }
    comm.together([&] { placement.device = device_for(comm, settings, placement.device_array, -1); });
    if (may_choose && !gpu_of_its_own(comm, placement.device))
        placement.why = "ranks share a GPU, which backend gpu asks for";
}

/// Collective. Whether every rank has a GPU that no other rank has. The answer is kept while all ranks keep
/// their GPUs, since asking a GPU for its name takes longer than a small computation.
bool BackendChoice::gpu_of_its_own(comm::Communicator& comm, int32_t device) {
    if (comm.max<int32_t>(device != ranks_device_ ? 1 : 0) == 0)
        return each_has_a_gpu_;
    backend::DeviceInfo info{};
    comm.together([&] {
        backend::DeviceError error;
        backend::raise(backend::require_cuda().device_info(device, &info, &error), error);
    });
    using Name = std::array<char, sizeof info.uuid>; // unique in the world
    Name name{};
    std::memcpy(name.data(), info.uuid, name.size());
    std::vector<Name> names(static_cast<size_t>(comm.size()));
    comm.allgather(&name, 1, names.data());
    std::sort(names.begin(), names.end());
    ranks_device_ = device;
    each_has_a_gpu_ = std::adjacent_find(names.begin(), names.end()) == names.end();
    return each_has_a_gpu_;
}

} // namespace graft::engine
