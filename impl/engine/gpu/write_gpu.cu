// See write_gpu.cuh; on a CPU Solver::write.
#include "engine/gpu/write_gpu.cuh"

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
particles::ElementType staged_type(const Outputs& outputs, const ArrayView& view) {
    return outputs.add ? particles::ElementType::f64 : view.type;
}

int64_t staged_size(particles::ElementType type, int64_t n) {
    return (n * particles::element_size(type) + 255) / 256 * 256;
}

/// Accelerations, then the potential: those that are wanted.
int wanted(const DeviceJob& job, const RawResults& raw, DeviceRealExport (&exports)[particles::most_device_exports]) {
    const Outputs& outputs = job.outputs;
    const double factor = sign_of(job.settings) * job.settings.constant;
    const double* values[3] = {raw.field.ax.data(), raw.field.ay.data(), raw.field.az.data()};
    int count = 0;
    for (int a = 0; a < job.settings.dimension; ++a)
        if (outputs.acceleration[a].present())
            exports[count++] = {outputs.acceleration[a], values[a], factor, outputs.force ? 2 : 1,
                                outputs.force ? raw.charge : nullptr};
    if (outputs.potential.present())
        exports[count++] = {outputs.potential, raw.field.potential.data(), -factor, 1, nullptr};
    return count;
}

/// Those of the exports that go to device arrays; returns how many.
int on_device(const DeviceRealExport* all, int count, DeviceRealExport* here) {
    int here_count = 0;
    for (int a = 0; a < count; ++a)
        if (all[a].view.on_device())
            here[here_count++] = all[a];
    return here_count;
}

/// Room for results on their way to the host's order, or null: node lists that nobody keeps, all of their
/// memory, also what was guessed for them and not needed.
particles::ExportRecord* spare_records(const DeviceJob& job, const lists::DeviceLists& lists) {
    const bool spare = !job.some() && job.is_tree() && !job.keeps_lists() && !job.empty() &&
                       particles::serves_records(job.targets) &&
                       lists.nodes.capacity() * int64_t{sizeof(int32_t)} >=
                           job.targets * int64_t{sizeof(particles::ExportRecord)};
    return spare ? reinterpret_cast<particles::ExportRecord*>(lists.nodes.data()) : nullptr;
}

} // namespace

ExportStep::ExportStep(backend::DeviceMemory& memory)
    : result_(memory, "results for the host"), host_result_(memory, "results for the host"),
      piece_done_{backend::Event(memory), backend::Event(memory)} {}

/// In one batch, as the next one's lists would go where the records are, and where nobody else wants the field.
particles::ExportRecord* ExportStep::begin(const Computation& c, const lists::DeviceLists& lists, int batches) {
    const DeviceJob& job = c.job;
    bool all_here = true;
    for (const ArrayView& view : job.outputs.acceleration)
        all_here = all_here && view.present() && view.on_device();
    const bool alone = !job.with_potential && !job.with_sums && !job.remembers() && !job.over_ranks;
    to_records_ = all_here && alone && job.settings.dimension == 3 && batches == 1 && !c.in_place() &&
                  spare_records(job, lists) != nullptr && job.uses_units();
    return to_records_ ? spare_records(job, lists) : nullptr;
}

void ExportStep::results(Computation& c, const RawResults& raw, const lists::DeviceLists& lists) {
    const DeviceJob& job = c.job;
    const particles::DeviceImportState* state = c.import_state();
    particles::ExportRecord* const records = spare_records(job, lists);
    DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = wanted(job, raw, all), here_count = on_device(all, count, here);
    if (to_records_)
        particles::export_records(c.queue, here_count, here, job.targets, job.outputs.add, state, records);
    else if (records != nullptr)
        particles::export_by_records(c.queue, here_count, here, raw.origin, job.targets, job.outputs.add, state,
                                     records);
    else
        particles::export_reals(c.queue, here_count, here, raw.origin, job.targets, nullptr, job.outputs.add,
                                state);
    stage(c, all, count, raw.origin);
    sums(c);
}

void ExportStep::to_device_arrays(Computation& c, const RawResults& raw) {
    DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = on_device(all, wanted(c.job, raw, all), here);
    particles::export_reals(c.queue, count, here, raw.origin, c.job.targets, nullptr, c.job.outputs.add,
                            c.import_state());
}

void ExportStep::stage(Computation& c, const RawResults& raw) {
    staged_.clear(), staged_bytes_ = 0;
    if (c.job.targets == 0)
        return;
    DeviceRealExport all[particles::most_device_exports];
    const int count = wanted(c.job, raw, all);
    stage(c, all, count, raw.origin);
}

void ExportStep::hold(Computation& c, const RawResults& raw) {
    DeviceRealExport all[particles::most_device_exports];
    const int count = wanted(c.job, raw, all);
    hold(c, all, count);
}

/// Room for the results of host arrays; returns their bytes. Columns end at multiples of 256 bytes, and what
/// lies between them travels, too: zero from the start.
int64_t ExportStep::hold(Computation& c, const DeviceRealExport* all, int count) {
    int64_t bytes = 0;
    for (int a = 0; a < count; ++a)
        if (!all[a].view.on_device())
            bytes += staged_size(staged_type(c.job.outputs, all[a].view), c.job.targets);
    if (bytes > 0 && c.job.some())
        bytes += 4 * c.job.targets;
    if (bytes > result_.capacity()) {
        result_.resize(bytes);
        GRAFT_CUDA(
            cudaMemsetAsync(result_.data(), 0, static_cast<size_t>(result_.capacity()), c.queue.stream()));
    }
    return bytes;
}

/// Results for host arrays: contiguous on the device, and on to page-locked memory if they are small. In the
/// host's order where all items are written, else in target order with their indices beside them.
void ExportStep::stage(Computation& c, const DeviceRealExport* all, int count, const int32_t* origin) {
    DeviceRealExport there[particles::most_device_exports];
    int there_count = 0;
    staged_.clear();
    staged_bytes_ = 0;
    const int64_t n = c.job.targets;
    for (int a = 0; a < count; ++a) {
        if (all[a].view.on_device())
            continue;
        const particles::ElementType type = staged_type(c.job.outputs, all[a].view);
        staged_.push_back({all[a].view, type, staged_bytes_});
        staged_bytes_ += staged_size(type, n);
        there[there_count++] = all[a];
    }
    const bool packed = c.job.some();
    if (there_count == 0 || n == 0)
        return;
    const int64_t index_at = staged_bytes_;
    staged_bytes_ += packed ? 4 * n : 0;
    result_.resize(hold(c, all, count));
    for (int a = 0; a < there_count; ++a) {
        const Staged& staged = staged_[static_cast<size_t>(a)];
        const int64_t size = particles::element_size(staged.type);
        there[a].view = {result_.data() + staged.offset, staged.type, 1, n, size, size,
                         particles::MemorySpace::device};
    }
    auto* const items = reinterpret_cast<int32_t*>(result_.data() + index_at);
    particles::export_reals(c.queue, there_count, there, origin, n, packed ? items : nullptr, false,
                            c.import_state());
    if (staged_bytes_ > small_results)
        return;
    host_result_.resize(std::max(host_result_.size(), staged_bytes_));
    GRAFT_CUDA(cudaMemcpyAsync(host_result_.data(), result_.data(), static_cast<size_t>(staged_bytes_),
                               cudaMemcpyDeviceToHost, c.queue.stream()));
}

void ExportStep::sums(Computation& c) {
    const Outputs& outputs = c.job.outputs;
    const double factor = sign_of(c.job.settings) * c.job.settings.constant;
    const double* totals = c.totals();
    DeviceRealExport exports[particles::most_device_exports];
    const particles::DeviceImportState* state = c.import_state();
    int count = 0;
    const auto flush = [&] {
        particles::export_reals(c.queue, count, exports, nullptr, 1, nullptr, outputs.add, state);
        count = 0;
    };
    for (int k = 0; k < 6 && outputs.virial.present() && outputs.virial.on_device(); ++k) {
        exports[count++] = {outputs.virial.component(k), totals + k, factor, 2, nullptr};
        if (count == particles::most_device_exports)
            flush();
    }
    if (outputs.energy.present() && outputs.energy.on_device())
        exports[count++] = {outputs.energy, totals + 6, -factor, 2, nullptr};
    flush();
}

void ExportStep::write_items(Computation& c, const Staged& staged, const char* from, const int32_t* index,
                             int64_t first, int64_t count) {
    particles::unpack(c.executor(), from, staged.type, index, first, count, c.job.outputs.add, staged.view);
}

void ExportStep::write(Computation& c) {
    const int64_t n = c.job.targets;
    if (!staged_.empty() && n > 0) {
        if (staged_bytes_ <= small_results) {
            const auto* index = reinterpret_cast<const int32_t*>(host_result_.data() + staged_bytes_ - 4 * n);
            for (const Staged& staged : staged_)
                write_items(c, staged, host_result_.data() + staged.offset, c.job.some() ? index : nullptr, 0,
                            n);
        } else {
            write_large(c);
        }
    }
    write_sums(c);
}

/// Piece by piece: while the host writes one, the next one is on its way.
void ExportStep::write_large(Computation& c) {
    const int64_t n = c.job.targets, piece = small_results / 16;
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
                                   c.queue.stream()));
        if (c.job.some())
            GRAFT_CUDA(cudaMemcpyAsync(to + 8 * piece, index_from + 4 * pieces[p].first,
                                       static_cast<size_t>(4 * pieces[p].count), cudaMemcpyDeviceToHost,
                                       c.queue.stream()));
        GRAFT_CUDA(cudaEventRecord(piece_done_[p % 2], c.queue.stream()));
    };
    send(0);
    for (size_t p = 0; p < pieces.size(); ++p) {
        if (p + 1 < pieces.size())
            send(p + 1);
        GRAFT_CUDA(cudaEventSynchronize(piece_done_[p % 2]));
        ++c.waits;
        const char* from = host_result_.data() + static_cast<int64_t>(p % 2) * 12 * piece;
        write_items(c, *pieces[p].staged, from,
                    c.job.some() ? reinterpret_cast<const int32_t*>(from + 8 * piece) : nullptr,
                    pieces[p].first, pieces[p].count);
    }
}

void ExportStep::write_sums(Computation& c) {
    const Outputs& outputs = c.job.outputs;
    const DeviceOutcome& outcome = *c.host_outcome.data();
    const double factor =
        sign_of(c.job.settings) * c.job.settings.constant / (outcome.import.scale * outcome.import.scale);
    const backend::Executor serial{c.host_memory, 1};
    for (int k = 0; k < 6 && outputs.virial.present() && !outputs.virial.on_device(); ++k)
        particles::export_reals(
            serial, {outputs.virial.component(k), "results.virial", outcome.totals + k, factor}, nullptr, 1,
            outputs.add);
    if (outputs.energy.present() && !outputs.energy.on_device())
        particles::export_reals(serial, {outputs.energy, "results.energy", outcome.totals + 6, -factor},
                                nullptr, 1, outputs.add);
}

} // namespace graft::engine
