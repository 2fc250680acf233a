// SPDX-License-Identifier: BSD-3-Clause
// graft_context: life, settings, and the two entries that compute forces.
#include "context.hpp"

#include "backend/gpu_library.hpp"
#include "backend/thread_limits.hpp"
#include "entries.hpp"
#include "settings/accuracy_reach.hpp"
#include "text_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

using graft::core::fail;
using graft::core::Status;

graft_context::graft_context(const graft::capi::Options& given, const graft::core::Allocator& allocator)
    : memory(allocator), options(given), solver(graft::capi::engine_settings(given), memory),
      options_fingerprint(graft::capi::shared_fingerprint(given)),
      ranks(std::make_unique<graft::comm::Communicator>()),
      domains(std::make_unique<graft::capi::DomainState>(memory)),
      near_plans(graft::capi::near_defaults(given)) {
    const graft::capi::AskedKeys& asked = options.asked;
    solver.set_tree_sizes(asked.sizes, asked.leaf != 0, asked.group != 0,
                          near_plans.defaults().machine.get());
}

namespace graft::capi {

void ContextError::note(const char* text) noexcept {
    const std::lock_guard lock(mutex_);
    std::snprintf(text_, sizeof text_, "%s", text);
}

std::string ContextError::text() const {
    const std::lock_guard lock(mutex_);
    return text_;
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
    const settings::Settings& settings = context.solver.settings();
    return {device_arrays, settings.backend, settings.device.device, {}, -1};
}

void require_threads(const graft_context& context) {
    backend::require_threads(context.options.engine.threads);
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

int32_t context_create(const Options& options, const graft_allocator* allocator,
                       graft_context** context) noexcept {
    return guard([&] {
        if (context == nullptr)
            fail(Status::argument, "context is NULL; expected where to put the new context");
        check_options(options);
        if (options.asked.backend == settings::Backend::cuda)
            backend::require_cuda();
        backend::require_threads(options.engine.threads);
        *context = new graft_context(options, read_allocator(allocator));
    });
}

/// The host's function hears what log.level says, unless the host has said itself.
static void follow_log_key(graft_context& context) {
    if (context.log_level_by_key)
        context.solver.log().level = context.options.asked.log_level;
}

/// Where mac.accuracy is known not to hold, the log says so before anything is computed: what has not been told.
static void tell_accuracy(const core::Log& log, const std::vector<std::string>& doubts,
                          const std::vector<std::string>& told = {}) {
    for (const std::string& doubt : doubts)
        if (std::find(told.begin(), told.end(), doubt) == told.end())
            log.write(core::LogLevel::warning, doubt);
}

int32_t context_change(graft_context* context, const std::function<void(Options&)>& change) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_flight(*context, Flight::none, "context_set");
        Options changed = context->options;
        change(changed);
        check_options(changed);
        backend::require_threads(changed.engine.threads);
        NearDefaults near = near_defaults(changed);
        near.machine = context->near_plans.defaults().machine;
        settings::Settings next = context->solver.settings();
        take_live_keys(changed, next);
        const std::vector<std::string> told = settings::accuracy_doubts(context->solver.settings()),
                                       doubts = settings::accuracy_doubts(next);
        if (changed.asked.deadline_s != context->options.asked.deadline_s)
            context->ranks->set_deadline(changed.asked.deadline_s);
        context->solver.change_settings() = next;
        context->near_plans.set_defaults(near);
        context->options_fingerprint = shared_fingerprint(changed);
        context->options = std::move(changed);
        follow_log_key(*context);
        tell_accuracy(context->solver.log(), doubts, told);
    });
}

int32_t context_read(graft_context* context, const std::function<void(const Options&)>& read) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        read(context->options);
    });
}

int32_t context_error(graft_context* context, char* buffer, int64_t capacity, int64_t* needed) noexcept {
    return guard([&] {
        require_alive(context);
        put_text(context->error.text(), "the text of the context's last failure", buffer, capacity, needed);
    });
}

int32_t context_destroy(graft_context** context) noexcept {
    return guard_on(context != nullptr ? *context : nullptr, [&] {
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
    return guard_on(context, [&] {
        const Use use(context);
        if (level < 0 || level > GRAFT_LOG_DEBUG)
            fail(Status::argument,
                 "log level is %d; expected GRAFT_LOG_ERROR (1) to GRAFT_LOG_DEBUG (4), or 0 for deck key "
                 "log.level",
                 level);
        static_assert(static_cast<int32_t>(core::LogLevel::error) == GRAFT_LOG_ERROR &&
                      static_cast<int32_t>(core::LogLevel::debug) == GRAFT_LOG_DEBUG);
        context->log_level_by_key = level == 0;
        context->solver.log() = {function, user, static_cast<core::LogLevel>(level)};
        follow_log_key(*context);
        tell_accuracy(context->solver.log(), settings::accuracy_doubts(context->solver.settings()));
    });
}

int32_t context_set_device_allocator(graft_context* context,
                                     const graft_device_allocator* allocator) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_flight(*context, Flight::none, "context_set_device_allocator");
        context->solver.set_device_allocator(read_device_allocator(allocator));
    });
}

int32_t context_release_memory(graft_context* context) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_flight(*context, Flight::none, "context_release_memory");
        context->solver.release();
        context->domains->release_memory();
    });
}

int32_t context_set_box(graft_context* context, const graft_box* box) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        settings::Settings& settings = context->solver.change_settings();
        require_flight(*context, Flight::none, "context_set_box");
        const std::vector<std::string> told = settings::accuracy_doubts(settings);
        if (box == nullptr)
            settings.has_box = settings.periodic = false;
        else
            take_box(read_struct(box, "box"), settings);
        note_box(settings, context->options.asked);
        tell_accuracy(context->solver.log(), settings::accuracy_doubts(settings), told);
    });
}

int32_t context_set_units(graft_context* context, const graft_units* units) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        settings::Settings& settings = context->solver.change_settings();
        require_flight(*context, Flight::none, "context_set_units");
        Options changed = context->options;
        changed.engine.constant = constant_of(read_struct(units, "units"), settings.interaction);
        std::erase_if(changed.texts, [](const auto& one) { return one.first.starts_with("units."); });
        context->options = std::move(changed);
        context->options_fingerprint = shared_fingerprint(context->options);
        settings.constant = context->options.engine.constant;
    });
}

} // namespace graft::capi
