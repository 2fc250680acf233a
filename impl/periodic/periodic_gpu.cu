// SPDX-License-Identifier: BSD-3-Clause
// The class DevicePeriodic: buffers, cuts, the order of launches, and what is added up at the end.
#include "periodic/box_order_gpu.cuh"

#include "backend/primitives_gpu.cuh"
#include "backend/side_stream_gpu.cuh"
#include "periodic/mesh/wave_mesh_gpu.cuh"
#include "periodic/periodic_sums_gpu.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace graft::periodic {

struct DevicePeriodic::Work {
    explicit Work(backend::DeviceMemory& memory)
        : tiles(memory, "tiles of waves"), sent(memory, "tiles of waves"), sources(memory), targets(memory),
          chunks(memory, "chunks of sources"), supers(memory, "chunks of sources"), near_centre(memory, "chunks of sources"),
          partial(memory, "periodic box: partial sums"),
          pair_virial(memory, "periodic box: virials"), structure(memory, "structure factors"),
          weighted(memory, "waves"), rows(memory, "rows of waves"), tile_virial(memory, "virials of waves"),
          charge(memory, "net charge"), field(memory, "field of waves"), table(memory, "table of waves"),
          terms(memory, "terms of charges"), measures(memory, "measures of a periodic box"),
          found_close(memory, "close pairs of a periodic box"), mesh(memory), side(memory, true) {}
    backend::DeviceBuffer<WaveTile> tiles;
    backend::PinnedBuffer<WaveTile> sent;
    PeriodicOrder sources, targets;
    bool all = true; // the targets' order is the sources'
    backend::DeviceBuffer<SourceChunk> chunks, supers;
    backend::DeviceBuffer<ChunkSource> near_centre; // of pairs in float
    backend::DeviceBuffer<double> partial, pair_virial, structure, weighted;
    backend::DeviceBuffer<uint32_t> rows;
    backend::DeviceBuffer<double> tile_virial, charge, field;
    backend::DeviceBuffer<WaveEntry> table;
    backend::DeviceBuffer<ChargeTerms> terms;
    backend::DeviceBuffer<double> measures;
    backend::DeviceBuffer<int32_t> found_close;
    DeviceWaveMesh mesh;
    int64_t pair_parts = 0;   // of pair_virial
    backend::SideStream side; // waves beside pairs: a long row of short kernels beside a long one
};

namespace {

int64_t divided(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

/// The power of two in (1 / (2 value), 1 / value].
double inverse_power(double value) {
    return std::ldexp(1.0, -std::ilogb(value) - 1);
}

/// Sums of scaled charges stay near 1.
double charge_scale_of(const PeriodicTask& task) {
    return std::ldexp(1.0, std::ilogb(static_cast<double>(std::max<int64_t>(task.charges(), 1))));
}

/// Into how many parts the sources are cut. With the virial as many as there may be; without it such that the
/// blocks of targets fill the device in few rounds: a warp of a block looks at part / 4 chunks, and a block
/// costs about a chunk of its own (measured: docs/lab/gpu/periodic.md).
template <typename T>
int64_t part_of(int64_t blocks, int64_t chunk_count, forces::DevicePair kind, bool virial) {
    constexpr int64_t most_blocks = 132 * 16; // partial sums of more are too many to add up
    const int64_t resident = 132 * resident_pair_blocks<T>(kind, virial);
    const int64_t steps = divided(chunk_count, periodic_part_step);
    const int64_t most = std::clamp<int64_t>(divided(most_blocks, blocks), 1, steps);
    int64_t best = steps, least = std::numeric_limits<int64_t>::max();
    for (int64_t wanted = virial ? most : 1; wanted <= most; ++wanted) {
        const int64_t part = divided(steps, wanted), parts = divided(steps, part);
        const int64_t cost = divided(blocks * parts, resident) * (part + 1);
        if (cost <= least)
            least = cost, best = part;
    }
    return best * periodic_part_step;
}

/// Sources nearer than this are too close for single precision: places of pairs are known to a float and what rounding took
/// off it, another float, by so much better than those that frame_resolution is of.
double close_distance(const DeviceLattice& lattice) {
    const geometry::Lattice& box = lattice.box;
    const double extent =
        std::max({box.edge[0] + std::abs(box.xy) + std::abs(box.xz), box.edge[1] + std::abs(box.yz), box.edge[2]});
    return forces::frame_resolution * 0x1p-23 * (lattice.cutoff + extent);
}

template <typename T>
PeriodicPairs<T> pairs_of(const DeviceLattice& lattice, const forces::Screen& screen, const forces::DeviceEvaluation& how,
                          const PeriodicTask& task) {
    PeriodicPairs<T> in{};
    in.sources = task.sources, in.targets = task.targets;
    in.box = lattice.box;
    for (int a = 0; a < 3; ++a)
        in.inverse[a] = 1 / lattice.box.edge[a];
    in.cutoff = lattice.cutoff, in.reach_square = lattice.cutoff * lattice.cutoff * (1 + 1e-12);
    in.scale = inverse_power(lattice.cutoff), in.close = close_distance(lattice);
    in.blocks = divided(task.targets.n, periodic_block);
    in.chunks.count = divided(task.sources.n, chunk_sources);
    in.part = part_of<T>(in.blocks, in.chunks.count, forces::pair_kind(how.pairs), task.virial);
    in.parts = divided(in.chunks.count, in.part);
    in.length = how.softening_length;
    in.charges = task.charges();
    in.keeps_itself = how.pairs.potential && how.pairs.softening != forces::Softening::none;
    const double softening = lattice.softening * in.scale;
    in.added = std::max(static_cast<T>(softening * softening), forces::pair_tiny<T>());
    in.facts = task.facts;
    in.charge_scale = charge_scale_of(task);
    in.screen = forces::make_screen_terms<T>(screen, lattice.cutoff * in.scale, softening);
    return in;
}

PeriodicWaves waves_of(const DeviceLattice& lattice, const PeriodicTask& task, int64_t tiles) {
    constexpr int64_t full = 132 * 16; // blocks
    constexpr int64_t most_chunks = 64, most_groups = 32;
    PeriodicWaves in{};
    in.sources = task.sources, in.targets = task.targets;
    in.box = lattice.box;
    in.charge_scale = charge_scale_of(task);
    in.unit = 1 / inverse_power(std::cbrt(lattice.box.volume()));
    in.tile_count = static_cast<int32_t>(tiles);
    const int64_t items = std::max<int64_t>(divided(task.sources.n, 32), 1);
    const int64_t chunks = std::clamp<int64_t>(full / tiles, 1, std::min(most_chunks, items));
    in.chunk = divided(items, chunks) * 32;
    in.chunks = static_cast<int32_t>(divided(task.sources.n, in.chunk));
    const int64_t groups = std::clamp<int64_t>(full / std::max<int64_t>(divided(task.targets.n, 128), 1), 1,
                                               std::min(most_groups, tiles));
    in.group_tiles = static_cast<int32_t>(divided(tiles, groups));
    in.groups = static_cast<int32_t>(divided(tiles, in.group_tiles));
    return in;
}

} // namespace

DevicePeriodic::DevicePeriodic(backend::DeviceMemory& memory) : work_(new Work(memory)) {}
DevicePeriodic::~DevicePeriodic() {
    delete work_;
}

void DevicePeriodic::set(backend::Queue& queue, const DeviceLattice& lattice) {
    constexpr double small = 4e-3; // beside what the splitting leaves: docs/lab/gpu/periodic.md
    const double error = std::max(small * lattice.accuracy, forces::least_single_error);
    if (!lattice.pairs_elsewhere &&
        (screen_.alpha_cutoff() != lattice.alpha * lattice.cutoff || screen_.single_error() != error))
        screen_ = forces::Screen(lattice.alpha * lattice.cutoff, error);
    const bool same = !tiles_.empty() && lattice == lattice_;
    const double largest = lattice.mesh.order > 0 ? 0 : lattice.largest_wave; // the first tile is always there
    const bool same_tiles = !tiles_.empty() && lattice.box == lattice_.box && largest == largest_of_tiles_;
    if (lattice.mesh.order > 0) // where memory is refused, nothing is taken
        work_->mesh.set(queue, lattice.box, lattice.alpha, lattice.mesh, lattice.in_double);
    lattice_ = lattice;
    if (same)
        return;
    if (!same_tiles)
        set_tiles(queue, largest);
    make_table(queue, nullptr);
}

/// Of softening lengths per particle, whose mean square only the device knows, or of a plan.
void DevicePeriodic::make_table(backend::Queue& queue, const PeriodicFacts* facts) {
    Work& w = *work_;
    make_wave_table(queue, {lattice_.box, lattice_.alpha, lattice_.cutoff, largest_of_tiles_,
                            lattice_.softening * lattice_.softening, facts, w.tiles.data(), tile_count(),
                            w.table.data(), w.terms.data()});
}

void DevicePeriodic::set_tiles(backend::Queue& queue, double largest) {
    tiles_.clear(); // until they are on their way: memory may be refused
    std::vector<WaveTile> tiles = wave_tiles(lattice_.box, largest);
    largest_of_tiles_ = largest;
    Work& w = *work_;
    const auto count = static_cast<int64_t>(tiles.size());
    w.tiles.resize(count), w.sent.resize(count);
    w.table.resize(count * WaveTile::values), w.terms.resize(1);
    std::memcpy(w.sent.data(), tiles.data(), tiles.size() * sizeof(WaveTile));
    GRAFT_CUDA(cudaMemcpyAsync(w.tiles.data(), w.sent.data(), tiles.size() * sizeof(WaveTile),
                               cudaMemcpyHostToDevice, queue.stream()));
    tiles_ = std::move(tiles);
}

void DevicePeriodic::evaluate(backend::Queue& queue, const forces::DeviceEvaluation& how, const PeriodicTask& given,
                              forces::DeviceField& field) {
    const bool in_double = how.precision == forces::DevicePrecision::fp64;
    const int64_t n = given.target_count(), tiles = tile_count();
    const bool on_mesh = lattice_.mesh.order > 0;
    Work& w = *work_;
    PeriodicTask task = given;
    w.all = task.all;
    if (task.structure == nullptr && (task.sources.softening != nullptr || lattice_.open_axis >= 0)) {
        w.measures.resize(measure_partials);
        measure(queue, {task.sources, task.all ? forces::DeviceSources{} : task.targets, lattice_, task.middle,
                        w.measures.data(), task.facts});
    }
    if (forces::pair_kind(how.pairs) == forces::DevicePair::plummer)
        make_table(queue, task.facts);
    w.found_close.resize(1);
    w.side.follow(queue.stream());
    { // while particles are put in order
        const backend::OnSide on_side(queue, w.side);
        GRAFT_CUDA(cudaMemsetAsync(w.found_close.data(), 0, sizeof(int32_t), queue.stream()));
        if (on_mesh)
            w.mesh.clear(queue);
    }
    w.chunks.resize(divided(task.sources.n, chunk_sources));
    w.supers.resize(divided(w.chunks.size(), 32));
    const bool float_pairs = !in_double && !lattice_.pairs_elsewhere;
    w.near_centre.resize(float_pairs ? task.sources.n : 0);
    if (task.sources.n > 0)
        task.sources = w.sources.sort(queue, lattice_.box, given.sources,
                                      {w.chunks.data(), w.supers.data(), float_pairs ? w.near_centre.data() : nullptr,
                                       inverse_power(lattice_.cutoff), charge_scale_of(task)});
    if (task.all)
        task.targets = task.sources;
    else if (n > 0)
        task.targets = w.targets.sort(queue, lattice_.box, given.targets, {});
    w.side.join(queue.stream());
    PeriodicWaves waves = waves_of(lattice_, task, tiles);
    if (task.structure != nullptr)
        waves.chunks = 1;
    w.structure.resize(waves.chunks * structure_size());
    w.weighted.resize(tiles * 4 * WaveTile::values), w.rows.resize(tiles), w.tile_virial.resize(6 * tiles);
    w.charge.resize(1), w.field.resize((on_mesh ? 1 : waves.groups) * 4 * n);
    waves.table = w.table.data();
    waves.tiles = w.tiles.data(), waves.structure = w.structure.data(), waves.weighted = w.weighted.data();
    waves.rows = w.rows.data(), waves.tile_virial = w.tile_virial.data(), waves.charge = w.charge.data();
    waves.field = w.field.data(), waves.status = queue.status();

    const int components = how.pairs.potential || task.virial ? 4 : 3;
    Combination sum{};
    w.pair_parts = 0;
    const auto pairs = [&]<typename T>() {
        PeriodicPairs<T> in = pairs_of<T>(lattice_, screen_, how, task);
        w.partial.resize(in.parts * components * n);
        w.pair_parts = in.parts * in.blocks;
        w.pair_virial.resize(task.virial ? 6 * w.pair_parts : 0);
        in.chunks.boxes = w.chunks.data(), in.chunks.supers = w.supers.data(), in.chunks.near_centre = w.near_centre.data();
        in.partial = w.partial.data(), in.virial = w.pair_virial.data(), in.status = queue.status();
        in.found_close = w.found_close.data();
        launch_periodic_pairs(queue, forces::pair_kind(how.pairs), how.pairs.potential, task.virial, in);
        sum.parts = in.parts;
        sum.of_potential = in.scale / in.charge_scale, sum.square = in.scale * sum.of_potential;
    };
    w.side.follow(queue.stream());
    {
        const backend::OnSide on_side(queue, w.side);
        sum_waves(queue, waves, task, in_double);
    }
    if (n > 0 && task.sources.n > 0 && !lattice_.pairs_elsewhere)
        in_double ? pairs.template operator()<double>() : pairs.template operator()<float>();
    w.side.join(queue.stream());
    if (n == 0)
        return;

    sum.n = n, sum.components = components, sum.potential = how.pairs.potential;
    sum.partial = w.partial.data();
    sum.groups = on_mesh ? 1 : waves.groups, sum.waves = w.field.data(),
    sum.wave_unit = 1 / (waves.charge_scale * (lattice_.mesh.order > 0 ? w.mesh.unit() : waves.unit));
    for (int a = 0; a < 3; ++a)
        sum.g[a] = lattice_.box.reciprocal(a == 0, a == 1, a == 2);
    sum.charge = {w.charge.data(), on_mesh ? nullptr : task.targets.charge, w.terms.data(), task.targets.charge,
                  lattice_.pairs_elsewhere ? 2 / std::sqrt(pi) * lattice_.alpha : 0};
    sum.facts = task.facts;
    if (sum.open_axis = lattice_.open_axis; sum.open_axis >= 0) {
        const double* const places[3] = {task.targets.x, task.targets.y, task.targets.z};
        sum.across = places[sum.open_axis];
        sum.middle = task.middle, sum.edge = lattice_.box.edge[sum.open_axis];
        sum.slab = 2 * pi / lattice_.box.volume();
    }
    sum.ax = field.ax.data(), sum.ay = field.ay.data(), sum.az = field.az.data();
    sum.to_potential = field.potential.data();
    sum.pairs = lattice_.pairs_elsewhere ? 0 : static_cast<double>(n) * static_cast<double>(task.sources.n);
    sum.found_close = w.found_close.data();
    sum.status = queue.status();
    combine<<<backend::blocks_for(n, combined), dim3(combined, summands), 0, queue.stream()>>>(sum);
    GRAFT_CUDA_LAUNCHED("sums of a periodic box");
    ++queue.launches;
}

/// Enqueues the smooth part's field, the net charge and the virials.
void DevicePeriodic::sum_waves(backend::Queue& queue, PeriodicWaves& waves, const PeriodicTask& task, bool in_double) {
    Work& w = *work_;
    if (lattice_.mesh.order > 0)
        return w.mesh.sum(queue, {task.sources, task.targets, waves.charge_scale, task.virial, waves.charge, waves.field});
    if (task.structure != nullptr)
        waves.structure = const_cast<double*>(task.structure); // read only
    else
        in_double ? launch_structure_double(queue, waves) : launch_structure_float(queue, waves);
    in_double ? launch_waves_double(queue, waves) : launch_waves_float(queue, waves);
}

void DevicePeriodic::sum_structure(backend::Queue& queue, const forces::DeviceEvaluation& how,
                                   const forces::DeviceSources& sources, int64_t all_particles, double* structure) {
    Work& w = *work_;
    if (sources.n == 0) {
        GRAFT_CUDA(cudaMemsetAsync(structure, 0, static_cast<size_t>(structure_size()) * sizeof(double),
                                   queue.stream()));
        return;
    }
    PeriodicTask task;
    task.sources = sources, task.all_particles = all_particles;
    PeriodicWaves waves = waves_of(lattice_, task, tile_count());
    w.structure.resize(waves.chunks * structure_size());
    waves.tiles = w.tiles.data(), waves.structure = w.structure.data(), waves.status = queue.status();
    how.precision == forces::DevicePrecision::fp64 ? launch_structure_double(queue, waves)
                                           : launch_structure_float(queue, waves);
    const int64_t size = structure_size();
    add_chunks<<<backend::blocks_for(size, 256), 256, 0, queue.stream()>>>(w.structure.data(), waves.chunks,
                                                                           size, structure, queue.status());
    GRAFT_CUDA_LAUNCHED("structure factors of a rank");
    ++queue.launches;
}

void DevicePeriodic::find_facts(backend::Queue& queue, const forces::DeviceSources& sources,
                                const forces::DeviceSources& points, int open_axis, double middle,
                                PeriodicFacts* facts) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    DeviceLattice any;
    any.open_axis = open_axis, any.longest = infinite, any.gap = -infinite;
    work_->measures.resize(measure_partials);
    measure(queue, {sources, points, any, middle, work_->measures.data(), facts});
}

const int32_t* DevicePeriodic::target_order() const {
    return (work_->all ? work_->sources : work_->targets).order();
}

void DevicePeriodic::put_virial(backend::Queue& queue, const PeriodicTask& task) {
    const Work& w = *work_;
    const double scale = inverse_power(lattice_.cutoff);
    const double charge_scale = charge_scale_of(task);
    const bool slab = lattice_.open_axis >= 0, on_mesh = lattice_.mesh.order > 0;
    const forces::DeviceSources& targets = task.all ? task.sources : task.targets;
    const VirialSums sums{w.pair_virial.data(),
                          w.pair_parts,
                          -0.5 * scale / charge_scale,
                          on_mesh ? w.mesh.virials() : w.tile_virial.data(),
                          on_mesh ? w.mesh.virial_count() : tile_count(),
                          w.charge.data(),
                          on_mesh ? w.mesh.own_virial() : w.terms.data()->own.virial,
                          w.terms.data(),
                          targets.charge,
                          targets.n,
                          lattice_.open_axis,
                          slab ? 2 * pi / lattice_.box.volume() : 0,
                          slab ? lattice_.box.edge[lattice_.open_axis] : 0,
                          task.facts,
                          task.tells_waves,
                          task.totals,
                          queue.status()};
    total_virial<<<1, virial_threads, 0, queue.stream()>>>(sums);
    GRAFT_CUDA_LAUNCHED("virial of a periodic box");
    ++queue.launches;
}

} // namespace graft::periodic
