// SPDX-License-Identifier: BSD-3-Clause
#include "command/engine.hpp"

#include "command/arrays.hpp"
#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"

#include <graft/graft_loader.h>
#include <study_library.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <dlfcn.h>

namespace graft::cli {

namespace {

void append_text(void* user, const char* text, int64_t bytes) {
    static_cast<std::string*>(user)->append(text, static_cast<std::size_t>(bytes));
}

/// Positions, masses and ids of a snapshot as the library takes them; the arrays live as long as this.
struct Cloud {
    Cloud(const Snapshot& p, const std::vector<int64_t>& ids)
        : position{array_of(p.x.data(), p.size()), array_of(p.y.data(), p.size()),
                   array_of(p.z.data(), p.size())},
          id(array_of(ids.data(), ids.size())) {
        particles.n = static_cast<int64_t>(p.size());
        particles.charge_all = 1;
        particles.id = &id;
        for (int axis = 0; axis < 3; ++axis) {
            particles.position[axis] = &position[axis];
        }
    }
    Cloud(const Cloud&) = delete;
    Cloud& operator=(const Cloud&) = delete;

    graft_array position[3], id;
    graft_particles particles = sized<graft_particles>();
};

/// The function of the study library: of the same build, so in the folder of libgraft or where libgraft is looked for.
graft_study_run_function open_study(const std::string& engine) {
    const std::string name = "libgraft_study.so", beside = engine.substr(0, engine.rfind('/') + 1) + name;
    std::string tried;
    for (const std::string& place : {beside, name}) {
        try {
            require_regular_file(place); // the dynamic linker would wait for a pipe
        } catch (const Error& error) {
            tried += (tried.empty() ? "" : "; ") + std::string(error.what());
            continue;
        }
        void* library = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        void* function = library != nullptr ? dlsym(library, "graft_study_run") : nullptr;
        if (function != nullptr) {
            return reinterpret_cast<graft_study_run_function>(function);
        }
        const char* why = dlerror();
        tried += (tried.empty() ? "" : "; ") + std::string(why != nullptr ? why : place);
    }
    throw Error({"this installation has no study library (" + tried + ")", "what measures", "libgraft_study.so of this build",
                 "none", "build Graft with GRAFT_WITH_STUDY=ON and install it beside libgraft"});
}

} // namespace

Engine::Engine(const std::string& library) {
    std::array<char, 4096> message{};
    const int32_t status = graft_load(library.empty() ? nullptr : library.c_str(), &api_, message.data(),
                                      static_cast<int64_t>(message.size()));
    if (status != GRAFT_OK) {
        throw Error({message.data(), "loading libgraft", "", "",
                     "--library FILE or the environment variable GRAFT_LIBRARY"});
    }
}

void Engine::require(int32_t status, const std::string& where) const {
    if (status != GRAFT_OK) {
        const std::string message = api_->last_error();
        throw Error({message.empty() ? api_->status_text(status) : message, where, "", "", ""});
    }
}

std::string Engine::explain(int32_t form, bool study) const {
    std::string text;
    require(api_->options_explain(form | (study ? GRAFT_EXPLAIN_STUDY : 0), append_text, &text), "");
    return text;
}

std::vector<std::string> Engine::keys() const {
    const std::string mark = "{\"key\": \""; // nowhere else: quotes inside texts are escaped
    const std::string json = explain(GRAFT_EXPLAIN_JSON, true);
    std::vector<std::string> names;
    for (std::size_t at = json.find(mark); at != std::string::npos; at = json.find(mark, at)) {
        at += mark.size();
        names.push_back(json.substr(at, json.find('"', at) - at));
    }
    return names;
}

std::string Engine::run_tool(const std::string& name, const std::string& yaml) const {
    std::string text;
    require(api_->run_tool(name.c_str(), yaml.c_str(), append_text, &text), "");
    return text;
}

std::string Engine::run_study(const std::string& name, const std::string& yaml) const {
    std::string text;
    const int32_t status = open_study(path())(name.c_str(), yaml.c_str(), append_text, &text);
    if (status != GRAFT_OK) {
        throw Error({text.empty() ? api_->status_text(status) : text, "", "", "", ""});
    }
    return text;
}

std::string Engine::path() const {
    Dl_info info{};
    const bool found = dladdr(reinterpret_cast<const void*>(api_->version), &info) != 0;
    return found && info.dli_fname != nullptr ? info.dli_fname : "unknown";
}

Deck::Deck(const Engine& engine) : engine_(engine) {
    engine_.require(engine_.api().options_create(&options_), "options");
}

Deck::~Deck() {
    engine_.api().options_destroy(&options_);
}

void Deck::read_file(const std::string& path) {
    engine_.require(engine_.api().options_read_file(options_, path.c_str()), "");
}

void Deck::set(const std::string& key, const std::string& value) {
    engine_.require(engine_.api().options_set(options_, key.c_str(), value.c_str()), "");
}

std::optional<std::string> Deck::get(const std::string& key) const {
    std::string buffer(256, '\0');
    for (;;) {
        int64_t needed = 0;
        const int32_t status = engine_.api().options_get(options_, key.c_str(), buffer.data(),
                                                         static_cast<int64_t>(buffer.size()), &needed);
        if (status == GRAFT_ERROR_ABSENT) {
            return std::nullopt;
        }
        if (status == GRAFT_ERROR_ARGUMENT && needed > static_cast<int64_t>(buffer.size())) {
            buffer.resize(static_cast<std::size_t>(needed));
            continue;
        }
        engine_.require(status, "");
        return std::string(buffer.c_str());
    }
}

double Deck::number(const std::string& key) const {
    double value = 0;
    engine_.require(engine_.api().options_get_double(options_, key.c_str(), &value), "deck");
    return value;
}

void Field::resize(std::size_t n) {
    ax.resize(n);
    ay.resize(n);
    az.resize(n);
}

Solver::Solver(const Deck& deck) : engine_(deck.engine()) {
    engine_.require(engine_.api().context_create(deck.handle(), nullptr, &context_), "");
}

Solver::Solver(const Deck& deck, const Ranks& ranks) : Solver(deck) {
    rank_ = ranks.rank();
    if (!ranks.alone()) {
        engine_.require(engine_.api().context_set_communicator(context_, ranks.table()), "setting the ranks");
    }
    if (ranks.first()) {
        log_to_stderr();
    }
}

Solver::Solver(const Deck& deck, const graft_comm_v1& rank) : Solver(deck) {
    rank_ = rank.rank;
    engine_.require(engine_.api().context_set_communicator(context_, &rank), "setting the ranks");
}

Solver::~Solver() {
    engine_.api().context_destroy(&context_);
}

void Solver::log_to_stderr() {
    const auto print = [](void*, int32_t, const char* message) {
        std::fprintf(stderr, "graft: %s\n", message);
    };
    engine_.require(engine_.api().context_set_log(context_, print, nullptr, 0), "");
}

void Solver::compute(const Snapshot& particles, Field& field, bool energies, bool own_softening) {
    run(particles, nullptr, field, energies, own_softening);
}

void Solver::compute_targets(const Snapshot& particles, const std::vector<std::int64_t>& targets,
                             Field& field, bool own_softening) {
    const graft_array list = array_of(targets.data(), targets.size());
    run(particles, &list, field, false, own_softening);
}

void Solver::run(const Snapshot& particles, const graft_array* targets, Field& field, bool energies,
                 bool own_softening) {
    const std::size_t n = particles.size();
    field.resize(n);
    const graft_array position[3] = {array_of(particles.x.data(), n), array_of(particles.y.data(), n),
                                     array_of(particles.z.data(), n)};
    const graft_array mass = array_of(particles.mass.data(), n);
    const graft_array softening = array_of(particles.softening.data(), n);
    const graft_array out[3] = {array_of(field.ax.data(), n), array_of(field.ay.data(), n),
                                array_of(field.az.data(), n)};
    std::array<double, 6> virial{};
    const graft_array virial_out = graft_rows_f64(virial.data(), 1, 6, 6);
    const graft_array energy_out = array_of(&field.potential_energy, 1);
    const graft_array potential_out = array_of(field.potential.data(), n);

    graft_particles sources = sized<graft_particles>();
    graft_results results = sized<graft_results>();
    sources.n = static_cast<int64_t>(n);
    for (int axis = 0; axis < 3; ++axis) {
        sources.position[axis] = &position[axis];
        results.acceleration[axis] = &out[axis];
    }
    sources.charge = &mass;
    sources.softening = own_softening ? &softening : nullptr;
    sources.target_index = targets;
    results.virial = energies ? &virial_out : nullptr;
    results.energy = energies ? &energy_out : nullptr;
    results.potential = n > 0 && field.potential.size() == n ? &potential_out : nullptr;
    engine_.require(engine_.api().compute(context_, &sources, &results), "computing forces");
    field.virial = virial[0] + virial[1] + virial[2];
}

std::vector<std::int32_t> Solver::decompose(const Snapshot& particles, const std::vector<std::int64_t>& id) {
    std::vector<std::int32_t> owner(particles.size(), rank_);
    const graft_array owners = array_of(owner.data(), owner.size());
    const Cloud cloud(particles, id);
    graft_decomposition answer = sized<graft_decomposition>();
    answer.owner = &owners;
    engine_.require(engine_.api().decompose(context_, &cloud.particles, &answer), "decomposing");
    return owner;
}

std::vector<std::int32_t> Solver::balance(const Snapshot& particles, const std::vector<std::int64_t>& id) {
    std::vector<std::int32_t> owner(particles.size(), rank_);
    const graft_array owners = array_of(owner.data(), owner.size());
    const Cloud cloud(particles, id);
    graft_balancing answer = sized<graft_balancing>();
    answer.owner = &owners;
    answer.bytes_per_item = 13 * 8;
    engine_.require(engine_.api().balance(context_, &cloud.particles, &answer), "balancing");
    return owner;
}

void Solver::migrate(const std::vector<std::int32_t>& owner, const std::vector<Column>& columns) {
    const graft_array owners = array_of(owner.data(), owner.size());
    int64_t n_after = 0;
    engine_.require(engine_.api().migrate_plan(context_, &owners, &n_after), "moving particles");
    std::vector<graft_array> before, after;
    for (const Column& column : columns) {
        std::visit(
            [&](auto* items) {
                const std::size_t most = std::max(owner.size(), static_cast<std::size_t>(n_after));
                items->resize(most); // moved in place
                before.push_back(array_of(items->data(), owner.size()));
                after.push_back(array_of(items->data(), static_cast<std::size_t>(n_after)));
            },
            column);
    }
    std::vector<const graft_array*> from, to;
    for (std::size_t f = 0; f < before.size(); ++f) {
        from.push_back(&before[f]);
        to.push_back(&after[f]);
    }
    engine_.require(
        engine_.api().migrate(context_, static_cast<int32_t>(from.size()), from.data(), to.data()),
        "moving particles");
    for (const Column& column : columns) {
        std::visit([&](auto* items) { items->resize(static_cast<std::size_t>(n_after)); }, column);
    }
}

std::optional<double> Solver::figure(const std::string& key) const {
    double value = 0;
    const int32_t status = engine_.api().query(context_, key.c_str(), &value);
    if (status == GRAFT_ERROR_ABSENT) {
        return std::nullopt;
    }
    engine_.require(status, "");
    return value;
}

std::string Solver::figure_text(const std::string& key) const {
    std::string text;
    engine_.require(engine_.api().query_text(context_, key.c_str(), append_text, &text), "");
    return text;
}

} // namespace graft::cli
