// SPDX-License-Identifier: BSD-3-Clause
// Helpers of the command's tests: scratch folders, Kolmogorov-Smirnov distance, direct sums. Shares no code
// with what is tested.
#pragma once

#include "snapshot/snapshot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace graft::cli::test {

/// A folder that lives as long as the object.
class ScratchFolder {
  public:
    ScratchFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "graft-test-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    ~ScratchFolder() { std::filesystem::remove_all(path_); }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::string file(const std::string& name) const { return (path_ / name).string(); }
    std::size_t entries() const {
        return static_cast<std::size_t>(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator{}));
    }

  private:
    std::filesystem::path path_;
};

inline std::string slurp(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string test_data() {
    const char* folder = std::getenv("GRAFT_TEST_DATA");
    return folder == nullptr ? "" : folder;
}

/// sqrt(n) times the largest distance between the sample's and the model's cumulative distribution;
/// above 1.95 happens to a good sample once in a thousand times.
template <class Cumulative>
double kolmogorov(std::vector<double> sample, const Cumulative& cumulative) {
    std::sort(sample.begin(), sample.end());
    const double n = static_cast<double>(sample.size());
    double distance = 0.0;
    for (std::size_t k = 0; k < sample.size(); ++k) {
        const double model = cumulative(sample[k]);
        distance = std::max({distance, std::abs(model - static_cast<double>(k) / n),
                             std::abs(static_cast<double>(k + 1) / n - model)});
    }
    return distance * std::sqrt(n);
}

inline std::vector<double> radii(const Snapshot& s, int component = -1) {
    std::vector<double> result;
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (component < 0 || s.component[i] == component) {
            result.push_back(std::hypot(s.x[i], s.y[i], s.z[i]));
        }
    }
    return result;
}

struct Energies {
    double kinetic = 0.0;
    double potential = 0.0;
    double clausius = 0.0; ///< sum of m x . a
};

/// All pairs, Plummer softening.
inline Energies direct_energies(const Snapshot& s, double softening) {
    Energies e;
    for (std::size_t i = 0; i < s.size(); ++i) {
        e.kinetic += 0.5 * s.mass[i] * (s.vx[i] * s.vx[i] + s.vy[i] * s.vy[i] + s.vz[i] * s.vz[i]);
        for (std::size_t j = 0; j < i; ++j) {
            const double dx = s.x[i] - s.x[j];
            const double dy = s.y[i] - s.y[j];
            const double dz = s.z[i] - s.z[j];
            const double r2 = dx * dx + dy * dy + dz * dz;
            const double inverse = 1.0 / std::sqrt(r2 + softening * softening);
            const double pair = s.units.gravitational_constant * s.mass[i] * s.mass[j] * inverse;
            e.potential -= pair;
            e.clausius -= pair * r2 * inverse * inverse;
        }
    }
    return e;
}

} // namespace graft::cli::test
