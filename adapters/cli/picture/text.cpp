// SPDX-License-Identifier: BSD-3-Clause
// A stroke font of our own: each glyph is a list of polylines on a grid 4 wide and 6 high, y downward from
// the top of a capital. Written as digit pairs "xy", polylines apart by blanks.
#include "picture/image.hpp"

#include <algorithm>
#include <cctype>

namespace graft::cli {

namespace {

struct Glyph {
    char letter;
    int width;
    const char* strokes;
};

const Glyph glyphs[] = {
    {'A', 4, "062046 1434"},
    {'B', 4, "0006364544332303 0020314132 3203"},
    {'C', 4, "41301001051636 3645"},
    {'D', 4, "000626454120 2000"},
    {'E', 4, "40000646 0333"},
    {'F', 4, "400006 0333"},
    {'G', 4, "4130100105163645 454323"},
    {'H', 4, "0006 4046 0343"},
    {'I', 2, "1016"},
    {'J', 4, "3035261605"},
    {'K', 4, "0006 4003 1346"},
    {'L', 4, "000646"},
    {'M', 4, "0600234046"},
    {'N', 4, "06004640"},
    {'O', 4, "103041453616050110"},
    {'P', 4, "060030414233 3303"},
    {'Q', 4, "103041453616050110 2446"},
    {'R', 4, "060030414233 3303 2346"},
    {'S', 4, "4130100102133344453616 1605"},
    {'T', 4, "0040 2026"},
    {'U', 4, "000516364540"},
    {'V', 4, "002640"},
    {'W', 4, "0016233640"},
    {'X', 4, "0046 4006"},
    {'Y', 4, "002340 2326"},
    {'Z', 4, "00400646"},
    {'0', 4, "103041453616050110"},
    {'1', 3, "112026 1636"},
    {'2', 4, "0110304142330646"},
    {'3', 4, "0110304142334445361605 3313"},
    {'4', 4, "363004 0444"},
    {'5', 4, "4000022231 02324345361605"},
    {'6', 4, "4130100105163645443303"},
    {'7', 4, "004016"},
    {'8', 4, "103041423313020110 3344453616050413"},
    {'9', 4, "0516364541301001021343"},
    {'.', 1, "0606"},
    {',', 1, "0507"},
    {':', 1, "0202 0505"},
    {'-', 3, "0333"},
    {'+', 4, "0343 2125"},
    {'=', 3, "0232 0434"},
    {'/', 3, "0730"},
    {'(', 2, "20111527"},
    {')', 2, "00111507"},
    {'^', 3, "021022"},
    {'_', 4, "0646"},
    {' ', 2, ""},
};

const Glyph& glyph_of(char c) {
    const char wanted = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    for (const Glyph& glyph : glyphs) {
        if (glyph.letter == wanted) {
            return glyph;
        }
    }
    static const Glyph unknown{'?', 4, "0646400006"};
    return unknown;
}

double scale_of(char c, double size) {
    const bool small = std::islower(static_cast<unsigned char>(c)) != 0;
    return size / 6.0 * (small ? 0.8 : 1.0);
}

double advance(char c, double size) {
    return (glyph_of(c).width + 1.8) * scale_of(c, size);
}

} // namespace

double text_width(double size, std::string_view text) {
    double width = 0.0;
    for (const char c : text) {
        width += advance(c, size);
    }
    return width;
}

double Image::text(double x, double y, double size, std::string_view text, Colour colour, double boldness) {
    const double pen = boldness * size / 8.5;
    for (const char c : text) {
        const double unit = scale_of(c, size);
        const auto px = [&](char digit) { return x + (digit - '0') * unit; };
        const auto py = [&](char digit) { return y - (6 - (digit - '0')) * unit; };
        for (std::string_view rest = glyph_of(c).strokes; !rest.empty();) {
            const std::string_view line = rest.substr(0, rest.find(' '));
            for (std::size_t k = 2; k + 1 < line.size(); k += 2) {
                stroke(px(line[k - 2]), py(line[k - 1]), px(line[k]), py(line[k + 1]), pen, colour);
            }
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        }
        x += advance(c, size);
    }
    return x;
}

} // namespace graft::cli
