// SPDX-License-Identifier: BSD-3-Clause
// Isotropic equilibrium of spherical components in a common spherical potential, by Eddington's formula.
// Source: Eddington 1916; Binney & Tremaine 2008, equation 4.46b. G = 1. The potential is Plummer-softened
// exactly (the potential of a softened shell has a closed form), so that the model is in equilibrium for the
// forces it will get.
#pragma once

#include <cstddef>
#include <vector>

namespace graft::cli {

/// Ascending radii, equally spaced in the logarithm.
std::vector<double> logarithmic_radii(double inner, double outer, std::size_t count);

/// Hernquist's density cut smoothly: rho ~ 1/(r (r+a)^3) exp(-(r/cut)^2), on a grid of radii, with the given
/// mass.
class CutHernquist {
  public:
    CutHernquist(double mass, double scale, double cut, const std::vector<double>& radii);

    double density(double r) const;
    double density_slope(double r) const; ///< d rho / dr
    /// Mass inside each radius of the grid; the last is the total.
    const std::vector<double>& enclosed_mass() const noexcept { return enclosed_; }
    /// The radius that holds the given fraction of the mass (0 to 1).
    double radius_of_fraction(double fraction) const;

  private:
    double mass_, scale_, cut_;
    double normalisation_ = 1.0;
    const std::vector<double>& radii_;
    std::vector<double> enclosed_;
};

/// The softened potential of mass given as shells between the radii of the grid.
class SphericalPotential {
  public:
    /// `enclosed` is the mass inside each radius; what lies inside the first is a point. O(count^2).
    SphericalPotential(const std::vector<double>& radii, const std::vector<double>& enclosed,
                       double softening);

    /// -potential at grid radius k, and the inward pull d potential / dr there; both positive.
    double depth_at(std::size_t k) const { return depth_[k]; }
    double pull_at(std::size_t k) const { return pull_[k]; }
    /// The same between grid radii (interpolated), and beyond the ends (extrapolated).
    double depth(double r) const;
    double pull(double r) const;
    const std::vector<double>& radii() const noexcept { return radii_; }

  private:
    std::vector<double> radii_, depth_, pull_;
};

/// The distribution function f(E) of one component in the common potential, and speeds drawn from it.
class EddingtonModel {
  public:
    /// Negative values of f (no isotropic equilibrium) are set to 0; negative_share() says how much that
    /// matters. O(count^2).
    EddingtonModel(const CutHernquist& component, const SphericalPotential& potential);

    /// The speed at radius r below which the given fraction (0 to 1) of the particles there stay. O(100 log
    /// count).
    double speed_of_fraction(double r, double fraction) const;
    /// f at binding energy E (0 outside the table).
    double distribution(double energy) const;
    /// Sum of |negative f| over sum of |f| on the grid: 0 for a valid model.
    double negative_share() const noexcept { return negative_share_; }

  private:
    const SphericalPotential& potential_;
    std::vector<double> energy_, f_; // ascending energies
    double negative_share_ = 0.0;
};

} // namespace graft::cli
