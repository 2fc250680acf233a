// SPDX-License-Identifier: BSD-3-Clause
// Lays out the panels: centre and width from the particles, densities to colours, then the annotations.
#include "picture/render.hpp"

#include "picture/colour_map.hpp"
#include "picture/projection.hpp"
#include "snapshot/error.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace graft::cli {

namespace {

constexpr Colour background{6, 6, 16};
constexpr Colour ink{226, 224, 216};
constexpr Colour faint_ink{140, 138, 150};

struct View {
    double centre[3];
    double half_width;
};

double quantile(std::vector<double> values, double fraction) {
    if (values.empty()) {
        return 0.0;
    }
    const auto k = static_cast<std::ptrdiff_t>(fraction * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + k, values.end());
    return values[static_cast<std::size_t>(k)];
}

std::string short_number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", value);
    return text;
}

bool has_component(const Snapshot& s, Component kind) {
    return std::find(s.component.begin(), s.component.end(), static_cast<std::int32_t>(kind)) !=
           s.component.end();
}

View choose_view(const Snapshot& s, const PictureOptions& o) {
    View view{{quantile(s.x, 0.5), quantile(s.y, 0.5), quantile(s.z, 0.5)}, 1.0};
    if (s.box_size > 0.0) {
        view = {{0.5 * s.box_size, 0.5 * s.box_size, 0.5 * s.box_size}, 0.5 * s.box_size};
    } else {
        const bool disc_only = has_component(s, Component::Disc);
        std::vector<double> distance;
        for (std::size_t i = 0; i < s.size(); ++i) {
            if (!disc_only || s.component[i] == static_cast<std::int32_t>(Component::Disc)) {
                distance.push_back(
                    std::hypot(s.x[i] - view.centre[0], s.y[i] - view.centre[1], s.z[i] - view.centre[2]));
            }
        }
        const double reach = 1.15 * quantile(distance, disc_only ? 0.97 : 0.90);
        view.half_width = reach > 0.0 ? reach : 1.0;
    }
    if (o.half_width) {
        view.half_width = *o.half_width;
    }
    if (o.scale) {
        view.half_width = o.scale->half_width;
    }
    return view;
}

std::vector<double> choose_weights(const Snapshot& s, Weighting weighting) {
    if (weighting == Weighting::Automatic && !s.mass.empty()) {
        const double middle = quantile(s.mass, 0.5);
        const double largest = *std::max_element(s.mass.begin(), s.mass.end());
        weighting = largest > 1000.0 * middle ? Weighting::Number : Weighting::Mass;
    }
    return weighting == Weighting::Mass ? s.mass : std::vector<double>(s.size(), 1.0);
}

PlanePoints plane_points(const Snapshot& s, const std::vector<double>& weights,
                         const std::vector<double>& vertical, int component) {
    PlanePoints points;
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (component < 0 || s.component[i] == component) {
            points.horizontal.push_back(s.x[i]);
            points.vertical.push_back(vertical[i]);
            points.weight.push_back(weights[i]);
        }
    }
    return points;
}

// One map for all particles, or one for each component, per panel.
struct Panel {
    DensityMap total;
    std::vector<DensityMap> parts;
};

Panel make_panel(const Snapshot& s, const std::vector<double>& weights, bool edge_on, const View& view,
                 const PictureOptions& o) {
    const std::vector<double>& vertical = edge_on ? s.z : s.y;
    const auto map = [&](int component) {
        return project(plane_points(s, weights, vertical, component), view.centre[0],
                       view.centre[edge_on ? 2 : 1], view.half_width, o.panel_pixels);
    };
    Panel panel{map(-1), {}};
    for (int component = 0; o.tint_components && component < component_count; ++component) {
        panel.parts.push_back(map(component));
    }
    return panel;
}

// The brightest 0.1 % of the pixels that have anything may saturate.
PictureScale choose_scale(const Panel& face_on, const Panel& edge_on, const View& view,
                          const PictureOptions& o) {
    std::vector<double> values;
    for (const Panel* panel : {&face_on, &edge_on}) {
        std::copy_if(panel->total.values.begin(), panel->total.values.end(), std::back_inserter(values),
                     [](double v) { return v > 0.0; });
    }
    const double top = quantile(values, 0.999);
    const double high = top > 0.0 ? std::log10(top) : 0.0;
    const double low_quantile = quantile(values, 0.02);
    const double low = low_quantile > 0.0 ? std::log10(low_quantile) : high - o.decades;
    return {view.half_width, std::clamp(low, high - o.decades, high - 0.5), high};
}

double brightness(double density, const PictureScale& scale) {
    if (!(density > 0.0)) {
        return 0.0;
    }
    return std::clamp((std::log10(density) - scale.log_low) / (scale.log_high - scale.log_low), 0.0, 1.0);
}

Colour tinted_pixel(const Panel& panel, std::size_t column, std::size_t row, const PictureScale& scale) {
    Light sum{background.red / 255.0, background.green / 255.0, background.blue / 255.0};
    for (std::size_t part = 0; part < panel.parts.size(); ++part) {
        const Light light =
            tinted_light(static_cast<int>(part), brightness(panel.parts[part].at(column, row), scale));
        sum.red = 1.0 - (1.0 - sum.red) * (1.0 - light.red); // screen: never darker, never beyond white
        sum.green = 1.0 - (1.0 - sum.green) * (1.0 - light.green);
        sum.blue = 1.0 - (1.0 - sum.blue) * (1.0 - light.blue);
    }
    const auto byte = [](double v) {
        return static_cast<std::uint8_t>(std::lround(255.0 * std::min(v, 1.0)));
    };
    return {byte(sum.red), byte(sum.green), byte(sum.blue)};
}

void paint(Image& image, std::size_t left, std::size_t top, const Panel& panel, const PictureScale& scale) {
    for (std::size_t row = 0; row < panel.total.pixels; ++row) {
        for (std::size_t column = 0; column < panel.total.pixels; ++column) {
            image.set(left + column, top + row,
                      panel.parts.empty() ? ramp(brightness(panel.total.at(column, row), scale))
                                          : tinted_pixel(panel, column, row, scale));
        }
    }
}

// 1, 2 or 5 times a power of ten, at most a third of the panel.
double round_length(double panel_width) {
    const double limit = panel_width / 3.0;
    const double power = std::pow(10.0, std::floor(std::log10(limit)));
    const double factor = limit / power;
    return power * (factor >= 5.0 ? 5.0 : factor >= 2.0 ? 2.0 : 1.0);
}

// Sizes in pixels that follow from the panel's.
struct Layout {
    double panel, gap, letter, strip;
    explicit Layout(std::size_t pixels)
        : panel(static_cast<double>(pixels)), gap(std::max(2.0, std::round(panel / 200.0))),
          letter(std::max(8.0, panel / 50.0)), strip(std::round(4.2 * letter)) {}
};

// Text that stays readable on any background: dark and broad first, then the ink.
void label(Image& image, double x, double y, double size, const std::string& text, Colour colour) {
    image.text(x, y, size, text, background, 3.5);
    image.text(x, y, size, text, colour);
}

void draw_scale_bar(Image& image, const Layout& layout, const PictureScale& scale, const Snapshot& s) {
    const double length = round_length(2.0 * scale.half_width);
    const double pixels = length / (2.0 * scale.half_width) * layout.panel;
    const double x = 1.5 * layout.letter;
    const double y = layout.panel - 1.6 * layout.letter;
    const double tick = 0.35 * layout.letter;
    image.stroke(x, y, x + pixels, y, layout.letter / 7.0, ink);
    image.stroke(x, y - tick, x, y + tick, layout.letter / 7.0, ink);
    image.stroke(x + pixels, y - tick, x + pixels, y + tick, layout.letter / 7.0, ink);
    const std::string text = short_number(length) + (s.units.length == "model" ? "" : " " + s.units.length);
    label(image, x, y - 0.8 * layout.letter, layout.letter, text, ink);
}

void draw_colour_bar(Image& image, const Layout& layout, const PictureScale& scale, bool by_number) {
    const double left = layout.panel + layout.gap + 1.5 * layout.letter;
    const double right = 2.0 * layout.panel + layout.gap - 1.5 * layout.letter;
    const double top = layout.panel + 0.8 * layout.letter;
    const double bottom = top + 0.8 * layout.letter;
    for (auto x = static_cast<std::size_t>(std::round(left)); static_cast<double>(x) < right; ++x) {
        const Colour colour = ramp((static_cast<double>(x) - left) / (right - left));
        for (auto y = static_cast<std::size_t>(std::round(top)); static_cast<double>(y) < bottom; ++y) {
            image.set(x, y, colour);
        }
    }
    const double base = bottom + 1.9 * layout.letter;
    for (int tick = static_cast<int>(std::ceil(scale.log_low)); tick <= scale.log_high; ++tick) {
        const double x = left + (tick - scale.log_low) / (scale.log_high - scale.log_low) * (right - left);
        image.stroke(x, bottom, x, bottom + 0.4 * layout.letter, 1.2, ink);
        const double end = image.text(x - 0.8 * layout.letter, base, 0.8 * layout.letter, "10", ink);
        image.text(end, base - 0.4 * layout.letter, 0.55 * layout.letter, short_number(tick), ink);
    }
    const std::string what = by_number ? "bodies per area" : "mass per area";
    image.text(left - layout.gap - 3.0 * layout.letter - text_width(0.9 * layout.letter, what), bottom,
               0.9 * layout.letter, what, faint_ink);
}

void draw_texts(Image& image, const Layout& layout, const Snapshot& s, const PictureOptions& o) {
    const double base = 2.4 * layout.letter;
    const double right_panel = layout.panel + layout.gap;
    label(image, 1.5 * layout.letter, base, 1.2 * layout.letter, o.title, ink);
    const std::string face = "face-on";
    label(image, layout.panel - 1.2 * layout.letter - text_width(layout.letter, face), base, layout.letter,
          face, faint_ink);
    const std::string edge = "edge-on";
    label(image, right_panel + layout.panel - 1.2 * layout.letter - text_width(layout.letter, edge), base,
          layout.letter, edge, faint_ink);
    std::string facts = "n = " + std::to_string(s.size()) + "   t = " + short_number(s.time);
    facts += s.units.time == "model" ? "" : " " + s.units.time;
    label(image, 1.5 * layout.letter, layout.panel + 2.0 * layout.letter, layout.letter, facts, ink);
}

} // namespace

Picture render(const Snapshot& s, const PictureOptions& o) {
    if (o.panel_pixels < 100 || o.panel_pixels > 8000) {
        throw Error({"picture size is out of range", "picture", "100 to 8000 pixels a panel",
                     std::to_string(o.panel_pixels), ""});
    }
    const View view = choose_view(s, o);
    if (!(view.half_width > 0.0) || !std::isfinite(view.half_width)) {
        throw Error({"picture width is not a length", "picture", "a positive number",
                     short_number(view.half_width), ""});
    }
    const std::vector<double> weights = choose_weights(s, o.weighting);
    const bool by_number = weights != s.mass;
    const Panel face_on = make_panel(s, weights, false, view, o);
    const Panel edge_on = make_panel(s, weights, true, view, o);
    const PictureScale scale = o.scale ? *o.scale : choose_scale(face_on, edge_on, view, o);
    const Layout layout(o.panel_pixels);
    Image image(2 * o.panel_pixels + static_cast<std::size_t>(layout.gap),
                o.panel_pixels + static_cast<std::size_t>(layout.strip), background);
    paint(image, 0, 0, face_on, scale);
    paint(image, o.panel_pixels + static_cast<std::size_t>(layout.gap), 0, edge_on, scale);
    draw_scale_bar(image, layout, scale, s);
    if (!o.tint_components) {
        draw_colour_bar(image, layout, scale, by_number);
    }
    draw_texts(image, layout, s, o);
    return {std::move(image), scale};
}

} // namespace graft::cli
