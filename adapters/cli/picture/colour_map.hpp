// SPDX-License-Identifier: BSD-3-Clause
// Colours for densities: a ramp of our own from near black over violet and orange to warm white. Its
// lightness rises steadily, so that it also reads in grey and for colour-blind eyes.
#pragma once

#include "picture/image.hpp"

namespace graft::cli {

/// The ramp at 0 (empty) to 1 (densest); values outside are held at the ends.
Colour ramp(double value);

/// CIE lightness L* of a colour, 0 to 100.
double lightness(Colour colour);

/// A component's light: `value` 0 to 1 from black over the tint to near white, as components 0 to 1 to be
/// added up.
struct Light {
    double red = 0.0, green = 0.0, blue = 0.0;
};
Light tinted_light(int component, double value);

} // namespace graft::cli
