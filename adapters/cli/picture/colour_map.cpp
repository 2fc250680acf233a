// SPDX-License-Identifier: BSD-3-Clause
// The ramp is a cubic through control colours; lightness of the controls is evenly spaced.
#include "picture/colour_map.hpp"

#include <algorithm>
#include <cmath>

namespace graft::cli {

namespace {

constexpr int control_count = 7;
const double controls[control_count][3] = {{6, 6, 16},    {34, 18, 74},   {97, 24, 108},  {176, 46, 90},
                                           {232, 98, 48}, {250, 173, 62}, {254, 248, 222}};

const double tints[6][3] = {{0.30, 0.85, 0.75}, {0.20, 0.14, 0.46}, {0.22, 0.52, 1.0},
                            {1.0, 0.52, 0.14},  {1.0, 0.80, 0.45},  {0.80, 0.72, 0.62}};

double catmull_rom(double a, double b, double c, double d, double t) {
    return b + 0.5 * t * (c - a + t * (2.0 * a - 5.0 * b + 4.0 * c - d + t * (3.0 * (b - c) + d - a)));
}

std::uint8_t to_byte(double value) {
    return static_cast<std::uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)));
}

double linear(std::uint8_t byte) {
    const double value = byte / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

} // namespace

Colour ramp(double value) {
    const double place = std::clamp(value, 0.0, 1.0) * (control_count - 1);
    const int k = std::min(static_cast<int>(place), control_count - 2);
    double rgb[3];
    for (int c = 0; c < 3; ++c) {
        rgb[c] = catmull_rom(controls[std::max(k - 1, 0)][c], controls[k][c], controls[k + 1][c],
                             controls[std::min(k + 2, control_count - 1)][c], place - k);
    }
    return {to_byte(rgb[0]), to_byte(rgb[1]), to_byte(rgb[2])};
}

double lightness(Colour colour) {
    const double y =
        0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) + 0.0722 * linear(colour.blue);
    return y > 0.008856 ? 116.0 * std::cbrt(y) - 16.0 : 903.3 * y;
}

Light tinted_light(int component, double value) {
    const double v = std::clamp(value, 0.0, 1.0);
    const double* tint = tints[std::clamp(component, 0, 5)];
    const double white = std::pow(v, 6.0); // only the densest parts burn out to white
    const auto channel = [&](double t) { return v * (t + (1.0 - t) * white); };
    return {channel(tint[0]), channel(tint[1]), channel(tint[2])};
}

} // namespace graft::cli
