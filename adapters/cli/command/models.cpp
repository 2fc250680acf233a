// SPDX-License-Identifier: BSD-3-Clause
#include "command/models.hpp"

#include "command/arguments.hpp"
#include "ic/initial_conditions.hpp"
#include "ic/solar_system.hpp"
#include "snapshot/metadata.hpp"

namespace graft::cli {

namespace {

/// Hands named parameters to option structs, and remembers which names there are.
class Parameters {
  public:
    explicit Parameters(const ModelRequest& request) : request_(request), left_(request.parameters) {}

    Parameters& number(const char* name, double& value) {
        note(name, number_text(value));
        if (const auto text = take(name)) {
            value = parse_number(*text).value_or(0);
            if (!parse_number(*text)) {
                fail(name, "a finite number", *text);
            }
        }
        return *this;
    }
    Parameters& count(const char* name, std::size_t& value) {
        note(name, std::to_string(value));
        if (const auto text = take(name)) {
            const auto whole = parse_integer(*text);
            if (!whole || *whole < 0) {
                fail(name, "a whole number", *text);
            }
            value = static_cast<std::size_t>(*whole);
        }
        return *this;
    }
    Parameters& truth(const char* name, bool& value) {
        note(name, value ? "true" : "false");
        if (const auto text = take(name)) {
            if (*text != "true" && *text != "false") {
                fail(name, "true or false", *text);
            }
            value = *text == "true";
        }
        return *this;
    }
    /// Throws for names that no one asked for.
    void end() const {
        if (!left_.empty()) {
            fail(left_.begin()->first, known_.empty() ? "no parameters" : "one of " + known_,
                 "an unknown name");
        }
    }
    const std::string& known() const { return known_; }

  private:
    void note(const char* name, const std::string& value) {
        known_ += (known_.empty() ? "" : ", ") + std::string(name) + "=" + value;
    }
    std::optional<std::string> take(const char* name) {
        const auto found = left_.find(name);
        if (found == left_.end()) {
            return std::nullopt;
        }
        std::string text = found->second;
        left_.erase(found);
        return text;
    }
    [[noreturn]] void fail(const std::string& name, const std::string& expected,
                           const std::string& found) const {
        throw UsageError({"parameter '" + name + "' of " + request_.kind + " cannot be used", "graft ic",
                          expected, found, "graft ic --help"});
    }

    const ModelRequest& request_;
    std::map<std::string, std::string> left_;
    std::string known_;
};

template <class Options>
Options common(const ModelRequest& request) {
    Options options;
    options.n = request.n;
    options.seed = request.seed;
    return options;
}

// Each binder names the parameters of one option struct: the same list serves making and helping.
void bind(Parameters& p, PlummerOptions& o) {
    p.number("mass", o.mass).number("scale_radius", o.scale_radius).number("mass_fraction", o.mass_fraction);
}
void bind(Parameters& p, HernquistOptions& o) {
    p.number("mass", o.mass).number("scale_radius", o.scale_radius).number("mass_fraction", o.mass_fraction);
}
void bind(Parameters& p, CubeOptions& o) {
    p.number("mass", o.mass).number("edge", o.edge).truth("periodic", o.periodic);
}
void bind(Parameters& p, ColdSphereOptions& o) {
    p.number("mass", o.mass).number("radius", o.radius).number("virial_ratio", o.virial_ratio);
}
void bind(Parameters& p, ClusteredOptions& o) {
    p.number("mass", o.mass).number("edge", o.edge).number("slope", o.slope);
    p.count("clusters", o.clusters).number("cluster_radius", o.cluster_radius);
}
void bind(Parameters& p, GalaxyOptions& o) {
    p.number("disc_mass", o.disc_mass).number("bulge_mass", o.bulge_mass).number("halo_mass", o.halo_mass);
    p.number("disc_scale", o.disc_scale).number("disc_height", o.disc_height);
    p.number("bulge_scale", o.bulge_scale).number("bulge_cut", o.bulge_cut);
    p.number("halo_scale", o.halo_scale).number("halo_cut", o.halo_cut);
    p.number("toomre_q", o.toomre_q).number("softening", o.softening);
}

template <class Options, Snapshot (*make)(const Options&)>
Snapshot from_options(const ModelRequest& request, std::string* parameters) {
    Options options = common<Options>(request);
    Parameters names(request);
    bind(names, options);
    names.end();
    if (parameters != nullptr) {
        *parameters = names.known();
        return {};
    }
    return make(options);
}

std::vector<OrbitRow> rows_of(const ModelRequest& request) {
    return request.table.empty()
               ? read_orbit_table(built_in_orbit_table(), "built-in table of the solar system")
               : read_orbit_table_file(request.table);
}

void bind(Parameters& p, OrbitOptions& o) {
    double epoch_jd = 0;
    bool kilograms = false;
    p.number("epoch_jd", epoch_jd).truth("kilograms", kilograms);
    p.truth("charon_about_barycentre", o.charon_about_barycentre);
    o.epoch_jd = epoch_jd > 0 ? std::optional(epoch_jd) : std::nullopt;
    o.mass_unit = kilograms ? MassUnit::Kilogram : MassUnit::Sun;
}

Snapshot orbits(const ModelRequest& request, std::string* parameters) {
    OrbitOptions options;
    Parameters names(request);
    bind(names, options);
    names.end();
    if (parameters != nullptr) {
        *parameters = names.known();
        return {};
    }
    return make_orbits(rows_of(request), options);
}

Snapshot belt(const ModelRequest& request, std::string* parameters) {
    auto options = common<BeltOptions>(request);
    Parameters names(request);
    names.number("inner_au", options.inner_au).number("outer_au", options.outer_au);
    names.number("brightest_magnitude", options.brightest_magnitude);
    names.number("faintest_magnitude", options.faintest_magnitude);
    bind(names, options.orbits);
    names.end();
    if (parameters != nullptr) {
        *parameters = names.known();
        return {};
    }
    return make_belt(rows_of(request), options);
}

struct Model {
    const char* name;
    const char* about;
    /// Makes the model, or with `parameters` only lists its parameters.
    Snapshot (*make)(const ModelRequest& request, std::string* parameters);
};

constexpr Model models[] = {
    {"plummer", "Plummer sphere in equilibrium, G = 1", from_options<PlummerOptions, make_plummer>},
    {"hernquist", "Hernquist sphere in equilibrium, G = 1", from_options<HernquistOptions, make_hernquist>},
    {"cube", "uniform random points at rest in a cube", from_options<CubeOptions, make_cube>},
    {"clustered", "hierarchical clustering, two-point slope -1.8",
     from_options<ClusteredOptions, make_clustered>},
    {"galaxy", "disc, bulge and halo (1:1:4) in mutual equilibrium",
     from_options<GalaxyOptions, make_galaxy>},
    {"orbits",
     "bodies of a table of orbital elements (--table; without: planets and large moons); AU, day, Msun",
     orbits},
    {"belt", "N asteroids beside the bodies of the table, by published distributions", belt},
    {"cold-sphere", "uniform sphere at rest: a collapse", from_options<ColdSphereOptions, make_cold_sphere>},
};

} // namespace

std::string model_names() {
    std::string names;
    for (const Model& model : models) {
        names += (names.empty() ? "" : ", ") + std::string(model.name);
    }
    return names;
}

std::string model_help() {
    std::string text;
    for (const Model& model : models) {
        std::string parameters;
        ModelRequest request;
        request.kind = model.name;
        model.make(request, &parameters);
        text += "  " + std::string(model.name) + ": " + model.about + "\n";
        if (!parameters.empty()) {
            text += "      " + parameters + "\n";
        }
    }
    return text;
}

Snapshot make_model(const ModelRequest& request) {
    for (const Model& model : models) {
        if (request.kind == model.name) {
            return model.make(request, nullptr);
        }
    }
    throw UsageError({"no initial conditions called '" + request.kind + "'", "graft ic",
                      "one of " + model_names(), "", "graft ic --help"});
}

} // namespace graft::cli
