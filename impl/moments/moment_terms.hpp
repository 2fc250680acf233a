// SPDX-License-Identifier: BSD-3-Clause
// Numbering of the Cartesian moments of order 0..4, and loops over them that unroll at compile time. Higher orders have
// harmonic moments (harmonics.hpp), whose loops run.
//
// Term (a, b, c) stands for x^a y^b z^c. Terms are sorted by order, within an order by falling a, then
// falling b: 1 | x y z | xx xy xz yy yz zz | xxx xxy xxz xyy xyz xzz yyy yyz yzz zzz | xxxx ... zzzz.
#pragma once

#include <array>
#include <cstddef>

namespace graft::moments {

inline constexpr int cartesian_order = 4, max_order = 12;

/// Terms of all orders up to `order`: 1, 4, 10, 20, 35.
constexpr int term_count(int order) {
    return (order + 1) * (order + 2) * (order + 3) / 6;
}
inline constexpr int max_terms = term_count(cartesian_order);

/// Numbers of a harmonic polynomial up to `order`.
constexpr int harmonic_count(int order) {
    return (order + 1) * (order + 1);
}
constexpr bool is_harmonic(int order) {
    return order > cartesian_order;
}

/// Index of x^a y^b z^c.
constexpr int term_index(int a, int b, int c) {
    const int order = a + b + c;
    const int rest = b + c; // terms with larger a come first
    return term_count(order - 1) + rest * (rest + 1) / 2 + c;
}

struct Term {
    int a, b, c;
};

constexpr std::array<Term, max_terms> make_terms() {
    std::array<Term, max_terms> terms{};
    for (int order = 0; order <= cartesian_order; ++order)
        for (int a = order; a >= 0; --a)
            for (int b = order - a; b >= 0; --b)
                terms[static_cast<std::size_t>(term_index(a, b, order - a - b))] = {a, b, order - a - b};
    return terms;
}

inline constexpr std::array<Term, max_terms> terms = make_terms();

constexpr int binomial(int n, int k) {
    int result = 1;
    for (int i = 0; i < k; ++i)
        result = result * (n - i) / (i + 1);
    return result;
}

} // namespace graft::moments
