// SPDX-License-Identifier: BSD-3-Clause
// Pictures: the map keeps mass, particles land where they should, colours rise in lightness, the PNG decodes.
#include "ic/initial_conditions.hpp"
#include "picture/colour_map.hpp"
#include "picture/projection.hpp"
#include "picture/render.hpp"
#include "snapshot/error.hpp"
#include "support.hpp"

#include <png.h>

namespace graft::cli::test {
namespace {

TEST(Projection, KeepsTheMassAndThePlace) {
    PlanePoints points{{0.5}, {-0.25}, {3.0}};
    const DensityMap map = project(points, 0.0, 0.0, 1.0, 200);
    double mass = 0.0;
    double column = 0.0;
    double row = 0.0;
    for (std::size_t y = 0; y < 200; ++y) {
        for (std::size_t x = 0; x < 200; ++x) {
            const double part = map.at(x, y) * 0.01 * 0.01;
            mass += part;
            column += part * (static_cast<double>(x) + 0.5);
            row += part * (static_cast<double>(y) + 0.5);
        }
    }
    EXPECT_NEAR(mass, 3.0, 1e-12);
    EXPECT_NEAR(column / mass, 150.0, 0.1);
    EXPECT_NEAR(row / mass, 125.0, 0.1); // rows count downward
}

TEST(Projection, PointsOutsideDoNotShow) {
    PlanePoints points{{5.0, -3.0}, {0.0, 9.0}, {1.0, 1.0}};
    for (const double value : project(points, 0.0, 0.0, 1.0, 100).values) {
        EXPECT_EQ(value, 0.0);
    }
}

TEST(Projection, AUniformSheetIsFlat) {
    CubeOptions o;
    o.n = 200000;
    const Snapshot s = make_cube(o);
    const DensityMap map = project({s.x, s.y, s.mass}, 0.5, 0.5, 0.4, 100);
    double sum = 0.0;
    double squares = 0.0;
    for (const double value : map.values) {
        sum += value / 1e4;
        squares += value * value / 1e4;
    }
    EXPECT_NEAR(sum, 1.0, 0.01);
    EXPECT_LT(std::sqrt(squares - sum * sum), 0.25);
}

TEST(Colours, LightnessRisesAllTheWay) {
    for (int k = 1; k <= 200; ++k) {
        EXPECT_GE(lightness(ramp(k / 200.0)) + 0.05, lightness(ramp((k - 1) / 200.0))) << k;
    }
    EXPECT_LT(lightness(ramp(0.0)), 5.0);
    EXPECT_GT(lightness(ramp(1.0)), 95.0);
}

TEST(Picture, PngDecodesToTheSamePixels) {
    GalaxyOptions o;
    o.n = 3000;
    PictureOptions p;
    p.panel_pixels = 150;
    p.title = "Test 0123456789";
    const Picture picture = render(make_galaxy(o), p);
    const ScratchFolder folder;
    write_png(picture.image, folder.file("a.png"));
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    ASSERT_NE(png_image_begin_read_from_file(&png, folder.file("a.png").c_str()), 0) << png.message;
    ASSERT_EQ(png.width, picture.image.width());
    ASSERT_EQ(png.height, picture.image.height());
    png.format = PNG_FORMAT_RGB;
    std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(png));
    ASSERT_NE(png_image_finish_read(&png, nullptr, pixels.data(), 0, nullptr), 0);
    EXPECT_EQ(pixels, picture.image.bytes());
    // The centre is bright, the corner of the picture is not.
    EXPECT_GT(lightness(picture.image.at(75, 75)), 80.0);
    EXPECT_LT(lightness(picture.image.at(149, 149)), 40.0);
}

TEST(Picture, ScaleCanBeShared) {
    GalaxyOptions o;
    o.n = 2000;
    const Snapshot s = make_galaxy(o);
    PictureOptions p;
    p.panel_pixels = 120;
    p.half_width = 7.0;
    const Picture first = render(s, p);
    EXPECT_EQ(first.scale.half_width, 7.0);
    p.half_width.reset();
    p.scale = first.scale;
    EXPECT_EQ(render(s, p).image.bytes(), first.image.bytes());
    p.tint_components = true;
    EXPECT_NE(render(s, p).image.bytes(), first.image.bytes());
}

TEST(Picture, OddInputsWork) {
    PictureOptions p;
    p.panel_pixels = 100;
    render(Snapshot{}, p);
    Snapshot one;
    one.resize(1);
    render(one, p); // no mass, no extent
    one.mass[0] = 1.0;
    render(one, p);
    p.panel_pixels = 3;
    EXPECT_THROW(render(one, p), Error);
}

} // namespace
} // namespace graft::cli::test
