// SPDX-License-Identifier: BSD-3-Clause
// See root_cube.hpp.
#include "essential/root_cube.hpp"

#include "core/error.hpp"
#include "geometry/box.hpp"
#include "tree/tree_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace graft::essential {

using core::fail;
using core::Status;

namespace {

constexpr double smallest_edge = 1e-290; // as in tree/build_steps.hpp

void check_inside(const particles::KeyRange& range, int dimension, const particles::Problem& own) {
    for (int64_t i = 0; i < own.n; ++i) {
        const double point[3] = {own.x[i], own.y[i], own.z[i]};
        for (int a = 0; a < dimension; ++a)
            if (!(point[a] >= range.root_lower[a] && point[a] - range.root_lower[a] <= range.root_edge))
                fail(Status::value,
                     "particle %lld at (%g, %g, %g) lies outside the given box: expected %c in [%g, %g]. "
                     "Enlarge the box, "
                     "or leave it away",
                     static_cast<long long>(i), point[0], point[1], point[2], "xyz"[a], range.root_lower[a],
                     range.root_lower[a] + range.root_edge);
    }
}

/// Of the own particles' box.
void find_corners(const particles::Problem& own, double (&corners)[6]) {
    geometry::Box box;
    for (int64_t i = 0; i < own.n; ++i)
        box.include(own.x[i], own.y[i], own.z[i]);
    for (int a = 0; a < 3; ++a) {
        corners[a] = -box.lower[a];
        corners[3 + a] = box.upper[a];
    }
}

/// Where a plane parts the spans (lower, upper), as evenly as one does; NaN: nowhere.
double parting_plane(std::vector<std::pair<double, double>>& spans) {
    std::sort(spans.begin(), spans.end());
    double best = std::numeric_limits<double>::quiet_NaN(), reach = -std::numeric_limits<double>::infinity();
    size_t least = spans.size();
    for (size_t k = 0; k < spans.size(); ++k) {
        const size_t before = k, behind = spans.size() - k;
        const size_t uneven = before > behind ? before - behind : behind - before;
        if (k > 0 && reach <= spans[k].first && uneven < least) {
            least = uneven;
            best = 0.5 * reach + 0.5 * spans[k].first;
        }
        reach = std::max(reach, spans[k].second);
    }
    return best;
}

/// The cube around `corners` of all whose middle planes part the ranks' boxes; false: there is no such plane.
bool part_in_the_middle(const std::vector<double>& ranks, int dimension, double (&corners)[6]) {
    constexpr double rounding = 1 + 1e-12; // all particles stay inside
    double centre[3] = {0, 0, 0}, half = 0;
    bool parted = false;
    for (int a = 0; a < dimension; ++a) {
        std::vector<std::pair<double, double>> spans;
        for (size_t r = 0; r < ranks.size(); r += 6)
            if (-ranks[r + static_cast<size_t>(a)] <= ranks[r + 3 + static_cast<size_t>(a)])
                spans.emplace_back(-ranks[r + static_cast<size_t>(a)], ranks[r + 3 + static_cast<size_t>(a)]);
        const double plane = parting_plane(spans), lower = -corners[a], upper = corners[3 + a];
        parted = parted || !std::isnan(plane);
        centre[a] = std::isnan(plane) ? 0.5 * lower + 0.5 * upper : plane;
        half = std::max({half, centre[a] - lower, upper - centre[a]});
    }
    for (int a = 0; a < dimension && parted; ++a) {
        corners[a] = half * rounding - centre[a];
        corners[3 + a] = centre[a] + half * rounding;
    }
    return parted;
}

/// The given box, or the cube around `corners` of all, which they become.
particles::KeyRange common_cube(comm::Communicator& comm, const settings::Settings& settings, double (&corners)[6],
                     const std::function<void(const particles::KeyRange&)>& check) {
    particles::KeyRange range;
    const bool fixed = settings.has_box && !settings.periodic; // wrapped particles may lie on its rim
    comm.allreduce(corners, 6, comm::Operation::max);
    comm.together([&] {
        range.has_root = true;
        for (int a = 0; a < settings.dimension; ++a) {
            range.root_lower[a] = fixed ? settings.box_lower[a] : -corners[a];
            const double upper = fixed ? settings.box_upper[a] : corners[3 + a];
            range.root_edge = std::max(range.root_edge, upper - range.root_lower[a]);
        }
        if (fixed)
            check(range);
        tree::check_span(range.root_edge);
        range.root_edge = std::max(range.root_edge, smallest_edge);
    });
    return range;
}

} // namespace

particles::KeyRange find_root(comm::Communicator& comm, const settings::Settings& settings, settings::TreeScope scope,
                              const particles::Problem& own) {
    double corners[6];
    find_corners(own, corners);
    return find_root(comm, settings, scope, corners,
                     [&](const particles::KeyRange& range) { check_inside(range, settings.dimension, own); });
}

particles::KeyRange find_root(comm::Communicator& comm, const settings::Settings& settings, settings::TreeScope scope,
                              double (&corners)[6], const std::function<void(const particles::KeyRange&)>& check) {
    double own[6];
    std::copy_n(corners, 6, own);
    particles::KeyRange range = common_cube(comm, settings, corners, check);
    const bool a_usual_size = range.root_edge > 1e10 * smallest_edge && range.root_edge < 0.25 * tree::largest_edge;
    if (scope == settings::TreeScope::global || settings.has_box || settings.periodic || comm.alone() || !a_usual_size)
        return range;
    std::vector<double> ranks;
    comm.together([&] { ranks.resize(6 * static_cast<size_t>(comm.size())); });
    comm.allgather(own, 6, ranks.data());
    comm.together([&] {
        if (!part_in_the_middle(ranks, settings.dimension, corners))
            return;
        range.root_edge = 0;
        for (int a = 0; a < settings.dimension; ++a) {
            range.root_lower[a] = -corners[a];
            range.root_edge = std::max(range.root_edge, corners[3 + a] - range.root_lower[a]);
        }
    });
    return range;
}

} // namespace graft::essential
