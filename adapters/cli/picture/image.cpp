// SPDX-License-Identifier: BSD-3-Clause
// Pixels, strokes and the PNG encoder (libpng's simplified interface, which needs no setjmp).
#include "picture/image.hpp"

#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"

#include <algorithm>
#include <cmath>
#include <png.h>

namespace graft::cli {

Image::Image(std::size_t width, std::size_t height, Colour background)
    : width_(width), height_(height), bytes_(3 * width * height) {
    for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = 0; x < width; ++x) {
            set(x, y, background);
        }
    }
}

Colour Image::at(std::size_t x, std::size_t y) const {
    const std::uint8_t* pixel = bytes_.data() + 3 * (y * width_ + x);
    return {pixel[0], pixel[1], pixel[2]};
}

void Image::set(std::size_t x, std::size_t y, Colour colour) {
    std::uint8_t* pixel = bytes_.data() + 3 * (y * width_ + x);
    pixel[0] = colour.red;
    pixel[1] = colour.green;
    pixel[2] = colour.blue;
}

void Image::blend(long x, long y, Colour colour, double opacity) {
    if (x < 0 || y < 0 || x >= static_cast<long>(width_) || y >= static_cast<long>(height_)) {
        return;
    }
    const auto column = static_cast<std::size_t>(x);
    const auto row = static_cast<std::size_t>(y);
    const Colour old = at(column, row);
    const auto mix = [opacity](std::uint8_t from, std::uint8_t to) {
        return static_cast<std::uint8_t>(std::lround(from + opacity * (to - from)));
    };
    set(column, row, {mix(old.red, colour.red), mix(old.green, colour.green), mix(old.blue, colour.blue)});
}

void Image::stroke(double x0, double y0, double x1, double y1, double width, Colour colour) {
    const double reach = 0.5 * width + 1.0;
    const double dx = x1 - x0;
    const double dy = y1 - y0;
    const double length2 = dx * dx + dy * dy;
    for (long y = std::lround(std::min(y0, y1) - reach); y <= std::lround(std::max(y0, y1) + reach); ++y) {
        for (long x = std::lround(std::min(x0, x1) - reach); x <= std::lround(std::max(x0, x1) + reach);
             ++x) {
            const double px = static_cast<double>(x) + 0.5 - x0;
            const double py = static_cast<double>(y) + 0.5 - y0;
            const double along = length2 > 0.0 ? std::clamp((px * dx + py * dy) / length2, 0.0, 1.0) : 0.0;
            const double distance = std::hypot(px - along * dx, py - along * dy);
            const double cover = std::clamp(0.5 * width + 0.5 - distance, 0.0, 1.0);
            if (cover > 0.0) {
                blend(x, y, colour, cover);
            }
        }
    }
}

std::vector<std::byte> encode_png(const Image& image) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = static_cast<png_uint_32>(image.width());
    png.height = static_cast<png_uint_32>(image.height());
    png.format = PNG_FORMAT_RGB;
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(png);
    std::vector<std::byte> bytes(size);
    if (png_image_write_to_memory(&png, bytes.data(), &size, 0, image.bytes().data(), 0, nullptr) == 0) {
        throw Error({std::string("cannot make a PNG: ") + png.message, "picture", "", "", ""});
    }
    bytes.resize(size);
    return bytes;
}

void write_png(const Image& image, const std::string& path) {
    write_file_atomically(path, encode_png(image));
}

} // namespace graft::cli
