// Moments to M2P coefficients: Taylor factors, and traces taken out (unsoftened) or listed apart (softened).
#include "moments/expansion.hpp"

#include <algorithm>

namespace graft::moments {

namespace {

/// Trace over one pair of indices of the order-4 (or order-3) moments, as an order-2 (order-1) tensor's term (a, b, c).
double trace(const double* m, int a, int b, int c) {
    return m[term_index(a + 2, b, c)] + m[term_index(a, b + 2, c)] + m[term_index(a, b, c + 2)];
}

struct Traces {
    double second = 0;            // trace of the second moments
    double third[3] = {0, 0, 0};  // of the third: x, y, z
    double fourth[6] = {};        // of the fourth: xx xy xz yy yz zz
    double twice = 0;             // twice the fourth's
};

constexpr Term pairs[6] = {{2, 0, 0}, {1, 1, 0}, {1, 0, 1}, {0, 2, 0}, {0, 1, 1}, {0, 0, 2}};

Traces traces_of(const double* m, int order) {
    Traces t;
    if (order >= 2)
        t.second = trace(m, 0, 0, 0);
    if (order >= 3)
        t.third[0] = trace(m, 1, 0, 0), t.third[1] = trace(m, 0, 1, 0), t.third[2] = trace(m, 0, 0, 1);
    if (order >= 4) {
        for (int k = 0; k < 6; ++k)
            t.fourth[k] = trace(m, pairs[k].a, pairs[k].b, pairs[k].c);
        t.twice = t.fourth[0] + t.fourth[3] + t.fourth[5];
    }
    return t;
}

/// Number of ways to choose two equal indices and leave one: the terms of delta_ij v_k (three permutations).
double third_trace(const Term& term, const Traces& t) {
    const int n[3] = {term.a, term.b, term.c};
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis)                   // pairs of equal indices
        for (int left = 0; left < 3; ++left) {
            int rest[3] = {n[0], n[1], n[2]};
            rest[axis] -= 2;
            if (rest[axis] < 0 || rest[left] != 1)
                continue;
            sum += n[axis] * (n[axis] - 1) / 2.0 * t.third[left];
        }
    return sum;
}

/// delta_ij T_kl over its six permutations, for T the trace of the fourth moments.
double fourth_trace(const Term& term, const Traces& t) {
    const int n[3] = {term.a, term.b, term.c};
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
        int rest[3] = {n[0], n[1], n[2]};
        rest[axis] -= 2;
        if (rest[axis] >= 0)
            sum += n[axis] * (n[axis] - 1) / 2.0 * t.fourth[term_index(rest[0], rest[1], rest[2]) - term_count(1)];
    }
    return sum;
}

/// delta_ij delta_kl over its three permutations.
double fourth_delta(const Term& term) {
    if (term.a % 2 != 0 || term.b % 2 != 0 || term.c % 2 != 0)
        return 0;
    return term.a == 4 || term.b == 4 || term.c == 4 ? 3 : 1;
}

constexpr double factor[max_order + 1] = {1, 1, 3.0 / 2, 5.0 / 2, 35.0 / 8}; // (2l-1)!! / l!

double traceless(const double* m, int index, const Traces& t) {
    const Term term = terms[static_cast<size_t>(index)];
    const int order = term.a + term.b + term.c;
    double value = m[index];
    if (order == 2)
        value -= (term.a == 2 || term.b == 2 || term.c == 2) ? t.second / 3 : 0.0;
    if (order == 3)
        value -= third_trace(term, t) / 5;
    if (order == 4)
        value += -fourth_trace(term, t) / 7 + fourth_delta(term) * t.twice / 35;
    return value;
}

template <typename T>
void fill_node(const double* m, int order, bool softened, T* out) {
    const Traces t = traces_of(m, order);
    const int count = term_count(order);
    for (int k = 0; k < count; ++k) {
        const Term term = terms[static_cast<size_t>(k)];
        const double value = softened ? m[k] : traceless(m, k, t);
        out[k] = static_cast<T>(factor[term.a + term.b + term.c] * value);
    }
    if (!softened)
        return;
    T* extra = out + count;
    extra[0] = static_cast<T>(0.5 * t.second);
    extra[1] = static_cast<T>(0.375 * t.twice);
    for (int k = 0; k < 3; ++k)
        extra[2 + k] = static_cast<T>(1.5 * t.third[k]);
    for (int k = 0; k < 6; ++k)
        extra[5 + k] = static_cast<T>(3.75 * t.fourth[k]);
}

} // namespace

template <typename T>
void fill_expansion(const backend::Executor& executor, const Moments& moments, bool softened, core::Buffer<T>& out) {
    const int size = record_size(moments.order, softened);
    const int64_t nodes = moments.magnitude.size();
    out.resize(nodes * size);
    executor.for_each(
        nodes,
        [&](int64_t k) {
            fill_node(moments.of(static_cast<int32_t>(k)), moments.order, softened, out.data() + k * size);
        },
        1024);
}

template void fill_expansion<float>(const backend::Executor&, const Moments&, bool, core::Buffer<float>&);
template void fill_expansion<double>(const backend::Executor&, const Moments&, bool, core::Buffer<double>&);

} // namespace graft::moments
