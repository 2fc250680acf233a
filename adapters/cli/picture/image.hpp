// SPDX-License-Identifier: BSD-3-Clause
// A picture in memory: sRGB bytes, rows from the top; anti-aliased strokes and text; PNG output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace graft::cli {

struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    bool operator==(const Colour&) const = default;
};

class Image {
  public:
    Image(std::size_t width, std::size_t height, Colour background);

    std::size_t width() const noexcept { return width_; }
    std::size_t height() const noexcept { return height_; }
    const std::vector<std::uint8_t>& bytes() const noexcept { return bytes_; } ///< 3 per pixel, row-major
    Colour at(std::size_t x, std::size_t y) const;
    void set(std::size_t x, std::size_t y, Colour colour);

    /// Mixes `colour` in; opacity 0 to 1. Pixels outside the image are ignored.
    void blend(long x, long y, Colour colour, double opacity);

    /// A straight stroke with round ends; coordinates in pixels, pixel centres at halves.
    void stroke(double x0, double y0, double x1, double y1, double width, Colour colour);

    /// Text with capital letters `size` pixels high, its left end at x and its base line at y. Small letters
    /// are drawn as small capitals; `boldness` multiplies the pen's width. Returns the x after the last
    /// letter.
    double text(double x, double y, double size, std::string_view text, Colour colour, double boldness = 1.0);

  private:
    std::size_t width_, height_;
    std::vector<std::uint8_t> bytes_;
};

/// Width in pixels that Image::text needs.
double text_width(double size, std::string_view text);

/// The picture as the bytes of a PNG file. Throws Error when libpng fails.
std::vector<std::byte> encode_png(const Image& image);

/// Writes the PNG atomically. Throws Error.
void write_png(const Image& image, const std::string& path);

} // namespace graft::cli
