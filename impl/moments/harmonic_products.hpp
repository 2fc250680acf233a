// SPDX-License-Identifier: BSD-3-Clause
// The products that M2L and L2L of harmonic orders are sums of, as lists; where the terms of a table stand (harmonics.hpp).
#pragma once

#include "moments/moment_terms.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace graft::moments {

/// Index of x^(l-b-c) y^b z^c.
constexpr int harmonic_index(int l, int b, int c) {
    return l * l + c * (l + 1) + b;
}
/// A table of derivatives up to `degree`: the terms, and behind them those of z^2, which products of two terms with z
/// meet: of degree l from here on, y^b z^2 x^(l-2-b) in their order.
constexpr int second_index(int degree, int l) {
    return harmonic_count(degree) + l * l;
}
inline constexpr int max_degree = max_order + 3, max_table = 2 * harmonic_count(max_degree);

/// `block` terms of the sums of one order k, one after the other: w_source times T from `plain` on is added to those of x^k,
/// x^(k-1) y ... y^k, from `with_z` on to those of z x^(k-1) ... z y^(k-1); then the same with all three increased by one ...
struct Product {
    int16_t source, table[2]; // plain, with_z
};

/// Those of all orders k up to `degree`, |alpha| <= order and |alpha| + k <= degree: a loop over one list has no inner loops,
/// whose ends no processor foresees. Blocks of three terms, then of two, then of one: terms of a block share what they read.
class Products {
  public:
    static constexpr int most_block = 3;
    void make(int order, int degree);
    const Product* begin(int k, int block) const { return list_.data() + first_[place(k, block)]; }
    const Product* end(int k, int block) const { return list_.data() + first_[place(k, block) + 1]; }

  private:
    static constexpr size_t place(int k, int block) { return static_cast<size_t>(most_block * k + most_block - block); }
    std::array<Product, (max_degree + 1) * harmonic_count(max_order)> list_;
    std::array<int32_t, most_block*(max_degree + 1) + 1> first_;
};

/// Of M2L, |alpha| <= order, and of L2L, |alpha| <= degree; degree at most order + 3. Made at the first call.
const Products& products_of_m2l(int order);
const Products& products_of_l2l(int degree);

} // namespace graft::moments
