// SPDX-License-Identifier: BSD-3-Clause
// See harmonic_products.hpp.
#include "moments/harmonic_products.hpp"

namespace graft::moments {

void Products::make(int order, int degree) {
    int32_t count = 0;
    const auto add_row = [&](int terms, int source, int plain, int with_z) {
        for (int i = 0; i < terms; ++i)
            list_[static_cast<size_t>(count++)] = {static_cast<int16_t>(source + i), static_cast<int16_t>(plain + i),
                                                   static_cast<int16_t>(with_z + i)};
    };
    for (int k = 0; k <= degree; ++k) {
        first_[static_cast<size_t>(k)] = count;
        for (int l = 0; l <= order && l + k <= degree; ++l) {
            const int n = l + k, plain = harmonic_index(n, 0, 0), with_z = harmonic_index(n, 0, 1);
            add_row(l + 1, harmonic_index(l, 0, 0), plain, with_z);
            add_row(l, harmonic_index(l, 0, 1), with_z, second_index(degree, n));
        }
    }
    first_[static_cast<size_t>(degree) + 1] = count;
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
