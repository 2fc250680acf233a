// SPDX-License-Identifier: BSD-3-Clause
// Crystals with published Madelung constants, for tests of periodic boxes.
#pragma once

#include <array>
#include <vector>

namespace graft::test {

struct Crystal {
    const char* name;
    std::vector<std::array<double, 4>> ions;
    double nearest;  // distance of unlike ions, edge 1
    double madelung; // 2 E / (N q^2) = -madelung / nearest
};

// Constants: NaCl and CsCl from Crandall & Buhler 1987, ZnS from Sakamoto 1958; all as in OEIS A085469,
// A181152, A182566.
inline const Crystal crystals[] = {
    {"NaCl",
     {{0, 0, 0, 1},
      {.5, .5, 0, 1},
      {.5, 0, .5, 1},
      {0, .5, .5, 1},
      {.5, 0, 0, -1},
      {0, .5, 0, -1},
      {0, 0, .5, -1},
      {.5, .5, .5, -1}},
     0.5,
     1.7475645946331822},
    {"CsCl", {{0, 0, 0, 1}, {.5, .5, .5, -1}}, 0.8660254037844386, 1.7626747730709883},
    {"ZnS",
     {{0, 0, 0, 1},
      {.5, .5, 0, 1},
      {.5, 0, .5, 1},
      {0, .5, .5, 1},
      {.25, .25, .25, -1},
      {.75, .75, .25, -1},
      {.75, .25, .75, -1},
      {.25, .75, .75, -1}},
     0.4330127018922193,
     1.6380550533887893}};

} // namespace graft::test
