// SPDX-License-Identifier: BSD-3-Clause
// Bookkeeping of particle sets: sizes, validity, order and barycentre.
#include "snapshot/snapshot.hpp"

#include "snapshot/error.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graft::cli {

namespace {

const char* const component_names[component_count] = {"gas", "halo", "disc", "bulge", "star", "boundary"};

template <class T>
void check_length(const std::vector<T>& values, std::size_t n, const char* name, bool optional,
                  const std::string& where) {
    if (values.size() == n || (optional && values.empty())) {
        return;
    }
    throw Error({std::string("array '") + name + "' has the wrong length", where, std::to_string(n),
                 std::to_string(values.size()), ""});
}

void check_finite(const std::vector<double>& values, const char* name, const std::string& where) {
    const auto bad = std::find_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); });
    if (bad != values.end()) {
        throw Error({std::string("not a finite number in '") + name + "' of particle " +
                         std::to_string(bad - values.begin()),
                     where, "finite values", std::to_string(*bad), "remove or repair that particle"});
    }
}

template <class T>
void permute(std::vector<T>& values, const std::vector<std::size_t>& order) {
    if (values.empty()) {
        return;
    }
    std::vector<T> result;
    result.reserve(order.size());
    for (const std::size_t source : order) {
        result.push_back(values[source]);
    }
    values = std::move(result);
}

} // namespace

const char* component_name(std::int32_t component) noexcept {
    return component >= 0 && component < component_count ? component_names[component] : "unknown";
}

void Snapshot::resize(std::size_t n) {
    const std::size_t old = size();
    for (auto* values : {&x, &y, &z, &vx, &vy, &vz, &mass}) {
        values->resize(n, 0.0);
    }
    component.resize(n, static_cast<std::int32_t>(Component::Halo));
    id.resize(n);
    for (std::size_t i = old; i < n; ++i) {
        id[i] = static_cast<std::int64_t>(i);
    }
    if (!softening.empty()) {
        softening.resize(n, 0.0);
    }
    if (!names.empty()) {
        names.resize(n);
    }
}

std::size_t Snapshot::append(Component kind, double particle_mass) {
    const std::size_t index = size();
    resize(index + 1);
    mass[index] = particle_mass;
    component[index] = static_cast<std::int32_t>(kind);
    return index;
}

void Snapshot::validate(const std::string& where) const {
    const std::size_t n = size();
    const struct {
        const std::vector<double>* values;
        const char* name;
        bool optional;
    } fields[] = {
        {&x, "x", false},   {&y, "y", false},   {&z, "z", false},       {&vx, "vx", false},
        {&vy, "vy", false}, {&vz, "vz", false}, {&mass, "mass", false}, {&softening, "softening", true}};
    for (const auto& field : fields) {
        check_length(*field.values, n, field.name, field.optional, where);
        check_finite(*field.values, field.name, where);
    }
    for (const auto& [value, name] : {std::pair{time, "time"}, std::pair{box_size, "box size"}}) {
        if (!std::isfinite(value)) {
            throw Error({std::string("the ") + name + " is not finite", where, "a finite number",
                         std::to_string(value), "make or fetch the file again"});
        }
    }
    check_length(id, n, "id", false, where);
    check_length(component, n, "component", false, where);
    check_length(names, n, "names", true, where);
    for (std::size_t i = 0; i < n; ++i) {
        if (component[i] < 0 || component[i] >= component_count) {
            throw Error({"unknown component of particle " + std::to_string(i), where, "0 to 5",
                         std::to_string(component[i]), ""});
        }
    }
}

Barycentre barycentre(const Snapshot& s, std::size_t begin, std::size_t end) {
    Barycentre result;
    for (std::size_t i = begin; i < end; ++i) {
        const double m = s.mass[i];
        result.mass += m;
        const double values[6] = {s.x[i], s.y[i], s.z[i], s.vx[i], s.vy[i], s.vz[i]};
        for (int k = 0; k < 3; ++k) {
            result.position[k] += m * values[k];
            result.velocity[k] += m * values[k + 3];
        }
    }
    const double scale = result.mass != 0.0 ? 1.0 / result.mass : 0.0;
    for (int k = 0; k < 3; ++k) {
        result.position[k] *= scale;
        result.velocity[k] *= scale;
    }
    return result;
}

void move_to_barycentre(Snapshot& s, std::size_t begin, std::size_t end) {
    const Barycentre centre = barycentre(s, begin, end);
    for (std::size_t i = begin; i < end; ++i) {
        s.x[i] -= centre.position[0];
        s.y[i] -= centre.position[1];
        s.z[i] -= centre.position[2];
        s.vx[i] -= centre.velocity[0];
        s.vy[i] -= centre.velocity[1];
        s.vz[i] -= centre.velocity[2];
    }
}

void reorder(Snapshot& s, const std::vector<std::size_t>& order) {
    for (auto* values : {&s.x, &s.y, &s.z, &s.vx, &s.vy, &s.vz, &s.mass, &s.softening}) {
        permute(*values, order);
    }
    permute(s.id, order);
    permute(s.component, order);
    permute(s.names, order);
}

void sort_by_id(Snapshot& s) {
    if (std::is_sorted(s.id.begin(), s.id.end())) {
        return;
    }
    std::vector<std::size_t> order(s.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&s](std::size_t a, std::size_t b) { return s.id[a] < s.id[b]; });
    reorder(s, order);
}

} // namespace graft::cli
