// SPDX-License-Identifier: BSD-3-Clause
// Orbital elements to a barycentric n-body system.
#include "ic/solar_system.hpp"

#include "ic/kepler.hpp"
#include "snapshot/error.hpp"
#include "snapshot/metadata.hpp"

#include <cmath>
#include <map>
#include <numbers>

namespace graft::cli {

namespace {

constexpr double degree = std::numbers::pi / 180.0;
constexpr std::size_t sun = 0;

double common_epoch(const std::vector<OrbitRow>& rows) {
    std::map<double, std::size_t> counts;
    for (const OrbitRow& row : rows) {
        ++counts[row.epoch_jd];
    }
    auto best = counts.begin();
    for (auto at = counts.begin(); at != counts.end(); ++at) {
        if (at->second > best->second) {
            best = at;
        }
    }
    return best == counts.end() ? 2451545.0 : best->first;
}

// Places bodies one by one; a body is placed after the one it orbits. Row k is particle k + 1; particle 0 is
// the Sun.
class System {
  public:
    System(const std::vector<OrbitRow>& rows, const OrbitOptions& options)
        : rows_(rows), options_(options), epoch_(options.epoch_jd.value_or(common_epoch(rows))),
          mass_unit_kg_(options.mass_unit == MassUnit::Sun ? sun_mass_kg : 1.0),
          // From G M_sun, which is known to 10 digits, not from G, which is known to 5.
          g_(sun_gm_si / sun_mass_kg * mass_unit_kg_ * day_s * day_s /
             (astronomical_unit_m * astronomical_unit_m * astronomical_unit_m)),
          placed_(rows.size() + 1, Progress::Waiting) {
        name_bodies();
        add_bodies();
    }

    Snapshot build() {
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            place(k + 1);
        }
        move_to_barycentre(s_, 0, s_.size());
        describe();
        return std::move(s_);
    }

  private:
    enum class Progress { Waiting, Underway, Done };

    void name_bodies() {
        particle_of_["Sun"] = sun;
        for (std::size_t k = 0; k < rows_.size(); ++k) {
            if (!particle_of_.emplace(rows_[k].name, k + 1).second) {
                throw Error({"two bodies have the name '" + rows_[k].name + "'", "table of orbital elements",
                             "different names (the Sun is added by itself)", "", "rename or remove one"});
            }
        }
        const auto pluto = particle_of_.find("Pluto");
        const auto charon = particle_of_.find("Charon");
        if (pluto != particle_of_.end() && charon != particle_of_.end() &&
            rows_[charon->second - 1].central_body == "Pluto") {
            pluto_ = pluto->second;
            charon_ = charon->second;
        }
    }

    void add_bodies() {
        s_.names.resize(0);
        s_.append(Component::Star, sun_mass_kg / mass_unit_kg_);
        for (const OrbitRow& row : rows_) {
            s_.append(Component::Star, mass_of_row_kg(row) / mass_unit_kg_);
        }
        s_.names.push_back("Sun");
        for (const OrbitRow& row : rows_) {
            s_.names.push_back(row.name);
        }
        placed_[sun] = Progress::Done;
    }

    std::size_t centre_of(const OrbitRow& row) const {
        const auto found = particle_of_.find(row.central_body);
        if (found == particle_of_.end()) {
            throw Error({"unknown central body '" + row.central_body + "' of '" + row.name + "'",
                         "table of orbital elements", "Sun, or the name of a body in the table", "",
                         "add that body or correct the name"});
        }
        return found->second;
    }

    void place(std::size_t particle) {
        if (placed_[particle] == Progress::Done) {
            return;
        }
        const OrbitRow& row = rows_[particle - 1];
        if (placed_[particle] == Progress::Underway) {
            throw Error({"bodies orbit each other in a circle of names", "table of orbital elements",
                         "a chain that ends at the Sun", "'" + row.name + "'", ""});
        }
        placed_[particle] = Progress::Underway;
        const std::size_t centre = centre_of(row);
        place(centre);
        if (charon_ != 0 && centre == pluto_ && particle != charon_) {
            place(charon_);
            place_around(particle, barycentre_of_pair(), 1.0);
        } else {
            const double total = s_.mass[centre] + s_.mass[particle];
            const bool scaled = particle == charon_ && options_.charon_about_barycentre;
            place_around(particle, barycentre(s_, centre, centre + 1),
                         scaled ? total / s_.mass[centre] : 1.0);
        }
        placed_[particle] = Progress::Done;
    }

    // An orbit about the pair's barycentre, made larger by total/primary, is the orbit relative to the
    // primary.
    void place_around(std::size_t particle, const Barycentre& centre, double scale) {
        const OrbitRow& row = rows_[particle - 1];
        const double mu = g_ * (centre.mass + s_.mass[particle]);
        OrbitalElements o{row.semi_major_au * scale,    row.eccentricity,
                          row.inclination_deg * degree, row.node_deg * degree,
                          row.pericentre_deg * degree,  row.mean_anomaly_deg * degree};
        o.mean_anomaly += mean_motion(o.semi_major, mu) * (epoch_ - row.epoch_jd);
        const OrbitalState state = state_of(o, mu);
        double* const to[6] = {&s_.x[particle],  &s_.y[particle],  &s_.z[particle],
                               &s_.vx[particle], &s_.vy[particle], &s_.vz[particle]};
        for (int k = 0; k < 3; ++k) {
            *to[k] = centre.position[k] + state.position[k];
            *to[k + 3] = centre.velocity[k] + state.velocity[k];
        }
    }

    Barycentre barycentre_of_pair() const {
        Barycentre pair = barycentre(s_, pluto_, pluto_ + 1);
        const Barycentre other = barycentre(s_, charon_, charon_ + 1);
        const double total = pair.mass + other.mass;
        for (int k = 0; k < 3; ++k) {
            pair.position[k] += other.mass / total * (other.position[k] - pair.position[k]);
            pair.velocity[k] += other.mass / total * (other.velocity[k] - pair.velocity[k]);
        }
        pair.mass = total;
        return pair;
    }

    void describe() {
        s_.units = {g_,
                    "AU",
                    options_.mass_unit == MassUnit::Sun ? "solar mass" : "kg",
                    "day",
                    astronomical_unit_m,
                    mass_unit_kg_,
                    day_s};
        s_.suggested_time_step = 1.0 / 24.0;
        s_.attributes = {{"model", "orbits"}, {"epoch_jd", number_text(epoch_)}};
    }

    const std::vector<OrbitRow>& rows_;
    OrbitOptions options_;
    double epoch_, mass_unit_kg_, g_;
    std::map<std::string, std::size_t> particle_of_;
    std::size_t pluto_ = 0, charon_ = 0; // 0: not a pair
    std::vector<Progress> placed_;
    Snapshot s_;
};

} // namespace

Snapshot make_orbits(const std::vector<OrbitRow>& rows, const OrbitOptions& options) {
    return System(rows, options).build();
}

} // namespace graft::cli
