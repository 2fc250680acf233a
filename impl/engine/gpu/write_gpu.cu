// The raw field to the host's arrays: Solver::write there.
#include "engine/gpu/engine_gpu.cuh"

#include "particles/scatter_gpu.cuh"
#include "particles/staging.hpp"
#include "particles/transfer.hpp"

#include <algorithm>

namespace graft::engine {

using particles::ArrayView;
using particles::DeviceRealExport;

namespace {

/// Results of at most so many bytes travel to page-locked memory with the computation; others piece by piece
/// in end().
constexpr int64_t small_results = int64_t{64} << 20;

double sign_of(const settings::Settings& settings) {
    return settings.interaction == settings::Interaction::gravity ? 1 : -1;
}

/// Adding needs full precision until the sum is rounded.
particles::ElementType staged_type(const ArrayView& view) {
    return view.add ? particles::ElementType::f64 : view.type;
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
                                outputs.force ? charge_.data() : nullptr};
    if (outputs.potential.present())
        exports[count++] = {outputs.potential, field_.potential.data(), -factor, 1, nullptr};
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
        if (remembers())
            remember_field(queue_, field_, origin_, job_.targets, last_.data());
    }
    const particles::DeviceImportState* state = &outcome_.data()->import;
    DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = wanted(all);
    int here_count = 0;
    for (int a = 0; a < count; ++a)
        if (all[a].view.on_device())
            here[here_count++] = all[a];
    if (summed_to_records_)
        particles::export_records(queue_, here_count, here, job_.targets, state,
                                  spare_records());
    else if (spare_records() != nullptr)
        particles::export_by_records(queue_, here_count, here, origin_, job_.targets, state,
                                     spare_records());
    else
        particles::export_reals(queue_, here_count, here, origin_, job_.targets, nullptr,
                                state);
    stage_results(all, count);
    export_sums();
}

/// Room for the results of host arrays; returns their bytes. Columns end at multiples of 256 bytes, and what
/// lies between them travels, too: zero from the start.
int64_t DeviceForce::hold_results(const DeviceRealExport* all, int count) {
    int64_t bytes = 0;
    for (int a = 0; a < count; ++a)
        if (!all[a].view.on_device())
            bytes += staged_size(staged_type(all[a].view), job_.targets);
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
        const particles::ElementType type = staged_type(all[a].view);
        staged_.push_back({all[a].view, type, staged_bytes_});
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
    particles::export_reals(queue_, there_count, there, origin_, n, staged_packed_ ? items : nullptr,
                            &outcome_.data()->import);
    if (staged_bytes_ > small_results)
        return;
    host_result_.resize(std::max(host_result_.size(), staged_bytes_));
    GRAFT_CUDA(cudaMemcpyAsync(host_result_.data(), result_.data(), static_cast<size_t>(staged_bytes_),
                               cudaMemcpyDeviceToHost, queue_.stream()));
}

/// Virial and energy to device arrays.
void DeviceForce::export_sums() {
    const Outputs& outputs = job_.outputs;
    const double factor = sign_of(job_.settings) * job_.settings.constant;
    const double* totals = outcome_.data()->totals;
    DeviceRealExport exports[particles::most_device_exports];
    const particles::DeviceImportState* state = &outcome_.data()->import;
    int count = 0;
    const auto flush = [&] {
        particles::export_reals(queue_, count, exports, nullptr, 1, nullptr, state);
        count = 0;
    };
    for (int c = 0; c < 6 && outputs.virial.present() && outputs.virial.on_device(); ++c) {
        exports[count++] = {outputs.virial.component(c), totals + c, factor, 2, nullptr};
        if (count == particles::most_device_exports)
            flush();
    }
    if (outputs.energy.present() && outputs.energy.on_device())
        exports[count++] = {outputs.energy, totals + 6, -factor, 2, nullptr};
    flush();
}

void DeviceForce::write_items_of(const Staged& staged, const char* from, const int32_t* index, int64_t first,
                                 int64_t count) {
    const backend::Executor executor{host_memory_, backend::resolve_threads(job_.settings.threads)};
    particles::unpack(executor, from, staged.type, index, first, count, staged.view);
}

/// After the wait: all that goes to host arrays.
void DeviceForce::write_host_outputs() {
    const int64_t n = job_.targets;
    if (!staged_.empty() && n > 0) {
        if (staged_bytes_ <= small_results) {
            const auto* index = reinterpret_cast<const int32_t*>(host_result_.data() + staged_bytes_ - 4 * n);
            for (const Staged& staged : staged_)
                write_items_of(staged, host_result_.data() + staged.offset, staged_packed_ ? index : nullptr,
                               0, n);
        } else {
            write_large_results();
        }
    }
    write_host_sums();
}

/// Piece by piece: while the host writes one, the next one is on its way.
void DeviceForce::write_large_results() {
    const int64_t n = job_.targets, piece = small_results / 16;
    host_result_.resize(std::max(host_result_.size(), 2 * 12 * piece));
    const char* const index_from = result_.data() + staged_bytes_ - 4 * n;
    struct Piece {
        const Staged* staged;
        int64_t first, count;
    };
    std::vector<Piece> pieces;
    for (const Staged& staged : staged_)
        for (int64_t first = 0; first < n; first += piece)
            pieces.push_back({&staged, first, std::min(piece, n - first)});
    const auto send = [&](size_t p) {
        char* to = host_result_.data() + static_cast<int64_t>(p % 2) * 12 * piece;
        const int64_t size = particles::element_size(pieces[p].staged->type);
        GRAFT_CUDA(cudaMemcpyAsync(to, result_.data() + pieces[p].staged->offset + pieces[p].first * size,
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
        write_items_of(*pieces[p].staged, from,
                       staged_packed_ ? reinterpret_cast<const int32_t*>(from + 8 * piece) : nullptr,
                       pieces[p].first, pieces[p].count);
    }
}

void DeviceForce::write_host_sums() {
    const Outputs& outputs = job_.outputs;
    const DeviceOutcome& outcome = *host_outcome_.data();
    const double factor =
        sign_of(job_.settings) * job_.settings.constant / (outcome.import.scale * outcome.import.scale);
    const backend::Executor serial{host_memory_, 1};
    for (int c = 0; c < 6 && outputs.virial.present() && !outputs.virial.on_device(); ++c)
        particles::export_reals(
            serial, {outputs.virial.component(c), "results.virial", outcome.totals + c, factor}, nullptr,
            1);
    if (outputs.energy.present() && !outputs.energy.on_device())
        particles::export_reals(serial, {outputs.energy, "results.energy", outcome.totals + 6, -factor},
                                nullptr, 1);
}

} // namespace graft::engine
