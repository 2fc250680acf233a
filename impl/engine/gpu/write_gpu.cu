// The raw field to the host's arrays: Solver::write there.
#include "engine/gpu/engine_gpu.cuh"

#include "engine/checks.hpp"
#include "particles/scatter_gpu.cuh"
#include "particles/staging.hpp"
#include "particles/transfer.hpp"

#include <algorithm>
#include <utility>

namespace graft::engine {

using particles::ArrayView;
using particles::DeviceRealExport;

namespace {

/// Results of at most so many bytes travel to page-locked memory with the computation; others piece by piece
/// in end().
constexpr int64_t small_results = int64_t{64} << 20;

/// Numbers of results, behind the accelerations'.
constexpr int potential_array = 3, virial_array = 4, energy_array = 10;

const char* result_name(int array) {
    return array < potential_array   ? acceleration_names[array]
           : array == potential_array ? potential_name
           : array < energy_array     ? virial_name
                                      : energy_name;
}

double sign_of(const settings::Settings& settings) {
    return settings.interaction == settings::Interaction::gravity ? 1 : -1;
}

/// Adding needs full precision until the sum is rounded.
particles::ElementType staged_type(const Outputs& outputs, const ArrayView& view) {
    return outputs.add ? particles::ElementType::f64 : view.type;
}

int64_t staged_size(particles::ElementType type, int64_t n) {
    return (n * particles::element_size(type) + 255) / 256 * 256;
}

} // namespace

/// Accelerations, then the potential: those that are wanted.
int DeviceForce::wanted(DeviceRealExport (&exports)[particles::most_device_exports]) const {
    const Outputs& outputs = job_.outputs;
    const double factor = sign_of(job_.settings) * job_.settings.constant;
    const double* raw[3] = {field_.ax.data(), field_.ay.data(), field_.az.data()};
    int count = 0;
    for (int a = 0; a < job_.settings.dimension; ++a)
        if (outputs.acceleration[a].present())
            exports[count++] = {outputs.acceleration[a], raw[a], factor, outputs.force ? 2 : 1,
                                outputs.force ? charge_.data() : nullptr, a};
    if (outputs.potential.present())
        exports[count++] = {outputs.potential, field_.potential.data(), -factor, 1, nullptr, potential_array};
    return count;
}

DeviceTargetSources DeviceForce::target_sources() const {
    return {x_.data(),
            y_.data(),
            z_.data(),
            charge_.data(),
            job_.per_particle ? softening_.data() : nullptr,
            job_.settings.softening_length,
            origin_};
}

/// Room for results on their way to the host's order, or null: node lists that nobody keeps, all of their
/// memory, also what was guessed for them and not needed.
particles::ExportRecord* DeviceForce::spare_records() {
    const bool all_items = job_.with_points || job_.all_targets;
    const bool spare = all_items && job_.is_tree() && !keeps_lists() && !job_.empty() &&
                       particles::serves_records(job_.targets) &&
                       lists_.nodes.capacity() * int64_t{sizeof(int32_t)} >=
                           job_.targets * int64_t{sizeof(particles::ExportRecord)};
    return spare ? reinterpret_cast<particles::ExportRecord*>(lists_.nodes.data()) : nullptr;
}

/// Whether the evaluation may put accelerations into the records itself: in one batch, as the next one's
/// lists would go where they are, and where nobody else wants the field.
bool DeviceForce::sums_to_records() {
    const Outputs& outputs = job_.outputs;
    for (const ArrayView& view : outputs.acceleration)
        if (!view.present() || !view.on_device())
            return false;
    const bool alone = !job_.with_potential && !job_.with_sums && !remembers() && !job_.over_ranks;
    return alone && job_.settings.dimension == 3 && batches_ == 1 && !lean_ && spare_records() != nullptr &&
           forces::works_by_units(static_cast<forces::DeviceKernel>(job_.settings.device.kernel));
}

/// Everything behind the evaluation that the device does.
void DeviceForce::enqueue_output() {
    if (!job_.empty()) {
        if (job_.with_potential && !job_.with_points && job_.settings.softening != settings::Softening::none)
            remove_self_potential(queue_, static_cast<forces::Softening>(job_.settings.softening),
                                  target_sources(), field_, job_.targets);
        if (job_.with_sums && !job_.with_points)
            sum_virial(queue_, target_sources(), field_, job_.targets, partial_.data(),
                       outcome_.data()->totals);
        if (job_.settings.periodic && job_.outputs.virial.present() && !job_.with_points)
            periodic_.put_virial(queue_, periodic_task());
    }
    particles::DeviceImportState* const state = &outcome_.data()->import;
    DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = wanted(all);
    look_at_fields();
    look_at_sums();
    if (remembers() && !job_.empty()) // not what has been refused
        remember_field(queue_, field_, origin_, job_.targets, last_.data());
    int here_count = 0;
    for (int a = 0; a < count; ++a)
        if (all[a].view.on_device())
            here[here_count++] = all[a];
    if (summed_to_records_)
        particles::export_records(queue_, here_count, here, job_.targets, job_.outputs.add, state,
                                  spare_records());
    else if (spare_records() != nullptr)
        particles::export_by_records(queue_, here_count, here, origin_, job_.targets, job_.outputs.add, state,
                                     spare_records());
    else
        particles::export_reals(queue_, here_count, here, origin_, job_.targets, nullptr, job_.outputs.add,
                                state);
    stage_results(all, count);
    export_sums();
}

/// Whether the device can tell what comes to stand in an array: not where it is added to the host's.
bool DeviceForce::sees_result(const ArrayView& view) const {
    return view.present() && (view.on_device() || !job_.outputs.add);
}

/// Stops the computation by the first acceleration or potential that would be no finite number.
void DeviceForce::look_at_fields() {
    DeviceRealExport all[particles::most_device_exports], seen[particles::most_device_exports];
    const int count = wanted(all);
    int seen_count = 0;
    for (int a = 0; a < count; ++a)
        if (sees_result(all[a].view))
            seen[seen_count++] = all[a];
    particles::DeviceImportState* const state = &outcome_.data()->import;
    if (summed_to_records_)
        particles::check_records(queue_, seen_count, seen, job_.targets, job_.outputs.add, state, spare_records());
    else
        particles::check_reals(queue_, seen_count, seen, origin_, job_.targets, job_.outputs.add, state);
}

/// body(exports, count) for virial and energy where `takes` their array, a few at a time.
template <typename Takes, typename Body>
void DeviceForce::for_sums(const Takes& takes, const Body& body) {
    const Outputs& outputs = job_.outputs;
    const double factor = sign_of(job_.settings) * job_.settings.constant;
    const double* const totals = outcome_.data()->totals;
    DeviceRealExport exports[particles::most_device_exports];
    int count = 0;
    const auto put = [&](const ArrayView& view, int c, double with, int array) {
        exports[count++] = {view, totals + c, with, 2, nullptr, array};
        if (count == particles::most_device_exports)
            body(exports, std::exchange(count, 0));
    };
    for (int c = 0; c < 6 && takes(outputs.virial); ++c)
        put(outputs.virial.component(c), c, factor, virial_array + c);
    if (takes(outputs.energy))
        put(outputs.energy, 6, -factor, energy_array);
    body(exports, count);
}

void DeviceForce::look_at_sums() {
    for_sums([&](const ArrayView& view) { return sees_result(view); },
             [&](const DeviceRealExport* exports, int count) {
                 particles::check_reals(queue_, count, exports, nullptr, 1, job_.outputs.add,
                                        &outcome_.data()->import);
             });
}

/// Room for the results of host arrays; returns their bytes. Columns end at multiples of 256 bytes, and what
/// lies between them travels, too: zero from the start.
int64_t DeviceForce::hold_results(const DeviceRealExport* all, int count) {
    int64_t bytes = 0;
    for (int a = 0; a < count; ++a)
        if (!all[a].view.on_device())
            bytes += staged_size(staged_type(job_.outputs, all[a].view), job_.targets);
    if (bytes > 0 && !job_.with_points && !job_.all_targets)
        bytes += 4 * job_.targets;
    if (bytes > result_.capacity()) {
        result_.resize(bytes);
        GRAFT_CUDA(
            cudaMemsetAsync(result_.data(), 0, static_cast<size_t>(result_.capacity()), queue_.stream()));
    }
    return bytes;
}

/// Results for host arrays: contiguous on the device, and on to page-locked memory if they are small. In the
/// host's order where all items are written, else in target order with their indices beside them.
void DeviceForce::stage_results(const DeviceRealExport* all, int count) {
    DeviceRealExport there[particles::most_device_exports];
    int there_count = 0;
    staged_.clear();
    staged_bytes_ = 0;
    const int64_t n = job_.targets;
    for (int a = 0; a < count; ++a) {
        if (all[a].view.on_device())
            continue;
        const particles::ElementType type = staged_type(job_.outputs, all[a].view);
        staged_.push_back({all[a].view, type, staged_bytes_, all[a].array});
        staged_bytes_ += staged_size(type, n);
        there[there_count++] = all[a];
    }
    staged_packed_ = !job_.with_points && !job_.all_targets;
    if (there_count == 0 || n == 0)
        return;
    const int64_t index_at = staged_bytes_;
    staged_bytes_ += staged_packed_ ? 4 * n : 0;
    result_.resize(hold_results(all, count));
    for (int a = 0; a < there_count; ++a) {
        const Staged& staged = staged_[static_cast<size_t>(a)];
        const int64_t size = particles::element_size(staged.type);
        there[a].view = {result_.data() + staged.offset, staged.type, 1, n, size, size,
                         particles::MemorySpace::device};
    }
    auto* const items = reinterpret_cast<int32_t*>(result_.data() + index_at);
    particles::export_reals(queue_, there_count, there, origin_, n, staged_packed_ ? items : nullptr, false,
                            &outcome_.data()->import);
    if (staged_bytes_ > small_results)
        return;
    host_result_.resize(std::max(host_result_.size(), staged_bytes_));
    GRAFT_CUDA(cudaMemcpyAsync(host_result_.data(), result_.data(), static_cast<size_t>(staged_bytes_),
                               cudaMemcpyDeviceToHost, queue_.stream()));
}

/// Virial and energy to device arrays.
void DeviceForce::export_sums() {
    for_sums([](const ArrayView& view) { return view.present() && view.on_device(); },
             [&](const DeviceRealExport* exports, int count) {
                 particles::export_reals(queue_, count, exports, nullptr, 1, nullptr, job_.outputs.add,
                                         &outcome_.data()->import);
             });
}

/// body(number of the array, array, its values, their indices or null, first item, count): after the wait, all
/// that goes to host arrays.
template <typename Body>
void DeviceForce::for_staged(const Body& body) {
    const int64_t n = job_.targets;
    if (staged_.empty() || n == 0)
        return;
    if (staged_bytes_ > small_results)
        return for_staged_pieces(body);
    const auto* index = reinterpret_cast<const int32_t*>(host_result_.data() + staged_bytes_ - 4 * n);
    for (size_t s = 0; s < staged_.size(); ++s)
        body(s, host_result_.data() + staged_[s].offset, staged_packed_ ? index : nullptr, 0, n);
}

/// Piece by piece: while the host looks at one, the next one is on its way.
template <typename Body>
void DeviceForce::for_staged_pieces(const Body& body) {
    const int64_t n = job_.targets, piece = small_results / 16;
    host_result_.resize(std::max(host_result_.size(), 2 * 12 * piece));
    const char* const index_from = result_.data() + staged_bytes_ - 4 * n;
    struct Piece {
        size_t staged;
        int64_t first, count;
    };
    std::vector<Piece> pieces;
    for (size_t s = 0; s < staged_.size(); ++s)
        for (int64_t first = 0; first < n; first += piece)
            pieces.push_back({s, first, std::min(piece, n - first)});
    const auto send = [&](size_t p) {
        const Staged& staged = staged_[pieces[p].staged];
        char* to = host_result_.data() + static_cast<int64_t>(p % 2) * 12 * piece;
        const int64_t size = particles::element_size(staged.type);
        GRAFT_CUDA(cudaMemcpyAsync(to, result_.data() + staged.offset + pieces[p].first * size,
                                   static_cast<size_t>(pieces[p].count * size), cudaMemcpyDeviceToHost,
                                   queue_.stream()));
        if (staged_packed_)
            GRAFT_CUDA(cudaMemcpyAsync(to + 8 * piece, index_from + 4 * pieces[p].first,
                                       static_cast<size_t>(4 * pieces[p].count), cudaMemcpyDeviceToHost,
                                       queue_.stream()));
        GRAFT_CUDA(cudaEventRecord(piece_done_[p % 2], queue_.stream()));
    };
    send(0);
    for (size_t p = 0; p < pieces.size(); ++p) {
        if (p + 1 < pieces.size())
            send(p + 1);
        GRAFT_CUDA(cudaEventSynchronize(piece_done_[p % 2]));
        ++waits_;
        const char* from = host_result_.data() + static_cast<int64_t>(p % 2) * 12 * piece;
        body(pieces[p].staged, from, staged_packed_ ? reinterpret_cast<const int32_t*>(from + 8 * piece) : nullptr,
             pieces[p].first, pieces[p].count);
    }
}

/// Results that are added to host arrays: the sums are the host's, and so is the look at them.
void DeviceForce::check_host_outputs() {
    if (!job_.outputs.add)
        return;
    const backend::Executor executor{host_memory_, backend::resolve_threads(job_.settings.threads)};
    std::vector<particles::Unfinished> first(staged_.size());
    for_staged([&](size_t s, const char* from, const int32_t* index, int64_t begin, int64_t count) {
        const auto* value = reinterpret_cast<const double*>(from); // not rounded before it is added
        const particles::RealExport result{staged_[s].view, result_name(staged_[s].array), value, 1, nullptr, begin};
        const particles::Unfinished found = particles::first_unfinished(executor, result, index, count, true);
        first[s] = found.item < first[s].item ? found : first[s];
    });
    for (size_t s = 0; s < staged_.size(); ++s)
        if (first[s].any())
            particles::refuse_result(result_name(staged_[s].array), first[s].item, first[s].value);
    for_host_sums(particles::check_reals);
}

/// After the wait: all that goes to host arrays.
void DeviceForce::write_host_outputs() {
    check_host_outputs();
    const backend::Executor executor{host_memory_, backend::resolve_threads(job_.settings.threads)};
    for_staged([&](size_t s, const char* from, const int32_t* index, int64_t first, int64_t count) {
        particles::unpack(executor, from, staged_[s].type, index, first, count, job_.outputs.add, staged_[s].view);
    });
    for_host_sums(particles::export_reals);
}

/// body(executor, result, index, count, add) for virial and energy in host arrays.
void DeviceForce::for_host_sums(void (*body)(const backend::Executor& executor,
                                             const particles::RealExport& result, const int32_t* index,
                                             int64_t count, bool add)) {
    const Outputs& outputs = job_.outputs;
    const DeviceOutcome& outcome = *host_outcome_.data();
    const double factor = sign_of(job_.settings) * job_.settings.constant / outcome.import.scale / outcome.import.scale;
    const backend::Executor serial{host_memory_, 1};
    for (int c = 0; c < 6 && outputs.virial.present() && !outputs.virial.on_device(); ++c)
        body(serial, particles::RealExport{outputs.virial.component(c), virial_name, outcome.totals + c, factor},
             nullptr, 1, outputs.add);
    if (outputs.energy.present() && !outputs.energy.on_device())
        body(serial, particles::RealExport{outputs.energy, energy_name, outcome.totals + 6, -factor}, nullptr, 1,
             outputs.add);
}

/// After a computation that has stopped by one of its results.
void DeviceForce::raise_bad_result() {
    const particles::DeviceImportState& state = host_outcome_.data()->import;
    const particles::BadResult bad = particles::bad_result_of(state);
    if (bad.array >= virial_array) // those of the host's have been read by nobody
        for_host_sums(particles::check_reals);
    particles::refuse_result(result_name(bad.array), bad.item, state.bad_value);
}

} // namespace graft::engine
