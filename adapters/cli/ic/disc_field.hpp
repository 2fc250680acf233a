// SPDX-License-Identifier: BSD-3-Clause
// Gravity of an exponential disc of finite height, Plummer-softened: Sigma ~ exp(-R/R_d), rho_z ~
// sech^2(z/z_0). Source: Binney & Tremaine 2008, section 2.6.2 (Hankel transform); a softened point has the
// kernel exp(-k sqrt(z^2 + eps^2)), so softening costs nothing more. G = 1.
#pragma once

#include <cstddef>
#include <vector>

namespace graft::cli {

struct DiscShape {
    double mass = 1.0;
    double scale = 1.0;  ///< R_d
    double height = 0.1; ///< z_0

    double surface_density(double radius) const;
    /// The cylinder radius that holds the given fraction (0 to 1) of the mass.
    double radius_of_fraction(double fraction) const;
};

/// Force table over cylinder radius 0 to `outer` and height; made once, O(10^7) operations.
class DiscField {
  public:
    DiscField(const DiscShape& shape, double softening, double outer);

    /// Inward pull d phi/dR and downward pull d phi/dz at height |z|, both 0 or more near the disc.
    double radial_pull(double radius, double height) const { return interpolate(radial_, radius, height); }
    double vertical_pull(double radius, double height) const {
        return interpolate(vertical_, radius, height);
    }
    /// Heights of the table: z_0 atanh(j / count).
    const std::vector<double>& heights() const noexcept { return heights_; }

  private:
    double interpolate(const std::vector<double>& table, double radius, double height) const;
    void add_wave(double wave_number, double weight, const DiscShape& shape, double softening);

    std::vector<double> radii_, heights_;
    std::vector<double> radial_, vertical_; // [radius][height]
};

} // namespace graft::cli
