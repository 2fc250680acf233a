// SPDX-License-Identifier: BSD-3-Clause
// Two passes: count points on a coarse grid for the crowding, then splat with the kernel (1 - u^2)^2.
#include "picture/projection.hpp"

#include <algorithm>
#include <cmath>

namespace graft::cli {

namespace {

constexpr double coarse_pixels = 8.0;   // pixels in a coarse cell
constexpr double points_in_disc = 48.0; // wanted under one spread disc
constexpr double smallest_radius = 1.3; // pixels: anti-aliased dots

// Counts of points in coarse cells, smoothed over 3 x 3.
class Crowding {
  public:
    Crowding(const PlanePoints& points, const std::vector<double>& column, const std::vector<double>& row,
             std::size_t pixels)
        : side_(static_cast<std::size_t>(std::ceil(static_cast<double>(pixels) / coarse_pixels)) + 2),
          counts_(side_ * side_, 0.0) {
        for (std::size_t i = 0; i < points.weight.size(); ++i) {
            if (inside(column[i]) && inside(row[i])) {
                counts_[cell(column[i], row[i])] += 1.0;
            }
        }
    }

    // Points per pixel around a place.
    double density(double column, double row) const {
        const std::size_t at = cell(column, row);
        const long x = static_cast<long>(at % side_);
        const long y = static_cast<long>(at / side_);
        double sum = 0.0;
        double weight = 0.0;
        for (long dy = -1; dy <= 1; ++dy) {
            for (long dx = -1; dx <= 1; ++dx) {
                const long nx = x + dx;
                const long ny = y + dy;
                if (nx >= 0 && ny >= 0 && nx < static_cast<long>(side_) && ny < static_cast<long>(side_)) {
                    const double w =
                        (2.0 - static_cast<double>(dx * dx)) * (2.0 - static_cast<double>(dy * dy));
                    sum += w * counts_[static_cast<std::size_t>(ny) * side_ + static_cast<std::size_t>(nx)];
                    weight += w;
                }
            }
        }
        return sum / (weight * coarse_pixels * coarse_pixels);
    }

  private:
    // Whether a coordinate falls on the coarse grid, which is one cell wider than the picture on every side.
    bool inside(double pixel) const {
        const double place = pixel / coarse_pixels + 1.0;
        return place >= 0.0 && place < static_cast<double>(side_);
    }

    std::size_t cell(double column, double row) const {
        const auto place = [this](double value) {
            return static_cast<std::size_t>(
                std::clamp(value / coarse_pixels + 1.0, 0.0, static_cast<double>(side_ - 1)));
        };
        return place(row) * side_ + place(column);
    }

    std::size_t side_;
    std::vector<double> counts_;
};

double kernel(double u2) {
    return u2 < 1.0 ? (1.0 - u2) * (1.0 - u2) : 0.0;
}

// Calls visit(x, y, share) for the pixels under a disc; whole-disc shares are normalised to sum to 1.
template <class Visit>
void over_disc(double column, double row, double radius, const Visit& visit) {
    const double inverse2 = 1.0 / (radius * radius);
    for (long y = static_cast<long>(std::floor(row - radius)); y <= static_cast<long>(row + radius); ++y) {
        const double dy = static_cast<double>(y) + 0.5 - row;
        for (long x = static_cast<long>(std::floor(column - radius)); x <= static_cast<long>(column + radius);
             ++x) {
            const double dx = static_cast<double>(x) + 0.5 - column;
            visit(x, y, kernel((dx * dx + dy * dy) * inverse2));
        }
    }
}

void splat(DensityMap& map, double column, double row, double radius, double weight) {
    double sum = 0.0;
    over_disc(column, row, radius, [&sum](long, long, double share) { sum += share; });
    if (sum <= 0.0) {
        return;
    }
    const long side = static_cast<long>(map.pixels);
    over_disc(column, row, radius, [&](long x, long y, double share) {
        if (x >= 0 && y >= 0 && x < side && y < side) {
            map.values[static_cast<std::size_t>(y) * map.pixels + static_cast<std::size_t>(x)] +=
                weight * share / sum;
        }
    });
}

} // namespace

DensityMap project(const PlanePoints& points, double centre_h, double centre_v, double half_width,
                   std::size_t pixels) {
    DensityMap map{pixels, std::vector<double>(pixels * pixels, 0.0)};
    const double scale = static_cast<double>(pixels) / (2.0 * half_width); // pixels per length
    const std::size_t n = points.weight.size();
    std::vector<double> column(n);
    std::vector<double> row(n);
    for (std::size_t i = 0; i < n; ++i) {
        column[i] = (points.horizontal[i] - centre_h + half_width) * scale;
        row[i] = (centre_v - points.vertical[i] + half_width) * scale;
    }
    const Crowding crowding(points, column, row, pixels);
    const double largest_radius = std::max(smallest_radius, static_cast<double>(pixels) / 36.0);
    const double edge = static_cast<double>(pixels) + largest_radius;
    for (std::size_t i = 0; i < n; ++i) {
        if (column[i] < -largest_radius || row[i] < -largest_radius || column[i] > edge || row[i] > edge) {
            continue;
        }
        const double wanted =
            std::sqrt(points_in_disc / (3.14159265358979 * crowding.density(column[i], row[i])));
        splat(map, column[i], row[i], std::clamp(wanted, smallest_radius, largest_radius),
              points.weight[i] * scale * scale);
    }
    return map;
}

} // namespace graft::cli
