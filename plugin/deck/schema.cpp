// The table of deck keys and the questions asked of it.
#include "deck/schema.hpp"

#include "deck/quantity.hpp"

#include <algorithm>
#include <cmath>

namespace graft::plugin {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Range positive = {0, infinity, true, true};
constexpr Range not_negative = {0, infinity, false, true};
constexpr Range count = {0, 9007199254740992.0};

constexpr Choice methods[] = {
    {"direct", GRAFT_METHOD_DIRECT}, {"tree", GRAFT_METHOD_TREE}, {"reference", GRAFT_METHOD_REFERENCE}};
constexpr Choice backends[] = {{"auto", GRAFT_BACKEND_AUTO}, {"cpu", GRAFT_BACKEND_CPU}};
constexpr Choice precisions[] = {
    {"fp32", GRAFT_PRECISION_FP32}, {"mixed", GRAFT_PRECISION_MIXED}, {"fp64", GRAFT_PRECISION_FP64}};
constexpr Choice interactions[] = {{"gravity", GRAFT_INTERACTION_GRAVITY},
                                   {"coulomb", GRAFT_INTERACTION_COULOMB}};
constexpr Choice trees[] = {{"octree", GRAFT_TREE_OCTREE}, {"orb", GRAFT_TREE_ORB}};
constexpr Choice criteria[] = {{"edge", GRAFT_MAC_EDGE}, {"box", GRAFT_MAC_BOX}, {"error", GRAFT_MAC_ERROR}};
constexpr Choice softenings[] = {
    {"none", GRAFT_SOFTENING_NONE}, {"plummer", GRAFT_SOFTENING_PLUMMER}, {"spline", GRAFT_SOFTENING_SPLINE}};
constexpr Choice walks[] = {{"group", GRAFT_WALK_GROUP}, {"transposed", GRAFT_WALK_TRANSPOSED}};
constexpr Choice log_levels[] = {{"error", GRAFT_LOG_ERROR},
                                 {"warning", GRAFT_LOG_WARNING},
                                 {"info", GRAFT_LOG_INFO},
                                 {"debug", GRAFT_LOG_DEBUG}};

using Values = graft_options_values;

constexpr Key choice(const char* name, const char* meaning, std::span<const Choice> words,
                     int32_t Values::*field) {
    return {.name = name,
            .type = Type::choice,
            .unit = "",
            .meaning = meaning,
            .choices = words,
            .integer = field};
}

constexpr Key whole(const char* name, const char* unit, const char* meaning, Range range,
                    int32_t Values::*field) {
    return {.name = name,
            .type = Type::integer,
            .unit = unit,
            .meaning = meaning,
            .range = range,
            .integer = field};
}

constexpr Key real(const char* name, const char* unit, const char* meaning, Range range,
                   double Values::*field) {
    return {
        .name = name, .type = Type::real, .unit = unit, .meaning = meaning, .range = range, .real = field};
}

/// A key that is kept for the host: the engine does not read it.
constexpr Key kept(const char* name, Type type, const char* unit, const char* meaning, Range range = {},
                   const char* fallback = nullptr) {
    return {
        .name = name, .type = type, .unit = unit, .meaning = meaning, .range = range, .fallback = fallback};
}

constexpr Key log_level = {.name = "log.level",
                           .type = Type::choice,
                           .unit = "",
                           .meaning = "how much the host should pass on of what Graft has to say",
                           .choices = log_levels,
                           .fallback = "warning"};

constexpr Key keys[] = {
    choice("method",
           "how forces are summed: all pairs, a tree code, or slow compensated sums to compare with", methods,
           &Values::method),
    choice("backend", "what computes: auto takes the fastest there is, and says in the log which", backends,
           &Values::backend),
    choice("precision", "fp32; fp64; mixed: fp32 pairs relative to the group of targets, summed in fp64",
           precisions, &Values::precision),
    choice("interaction", "gravity: charges are masses and attract; coulomb: like charges repel",
           interactions, &Values::interaction),
    whole("dimension", "", "space dimensions of the tree and the positions", {2, 3}, &Values::dimension),
    whole("threads", "", "threads to use; 0: as many as the host's OpenMP would", {0, 4096},
          &Values::threads),
    real("constant", "length^3 mass^-1 time^-2, or Coulomb's",
         "the constant in front of the force law; not together with units", positive, &Values::constant),
    whole("order", "", "order of the multipole expansion: 0 monopole ... 4 hexadecapole", {0, 4},
          &Values::order),
    choice("walk", "group: lists per group of targets; transposed: one pass over the source nodes", walks,
           &Values::walk),
    choice("tree.type", "octree along Morton keys, or binary tree by orthogonal bisection", trees,
           &Values::tree_type),
    whole("tree.leaf", "particles", "most particles in a leaf", {1, 4096}, &Values::tree_leaf),
    whole("tree.group", "particles", "most targets that share one list", {1, 1024}, &Values::tree_group),
    choice("mac.type",
           "when a node is far enough: edge (size/distance), box (tight group box), error (estimate)",
           criteria, &Values::mac_type),
    real("mac.theta", "", "opening angle (error: its upper limit, where above 0.85 changes nothing): smaller is more accurate and slower", {0, 2},
         &Values::mac_theta),
    real("mac.accuracy", "", "criterion error: force error per node, relative to the last acceleration",
         {0, 1, true, true}, &Values::mac_accuracy),
    {.name = "mac.history",
     .type = Type::boolean,
     .unit = "",
     .meaning = "criterion error: use the accelerations of the last call (needs the same particles in each)",
     .integer = &Values::mac_history},
    choice("softening.kind", "none; plummer; spline: compact, Newtonian beyond its length", softenings,
           &Values::softening_kind),
    real("softening.length", "length", "Plummer length or support of the spline, for all particles",
         not_negative, &Values::softening_length),
    log_level,
    kept("units.length", Type::length, "", "size of the host's length unit: \"kpc\", \"0.5 kpc\", \"1e3*m\""),
    kept("units.mass", Type::mass, "", "size of the host's mass unit: \"Msun\", \"1e10Msun\""),
    kept("units.time", Type::time, "", "size of the host's time unit: \"Gyr\", \"ps\""),
    kept("units.charge", Type::charge, "", "size of the host's charge unit, for interaction coulomb: \"e\""),
    kept("run.input", Type::input_path, "", "snapshot that `graft run` starts from"),
    kept("run.output", Type::path, "",
         "where `graft run` writes: snapshots, energies, restarts begin with this", {}, "graft"),
    kept("run.time_step", Type::real, "time", "length of a leapfrog step", positive),
    kept("run.steps", Type::integer, "", "steps to take", count),
    kept("run.snapshot_every", Type::integer, "steps", "steps between snapshots; 0: first and last only",
         count, "0"),
    kept("run.energy_every", Type::integer, "steps", "steps between lines of the energy log; 0: never", count,
         "1"),
    kept("run.restart", Type::boolean, "", "continue from the restart file of run.output", {}, "false"),
    kept("run.progress", Type::boolean, "", "show a progress bar (plain lines when not a terminal)", {},
         "true"),
};

std::string_view section_of(std::string_view name) {
    const size_t dot = name.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
        }
    }
    return row[b.size()];
}

void append(std::string& list, std::string_view item) {
    if (!list.empty())
        list += ", ";
    list += item;
}

std::string range_text(const Range& range) {
    if (range.minimum == 0 && range.minimum_open && range.maximum == infinity)
        return " > 0";
    if (range.minimum == 0 && (range.maximum == infinity || range.maximum == count.maximum))
        return " >= 0";
    return std::string(" in ") + (range.minimum_open ? "(" : "[") + number_text(range.minimum) + ", " +
           number_text(range.maximum) + (range.maximum_open ? ")" : "]");
}

} // namespace

std::span<const Key> schema() {
    return keys;
}

const Key* find_key(std::string_view name) {
    for (const Key& key : keys)
        if (key.name == name)
            return &key;
    return nullptr;
}

bool is_host(std::string_view name) {
    return name == "host" || name.starts_with("host.");
}

bool is_section(std::string_view name) {
    return is_host(name) || std::ranges::any_of(keys, [name](const Key& key) {
               return section_of(key.name) == name && !name.empty();
           });
}

std::string allowed_in(std::string_view section) {
    std::string list;
    std::string_view last;
    for (const Key& key : keys) {
        const std::string_view inside = section_of(key.name);
        if (inside == section)
            append(list, key.name);
        else if (section.empty() && inside != last)
            append(list, inside);
        last = inside;
    }
    if (section.empty())
        append(list, "host");
    return list;
}

std::string choice_words(const Key& key) {
    std::string list;
    for (const Choice& one : key.choices)
        append(list, one.word);
    return list;
}

std::string allowed_values(const Key& key) {
    switch (key.type) {
    case Type::choice:
        return "one of: " + choice_words(key);
    case Type::integer:
        return "a whole number" + range_text(key.range);
    case Type::real:
        return "a number" + range_text(key.range);
    case Type::boolean:
        return "true or false";
    case Type::path:
        return "a file name";
    case Type::input_path:
        return "the name of an existing file";
    default:
        return "a unit or number*unit, of: " + unit_names(key.type);
    }
}

std::string nearest(std::string_view name, const std::vector<std::string_view>& candidates) {
    const std::string_view cut = name.substr(0, 64);
    std::string_view best;
    size_t least = std::string_view::npos;
    for (std::string_view candidate : candidates) {
        const size_t distance = edit_distance(cut, candidate);
        if (distance < least) {
            least = distance;
            best = candidate;
        }
    }
    return least <= std::max(cut.size(), best.size()) / 2 ? std::string(best) : std::string();
}

std::string nearest_key(std::string_view name) {
    std::vector<std::string_view> names = {"host"};
    for (const Key& key : keys) {
        names.push_back(key.name);
        if (const std::string_view section = section_of(key.name); !section.empty())
            names.push_back(section);
    }
    std::string found = nearest(name, names);
    if (!found.empty() || name.find('.') != std::string_view::npos)
        return found;
    for (const Key& key : keys) // "theta" alone means mac.theta
        if (const std::string_view full = key.name;
            full.ends_with(name) && full.size() > name.size() && full[full.size() - name.size() - 1] == '.')
            return key.name;
    return found;
}

} // namespace graft::plugin
