// SPDX-License-Identifier: BSD-3-Clause
// A snapshot as a picture that a person wants to look at: face-on and edge-on surface density side by side,
// logarithmic, with scale bar, colour bar, title and time.
#pragma once

#include "picture/image.hpp"
#include "snapshot/snapshot.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace graft::cli {

enum class Weighting { Automatic, Mass, Number };

/// What two pictures must share to be compared (before and after): take it from the first result.
struct PictureScale {
    double half_width = 0.0; ///< of each panel, in the snapshot's length
    double log_low = 0.0;    ///< log10 of the surface density shown darkest
    double log_high = 0.0;   ///< and brightest
};

struct PictureOptions {
    std::size_t panel_pixels = 800;
    std::string title;                          ///< top left; empty: none
    bool tint_components = false;               ///< a colour for each component instead of the density ramp
    Weighting weighting = Weighting::Automatic; ///< Automatic: number when single bodies outweigh the rest
    std::optional<double> half_width;           ///< default: what holds the disc, or nine tenths of all
    std::optional<PictureScale> scale;          ///< use another picture's scale
    double decades = 4.0;                       ///< range of densities shown
};

struct Picture {
    Image image;
    PictureScale scale;
};

/// Draws the picture: 2 panels wide. An empty snapshot gives an empty frame. Throws Error for options out of
/// range (panel_pixels 100 to 8000). Cost: about 1 us a particle and 50 ns a pixel.
Picture render(const Snapshot& snapshot, const PictureOptions& options);

} // namespace graft::cli
