// SPDX-License-Identifier: BSD-3-Clause
// Which bin of an interval a point falls into. Monotone in the point's place whatever the rounding, and the
// same on all ranks: membership in a bin, not a border computed from it, decides on which side a point is.
#pragma once

#include "decompose/item.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace graft::decompose {

struct Binning {
    enum class Scale { linear, image, id };

    Scale scale = Scale::linear;
    int axis = 0, bins = 1;
    double lower = 0, upper = 0, bins_per_length = 0; // linear
    uint64_t low = 0, high = 0;                       // image, id
    int shift = 0;

    /// Even in the coordinate, or in its image where doubles are too coarse for that.
    static Binning between(double lower, double upper, int axis, int bins) {
        const double range = upper - lower;
        const double size = std::max(std::fabs(lower), std::fabs(upper));
        if (!std::isfinite(range) || !(range > std::max(size * 0x1p-30, 1e-290)))
            return whole(Scale::image, ordered_image(lower), ordered_image(upper), axis, bins);
        Binning binning;
        binning.axis = axis;
        binning.bins = bins;
        binning.lower = lower;
        binning.upper = upper;
        binning.bins_per_length = bins / range;
        return binning;
    }
    /// Even in integers low <= high; bins that are empty are not made.
    static Binning whole(Scale scale, uint64_t low, uint64_t high, int axis, int bins) {
        Binning binning;
        binning.scale = scale;
        binning.axis = axis;
        binning.bins = static_cast<int>(std::bit_floor(static_cast<unsigned>(bins)));
        binning.low = low;
        binning.high = std::max(low, high);
        const int bits = static_cast<int>(std::bit_width(binning.high - low));
        binning.shift = std::max(0, bits - std::countr_zero(static_cast<unsigned>(binning.bins)));
        return binning;
    }
    /// The same for one bin of this one.
    Binning inside(int bin, int bins_wanted) const {
        if (scale == Scale::linear)
            return between(std::max(lower, lower + bin / bins_per_length),
                           std::min(upper, lower + (bin + 1) / bins_per_length), axis, bins_wanted);
        const uint64_t from = low + (static_cast<uint64_t>(bin) << shift);
        const uint64_t to = std::min(high, from + ((uint64_t{1} << shift) - 1));
        return whole(scale, from, to, axis, bins_wanted);
    }

    template <typename AnyItem>
    int operator()(const AnyItem& item) const {
        if (scale == Scale::id)
            return whole_bin(ordered_id(item.id));
        if constexpr (requires { item.x[axis]; })
            if (scale == Scale::linear)
                return linear_bin(item.x[axis]);
        return whole_bin(item.image(axis));
    }
    /// The lower border of a bin > 0: places left of it are in the bins below.
    Border border(int bin) const {
        if (scale != Scale::linear)
            return {low + (static_cast<uint64_t>(bin) << shift), lowest_id};
        uint64_t left = ordered_image(lower), right = ordered_image(upper);
        while (left < right) { // the smallest image in its bin or above
            const uint64_t middle = left + (right - left) / 2;
            if (linear_bin(from_ordered_image(middle)) < bin)
                left = middle + 1;
            else
                right = middle;
        }
        return {left, lowest_id};
    }

  private:
    int linear_bin(double x) const {
        const double position = (x - lower) * bins_per_length;
        return position > 0 ? (position < bins ? static_cast<int>(position) : bins - 1) : 0;
    }
    int whole_bin(uint64_t image) const {
        return image <= low ? 0 : static_cast<int>(std::min<uint64_t>((image - low) >> shift, bins - 1));
    }
};

} // namespace graft::decompose
