// SPDX-License-Identifier: BSD-3-Clause
// What a file tile_<type>_<forms>.cpp exports: the loops of one kind of number and some of the forms.
// tile.cpp puts them together. Only there to keep each compilation short.
#pragma once

#include "near/tiles/tile.hpp"

namespace graft::near {

TileFunction<float> float_laplace(const Variant& variant);
TileFunction<float> float_waves(const Variant& variant);  // helmholtz, yukawa
TileFunction<float> float_others(const Variant& variant); // logarithm, table
TileFunction<float> mixed_laplace(const Variant& variant);
TileFunction<float> mixed_waves(const Variant& variant);
TileFunction<float> mixed_others(const Variant& variant);
TileFunction<double> double_laplace(const Variant& variant);
TileFunction<double> double_waves(const Variant& variant);
TileFunction<double> double_others(const Variant& variant);

} // namespace graft::near
