// SPDX-License-Identifier: BSD-3-Clause
// See harmonic_products.hpp.
#include "moments/harmonic_products.hpp"

namespace graft::moments {

namespace {

/// How many blocks of this size `terms` terms make: as many of three as leave no single one behind.
int blocks_of(int terms, int block) {
    const int threes = terms % 3 == 1 && terms > 1 ? terms / 3 - 1 : terms / 3;
    const int twos = (terms - 3 * threes) / 2;
    return block == 3 ? threes : block == 2 ? twos : terms - 3 * threes - 2 * twos;
}

} // namespace

void Products::make(int order, int degree) {
    int32_t count = 0;
    const auto add_row = [&](int block, int terms, int source, int plain, int with_z) {
        int at = 0; // blocks of three are a row's first terms
        for (int larger = most_block; larger > block; --larger)
            at += larger * blocks_of(terms, larger);
        for (const int end = at + block * blocks_of(terms, block); at < end; at += block)
            list_[static_cast<size_t>(count++)] = {static_cast<int16_t>(source + at),
                                                   {static_cast<int16_t>(plain + at), static_cast<int16_t>(with_z + at)}};
    };
    for (int k = 0; k <= degree; ++k)
        for (int block = most_block; block > 0; --block) {
            first_[place(k, block)] = count;
            for (int l = 0; l <= order && l + k <= degree; ++l) {
                const int n = l + k, plain = harmonic_index(n, 0, 0), with_z = harmonic_index(n, 0, 1);
                add_row(block, l + 1, harmonic_index(l, 0, 0), plain, with_z);
                add_row(block, l, harmonic_index(l, 0, 1), with_z, second_index(degree, n));
            }
        }
    first_[place(degree + 1, most_block)] = count;
}

namespace {

template <int most>
struct All {
    explicit All(int more) {
        for (int order = 0; order <= most; ++order)
            of[static_cast<size_t>(order)].make(order, order + more);
    }
    std::array<Products, most + 1> of;
};

} // namespace

const Products& products_of_m2l(int order) {
    static const All<max_order> all(max_degree - max_order);
    return all.of[static_cast<size_t>(order)];
}

const Products& products_of_l2l(int degree) {
    static const All<max_degree> all(0);
    return all.of[static_cast<size_t>(degree)];
}

} // namespace graft::moments
