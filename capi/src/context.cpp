// graft_context: life, settings, and the two entries that compute forces.
#include "context.hpp"

#include "backend/gpu_library.hpp"
#include "backend/thread_limits.hpp"
#include "entries.hpp"
#include "settings/accuracy_reach.hpp"

#include <algorithm>
#include <cmath>
#include <new>

using graft::core::fail;
using graft::core::Status;

graft_context::graft_context(const graft_options_values& options, const graft::capi::OptionTexts& texts,
                             const graft::core::Allocator& allocator)
    : memory(allocator), solver(graft::capi::read_options(options), memory),
      rank_settings(graft::capi::read_rank_options(options)),
      ranks(std::make_unique<graft::comm::Communicator>()),
      domains(std::make_unique<graft::capi::DomainState>(memory)),
      near_plans(graft::capi::read_near_options(options, texts)) {
    graft_options_values common = options; // what all ranks must agree on
    common.threads = common.backend = common.cuda_device = 0;
    common.cuda_memory_bytes = common.cuda_list_bytes = 0;
    common.near_layout = common.near_precision = common.near_box = common.near_devices =
        0; // plans are each rank's own
    common.near_memory_bytes = common.near_expected_executes = 0;
    solver.set_tree_sizes(graft::capi::tree_sizes_by(texts.tree_sizes), options.tree_leaf != 0,
                          options.tree_group != 0, near_plans.defaults().machine.get());
    solver.settings().device.buffer = texts.cuda_buffer;
    options_fingerprint = graft::capi::fingerprint(&common, sizeof common);
}

namespace graft::capi {

namespace {

int periodic_axes(const graft_box& box) {
    return box.periodic[0] + box.periodic[1] + box.periodic[2];
}

/// The first axis with this in `periodic`; -1: none.
int first_axis(const graft_box& box, int32_t periodic) {
    for (int a = 0; a < 3; ++a)
        if (box.periodic[a] == periodic)
            return a;
    return -1;
}

/// True when the box is periodic.
bool check_periodic(const graft_box& box, int dimension) {
    for (int a = 0; a < 3; ++a)
        if (box.periodic[a] != 0 && box.periodic[a] != 1)
            fail(Status::argument, "box.periodic[%d] is %d; expected 0 or 1", a, box.periodic[a]);
    const int count = periodic_axes(box);
    constexpr const char* names[3] = {"xy", "xz", "yz"};
    constexpr int along[3] = {0, 0, 1};
    for (int t = 0; t < 3; ++t) {
        const double tilt = box.tilt[t], edge = box.upper[along[t]] - box.lower[along[t]];
        if (!std::isfinite(tilt) || (count == 0 && tilt != 0))
            fail(Status::argument, "box.tilt (%s) is %g; expected %s", names[t], tilt,
                 count == 0 ? "0, since the box is not periodic" : "a finite number");
        if (std::abs(tilt) > 0.5 * edge * (1 + 1e-9))
            fail(Status::argument,
                 "box.tilt (%s) is %g, more than half the edge %g that it shifts along; the same lattice has "
                 "a tilt within. Add or take off whole edges",
                 names[t], tilt, edge);
    }
    if (count != 0 && dimension != 3)
        fail(
            Status::unsupported,
            "box.periodic is %d %d %d in %d dimensions; periodic boxes are computed in three dimensions. Set "
            "dimension: 3, or an open box (0 0 0)",
            box.periodic[0], box.periodic[1], box.periodic[2], dimension);
    constexpr int across[3] = {1, 2, 2};
    for (int t = 0; count != 0 && t < 3; ++t)
        if (box.tilt[t] != 0 && (box.periodic[along[t]] == 0 || box.periodic[across[t]] == 0))
            fail(Status::argument,
                 "box.tilt (%s) is %g, but axis %d has no images; expected 0, a tilt between two "
                 "periodic axes only",
                 names[t], box.tilt[t], first_axis(box, 0));
    return count != 0;
}

void check_box(const graft_box& box, int dimension) {
    for (int a = 0; a < dimension; ++a) {
        if (!std::isfinite(box.lower[a]) || !std::isfinite(box.upper[a]) || box.lower[a] >= box.upper[a])
            fail(Status::argument, "box: axis %d goes from %g to %g; expected finite numbers, lower < upper",
                 a, box.lower[a], box.upper[a]);
    }
}

void take_box(const graft_box& b, settings::Settings& settings) {
    check_box(b, settings.dimension);
    settings.periodic = check_periodic(b, settings.dimension);
    settings.open_axis = periodic_axes(b) == 2 ? first_axis(b, 0) : -1;
    settings.wire_axis = periodic_axes(b) == 1 ? first_axis(b, 1) : -1;
    std::copy(b.lower, b.lower + 3, settings.box_lower);
    std::copy(b.upper, b.upper + 3, settings.box_upper);
    std::copy(b.tilt, b.tilt + 3, settings.box_tilt);
    settings.has_box = true;
}

} // namespace

void take_box(const graft_options_values& v, settings::Settings& settings) {
    const double edge[3] = {v.box_x, v.box_y, v.box_z},
                 lower[3] = {v.box_lower_x, v.box_lower_y, v.box_lower_z};
    if (edge[0] == 0 && edge[1] == 0 && edge[2] == 0) {
        if (v.box_periodic != 0)
            fail(Status::argument,
                 "box.periodic is not none but box.x, box.y, box.z are 0; expected the edges of the box");
        return;
    }
    graft_box box{};
    for (int a = 0; a < 3; ++a) {
        // 2, 3, 4: all but x, y, z; 5, 6, 7: x, y, z only
        box.periodic[a] =
            v.box_periodic > 4 ? v.box_periodic == 5 + a : v.box_periodic != 0 && v.box_periodic != 2 + a;
        const bool of_no_account = v.box_periodic != 0 && box.periodic[a] == 0 && edge[a] == 0;
        box.lower[a] = lower[a];
        box.upper[a] = lower[a] + (of_no_account ? std::max({edge[0], edge[1], edge[2]}) : edge[a]);
    }
    box.tilt[0] = v.box_xy, box.tilt[1] = v.box_xz, box.tilt[2] = v.box_yz;
    take_box(box, settings);
}

namespace {

double constant_of(const graft_units& units, settings::Interaction interaction) {
    if (units.constant != 0) {
        if (!std::isfinite(units.constant) || units.constant < 0)
            fail(Status::argument,
                 "units.constant is %g; expected a finite number > 0, or 0 to use the units' sizes",
                 units.constant);
        return units.constant;
    }
    const bool gravity = interaction == settings::Interaction::gravity;
    const double sizes[4] = {units.length_m, units.mass_kg, units.time_s, gravity ? 1 : units.charge_c};
    for (double size : sizes)
        if (!(size > 0) || !std::isfinite(size))
            fail(Status::argument,
                 "units: with constant = 0, length_m, mass_kg, time_s%s must be finite and > 0; found %g",
                 gravity ? "" : " and charge_c", size);
    const double geometry = units.time_s * units.time_s / (units.length_m * units.length_m * units.length_m);
    return gravity ? 6.67430e-11 * units.mass_kg * geometry
                   : 8.9875517923e9 * units.charge_c * units.charge_c / units.mass_kg * geometry;
}

/// Waits; what it has to say is nobody's concern any more.
void finish_flight(graft_context& context) noexcept {
    if (!context.in_flight)
        return;
    try {
        context.solver.end_compute();
    } catch (...) {
    }
}

} // namespace

engine::TreeSizesBy tree_sizes_by(const std::string& word) {
    return word == "trial"   ? engine::TreeSizesBy::trial
           : word == "model" ? engine::TreeSizesBy::model
                             : engine::TreeSizesBy::fixed;
}

/// Of a destroyed one, or of none, not a byte may be read.
static void require_alive(const graft_context* context) {
    if (context == nullptr)
        fail(Status::argument, "context is NULL; expected one made by context_create");
    if (!Living::here().has(context))
        fail(Status::argument,
             "context %p was destroyed, or never made by context_create; expected one that lives",
             static_cast<const void*>(context));
}

Use::Use(graft_context* context) : context_(context) {
    require_alive(context);
    if (context->in_use.test_and_set(std::memory_order_acquire))
        fail(Status::busy, "this context is in use by another thread; expected one thread at a time. "
                           "Make one context per thread");
}

void require_flight(const graft_context& context, Flight flight, const char* entry) {
    if (flight == Flight::none && context.in_flight)
        fail(Status::call_order, "%s: a computation is in flight; call compute_end first", entry);
    if (flight == Flight::one && !context.in_flight)
        fail(Status::call_order, "%s: no computation is in flight; expected compute_begin before it", entry);
}

Places places_of(const graft_context& context, bool device_arrays) {
    graft_context& shared = const_cast<graft_context&>(context); // Solver::settings() is not const
    const settings::Settings& settings = shared.solver.settings();
    return {device_arrays, settings.backend, settings.device.device, {}, -1};
}

backend::Executor executor_of(graft_context& context) {
    return {context.memory, backend::resolve_threads(context.solver.settings().threads)};
}

int32_t device_of_domains(graft_context& context) {
    const settings::Settings& settings = context.solver.settings();
    if (settings.backend == settings::Backend::cpu)
        return decompose::no_device;
    return settings.device.device >= 0 ? settings.device.device : decompose::device_by_rank;
}

graft_options_values default_options() noexcept {
    const settings::Settings s;
    graft_options_values v{};
    v.struct_size = sizeof v;
    v.method = static_cast<int32_t>(s.method);
    v.backend = GRAFT_BACKEND_AUTO;
    v.precision = static_cast<int32_t>(s.precision);
    v.interaction = static_cast<int32_t>(s.interaction);
    v.dimension = s.dimension;
    v.threads = s.threads;
    v.tree_type = static_cast<int32_t>(s.tree_type);
    v.mac_type = static_cast<int32_t>(s.mac);
    v.order = s.order;
    v.walk = static_cast<int32_t>(s.walk);
    v.softening_kind = static_cast<int32_t>(s.softening);
    v.mac_history = s.mac_history ? 1 : 0;
    v.local = static_cast<int32_t>(s.local);
    v.mac_theta = s.theta;
    v.mac_accuracy = s.accuracy;
    v.softening_length = s.softening_length;
    v.constant = s.constant;
    set_default_device_options(v);
    set_default_rank_options(v);
    return v;
}

int32_t context_create(const graft_options_values& options, const graft_allocator* allocator,
                       graft_context** context, const OptionTexts& texts) noexcept {
    return guard([&] {
        if (context == nullptr)
            fail(Status::argument, "context is NULL; expected where to put the new context");
        settings::Settings settings = read_options(options);
        take_box(options, settings);
        if (settings.softening == settings::Softening::none && settings.softening_length > 0)
            fail(Status::argument,
                 "softening.length is %g but softening.kind is none, which would ignore it; expected kind "
                 "plummer or spline, or length 0",
                 settings.softening_length);
        if (settings.backend == settings::Backend::cuda)
            backend::require_cuda();
        backend::require_threads(settings.threads);
        *context = new graft_context(options, texts, read_allocator(allocator));
        take_box(options, (*context)->solver.settings());
    });
}

int32_t context_destroy(graft_context** context) noexcept {
    return guard([&] {
        if (context == nullptr || *context == nullptr)
            return;
        require_alive(*context);
        if ((*context)->in_use.test_and_set(std::memory_order_acquire))
            fail(Status::busy,
                 "this context is in use by another thread; destroy it after that call has returned");
        finish_flight(**context);
        delete *context;
        *context = nullptr;
    });
}

int32_t context_set_log(graft_context* context, graft_log_function function, void* user,
                        int32_t level) noexcept {
    return guard([&] {
        const Use use(context);
        if (level < GRAFT_LOG_ERROR || level > GRAFT_LOG_DEBUG)
            fail(Status::argument, "log level is %d; expected 0 (errors) to 3 (debug)", level);
        const core::Log& log = context->solver.log() = {function, user, static_cast<core::LogLevel>(level)};
        const settings::AccuracyDoubt doubt = settings::accuracy_doubt(context->solver.settings());
        if (!doubt.warning.empty())
            log.write(core::LogLevel::warning, doubt.warning);
        if (!doubt.caution.empty())
            log.write(core::LogLevel::info, doubt.caution);
    });
}

int32_t context_set_box(graft_context* context, const graft_box* box) noexcept {
    return guard([&] {
        const Use use(context);
        settings::Settings& settings = context->solver.settings();
        require_flight(*context, Flight::none, "context_set_box");
        if (box == nullptr) {
            settings.has_box = settings.periodic = false;
            return;
        }
        const graft_box b = read_struct(box, "box");
        take_box(b, settings);
    });
}

int32_t context_set_units(graft_context* context, const graft_units* units) noexcept {
    return guard([&] {
        const Use use(context);
        settings::Settings& settings = context->solver.settings();
        require_flight(*context, Flight::none, "context_set_units");
        settings.constant = constant_of(read_struct(units, "units"), settings.interaction);
    });
}

} // namespace graft::capi
