// See root_cube.hpp.
#include "pipeline/root_cube.hpp"

#include "core/error.hpp"
#include "geometry/box.hpp"

#include <algorithm>

namespace graft::pipeline {

using core::fail;
using core::Status;

namespace {

constexpr double smallest_edge = 1e-290; // as in tree/detail.hpp
constexpr double largest_edge = 1e150;

void check_inside(const KeyRange& range, int dimension, const Problem& own) {
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

} // namespace

KeyRange find_root(comm::Communicator& comm, const Settings& settings, const Problem& own) {
    geometry::Box box;
    for (int64_t i = 0; i < own.n; ++i)
        box.include(own.x[i], own.y[i], own.z[i]);
    double corners[6];
    for (int a = 0; a < 3; ++a)
        corners[a] = -box.lower[a], corners[3 + a] = box.upper[a];
    return find_root(comm, settings, corners,
                     [&](const KeyRange& range) { check_inside(range, settings.dimension, own); });
}

KeyRange find_root(comm::Communicator& comm, const Settings& settings, double (&corners)[6],
                   const std::function<void(const KeyRange&)>& check) {
    KeyRange range;
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
        if (!(range.root_edge <= largest_edge))
            fail(Status::value,
                 "positions span %g, so their squared distances overflow double precision; expected at most "
                 "1e150. "
                 "Choose a larger unit of length",
                 range.root_edge);
        range.root_edge = std::max(range.root_edge, smallest_edge);
    });
    return range;
}

} // namespace graft::pipeline
