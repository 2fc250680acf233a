// SPDX-License-Identifier: BSD-3-Clause
// See write_results_gpu.cuh; on a CPU Solver::write.
#include "engine/write_results_gpu.cuh"

#include "engine/checks.hpp"
#include "particles/staging.hpp"
#include "particles/export_arrays.hpp"

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
    return array < potential_array    ? acceleration_names[array]
           : array == potential_array ? potential_name
           : array < energy_array     ? virial_name
                                      : energy_name;
}

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

/// Accelerations, then the potential: those that are wanted.
int wanted(const DeviceJob& job, const RawResults& raw, DeviceRealExport (&exports)[particles::most_device_exports]) {
    const Outputs& outputs = job.outputs;
    const double factor = sign_of(job.settings) * job.settings.constant;
    const double* values[3] = {raw.field.ax.data(), raw.field.ay.data(), raw.field.az.data()};
    int count = 0;
    for (int a = 0; a < job.settings.dimension; ++a)
        if (outputs.acceleration[a].present())
            exports[count++] = {outputs.acceleration[a], values[a], factor, outputs.force ? 2 : 1,
                                outputs.force ? raw.charge : nullptr, a};
    if (outputs.potential.present())
        exports[count++] = {outputs.potential, raw.field.potential.data(), -factor, 1, nullptr,
                            potential_array};
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

/// Whether the device can tell what comes to stand in an array: not where it is added to the host's.
bool sees_result(const ArrayView& view) {
    return view.present() && (view.on_device() || !view.add);
}

/// body(exports, count) for virial and energy where `takes` their array, a few at a time.
template <typename Takes, typename Body>
void for_sums(Computation& c, const Takes& takes, const Body& body) {
    const Outputs& outputs = c.job.outputs;
    const double factor = sign_of(c.job.settings) * c.job.settings.constant;
    const double* const totals = c.totals();
    DeviceRealExport exports[particles::most_device_exports];
    int count = 0;
    const auto put = [&](const ArrayView& view, int k, double with, int array) {
        exports[count++] = {view, totals + k, with, 2, nullptr, array};
        if (count == particles::most_device_exports)
            body(exports, std::exchange(count, 0));
    };
    for (int k = 0; k < 6 && takes(outputs.virial); ++k)
        put(outputs.virial.component(k), k, factor, virial_array + k);
    if (takes(outputs.energy))
        put(outputs.energy, 6, -factor, energy_array);
    body(exports, count);
}

/// body(executor, result, index, count) for virial and energy in host arrays.
void for_host_sums(Computation& c, void (*body)(const backend::Executor& executor, const particles::RealExport& result,
                                                const int32_t* index, int64_t count)) {
    const Outputs& outputs = c.job.outputs;
    const DeviceOutcome& outcome = *c.host_outcome.data();
    const double factor =
        sign_of(c.job.settings) * c.job.settings.constant / outcome.import.scale / outcome.import.scale;
    const backend::Executor serial{c.host_memory, 1};
    for (int k = 0; k < 6 && outputs.virial.present() && !outputs.virial.on_device(); ++k)
        body(serial, particles::RealExport{outputs.virial.component(k), virial_name, outcome.totals + k, factor},
             nullptr, 1);
    if (outputs.energy.present() && !outputs.energy.on_device())
        body(serial, particles::RealExport{outputs.energy, energy_name, outcome.totals + 6, -factor}, nullptr, 1);
}

/// Room for results on their way to the host's order, or null: node lists that nobody keeps, all of their
/// memory, also what was guessed for them and not needed.
particles::ExportRow* spare_records(const DeviceJob& job, const lists::DeviceLists& lists) {
    const bool spare = !job.some() && job.is_tree() && !job.keeps_lists() && !job.empty() &&
                       particles::serves_records(job.targets) &&
                       lists.nodes.capacity() * int64_t{sizeof(int32_t)} >=
                           job.targets * int64_t{sizeof(particles::ExportRow)};
    return spare ? reinterpret_cast<particles::ExportRow*>(lists.nodes.data()) : nullptr;
}

} // namespace

WriteStep::WriteStep(backend::DeviceMemory& memory)
    : result_(memory, "results for the host"), host_result_(memory, "results for the host"),
      piece_done_{backend::Event(memory), backend::Event(memory)} {}

/// In one batch, as the next one's lists would go where the records are, and where nobody else wants the field.
particles::ExportRow* WriteStep::begin(const Computation& c, const lists::DeviceLists& lists, int batches) {
    const DeviceJob& job = c.job;
    bool all_here = true;
    for (const ArrayView& view : job.outputs.acceleration)
        all_here = all_here && view.present() && view.on_device();
    const bool alone = !job.with_potential && !job.with_sums && !job.remembers() && !job.over_ranks && !job.conserves_momentum();
    to_records_ = all_here && alone && job.settings.dimension == 3 && batches == 1 && !c.in_place() &&
                  spare_records(job, lists) != nullptr && job.uses_tasks();
    return to_records_ ? spare_records(job, lists) : nullptr;
}

void WriteStep::look(Computation& c, const RawResults& raw, const lists::DeviceLists& lists) {
    look_at_fields(c, raw, lists);
    for_sums(c, sees_result,
             [&](const DeviceRealExport* exports, int count) {
                 particles::check_reals(c.queue, count, exports, nullptr, 1, c.import_state());
             });
}

void WriteStep::look_at_fields(Computation& c, const RawResults& raw, const lists::DeviceLists& lists) {
    const DeviceJob& job = c.job;
    DeviceRealExport all[particles::most_device_exports], seen[particles::most_device_exports];
    const int count = wanted(job, raw, all);
    int seen_count = 0;
    for (int a = 0; a < count; ++a)
        if (sees_result(all[a].view))
            seen[seen_count++] = all[a];
    if (to_records_ && !job.over_ranks)
        particles::check_records(c.queue, seen_count, seen, job.targets, c.import_state(),
                                 spare_records(job, lists));
    else
        particles::check_reals(c.queue, seen_count, seen, raw.origin, job.targets, c.import_state());
}

void WriteStep::results(Computation& c, const RawResults& raw, const lists::DeviceLists& lists) {
    const DeviceJob& job = c.job;
    particles::DeviceImportState* const state = c.import_state();
    particles::ExportRow* const records = spare_records(job, lists);
    DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = wanted(job, raw, all), here_count = on_device(all, count, here);
    if (to_records_)
        particles::export_records(c.queue, here_count, here, job.targets, state, records);
    else if (records != nullptr)
        particles::export_by_records(c.queue, here_count, here, raw.origin, job.targets, state,
                                     records);
    else
        particles::export_reals(c.queue, here_count, here, raw.origin, job.targets, nullptr, state);
    stage(c, all, count, raw.origin);
    sums(c);
}

void WriteStep::to_device_arrays(Computation& c, const RawResults& raw) {
    DeviceRealExport all[particles::most_device_exports], here[particles::most_device_exports];
    const int count = on_device(all, wanted(c.job, raw, all), here);
    particles::export_reals(c.queue, count, here, raw.origin, c.job.targets, nullptr, c.import_state());
}

void WriteStep::stage(Computation& c, const RawResults& raw) {
    staged_.clear(), staged_bytes_ = 0;
    if (c.job.targets == 0)
        return;
    DeviceRealExport all[particles::most_device_exports];
    const int count = wanted(c.job, raw, all);
    stage(c, all, count, raw.origin);
}

void WriteStep::hold(Computation& c, const RawResults& raw) {
    DeviceRealExport all[particles::most_device_exports];
    const int count = wanted(c.job, raw, all);
    hold(c, all, count);
}

/// Room for the results of host arrays; returns their bytes. Columns end at multiples of 256 bytes, and what
/// lies between them travels, too: zero from the start.
int64_t WriteStep::hold(Computation& c, const DeviceRealExport* all, int count) {
    int64_t bytes = 0;
    for (int a = 0; a < count; ++a)
        if (!all[a].view.on_device())
            bytes += staged_size(staged_type(all[a].view), c.job.targets);
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
void WriteStep::stage(Computation& c, const DeviceRealExport* all, int count, const int32_t* origin) {
    DeviceRealExport there[particles::most_device_exports];
    int there_count = 0;
    staged_.clear();
    staged_bytes_ = 0;
    const int64_t n = c.job.targets;
    for (int a = 0; a < count; ++a) {
        if (all[a].view.on_device())
            continue;
        const particles::ElementType type = staged_type(all[a].view);
        staged_.push_back({all[a].view, type, staged_bytes_, all[a].array});
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
    particles::export_reals(c.queue, there_count, there, origin, n, packed ? items : nullptr,
                            c.import_state());
    if (staged_bytes_ > small_results)
        return;
    host_result_.resize(std::max(host_result_.size(), staged_bytes_));
    GRAFT_CUDA(cudaMemcpyAsync(host_result_.data(), result_.data(), static_cast<size_t>(staged_bytes_),
                               cudaMemcpyDeviceToHost, c.queue.stream()));
}

void WriteStep::sums(Computation& c) {
    for_sums(c, [](const ArrayView& view) { return view.present() && view.on_device(); },
             [&](const DeviceRealExport* exports, int count) {
                 particles::export_reals(c.queue, count, exports, nullptr, 1, nullptr, c.import_state());
             });
}

/// body(number of the array, its values, their indices or null, first item, count): after the wait, all that
/// goes to host arrays.
template <typename Body>
void WriteStep::for_staged(Computation& c, const Body& body) {
    const int64_t n = c.job.targets;
    if (staged_.empty() || n == 0)
        return;
    if (staged_bytes_ > small_results)
        return for_staged_pieces(c, body);
    const auto* index = reinterpret_cast<const int32_t*>(host_result_.data() + staged_bytes_ - 4 * n);
    for (size_t s = 0; s < staged_.size(); ++s)
        body(s, host_result_.data() + staged_[s].offset, c.job.some() ? index : nullptr, 0, n);
}

/// Piece by piece: while the host looks at one, the next one is on its way.
template <typename Body>
void WriteStep::for_staged_pieces(Computation& c, const Body& body) {
    const int64_t n = c.job.targets, piece = small_results / 16;
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
        body(pieces[p].staged, from, c.job.some() ? reinterpret_cast<const int32_t*>(from + 8 * piece) : nullptr,
             pieces[p].first, pieces[p].count);
    }
}

void WriteStep::check_added_fields(Computation& c) {
    if (std::none_of(staged_.begin(), staged_.end(), [](const Staged& staged) { return staged.view.add; }))
        return;
    const backend::Executor executor = c.executor();
    std::vector<particles::Unfinished> first(staged_.size());
    for_staged(c, [&](size_t s, const char* from, const int32_t* index, int64_t begin, int64_t count) {
        if (!staged_[s].view.add)
            return; // the device has looked
        const auto* value = reinterpret_cast<const double*>(from); // not rounded before it is added
        const particles::RealExport result{staged_[s].view, result_name(staged_[s].array), value, 1, nullptr, begin};
        const particles::Unfinished found = particles::first_unfinished(executor, result, index, count);
        first[s] = found.item < first[s].item ? found : first[s];
    });
    for (size_t s = 0; s < staged_.size(); ++s)
        if (first[s].any())
            particles::refuse_result(result_name(staged_[s].array), first[s].item, first[s].value);
}

void WriteStep::write(Computation& c) {
    if (!c.job.over_ranks)
        check_added_fields(c);
    for_host_sums(c, particles::check_reals);
    const backend::Executor executor = c.executor();
    for_staged(c, [&](size_t s, const char* from, const int32_t* index, int64_t first, int64_t count) {
        particles::unpack(executor, from, staged_[s].type, index, first, count, staged_[s].view);
    });
    for_host_sums(c, particles::export_reals);
}

void WriteStep::raise_bad_result(Computation& c) {
    const particles::DeviceImportState& state = c.host_outcome.data()->import;
    const particles::BadResult bad = particles::bad_result_of(state);
    if (bad.array >= virial_array) // those of the host's have been read by nobody
        for_host_sums(c, particles::check_reals);
    particles::refuse_result(result_name(bad.array), bad.item, state.bad_value);
}

} // namespace graft::engine
