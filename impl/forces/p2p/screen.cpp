// SPDX-License-Identifier: BSD-3-Clause
// See screen.hpp. Chebyshev interpolation in long double, then powers of v.
#include "forces/p2p/screen.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace graft::forces {

namespace {

using Number = long double;
constexpr Number pi = 3.14159265358979323846264338327950288L;

/// F_n(u) = exp(-u) sum over k of (2u)^k / ((2n+1)(2n+3)...(2n+2k+1)): no cancellation.
Number boys(int n, Number u) {
    Number term = Number(1) / static_cast<Number>(2 * n + 1), sum = term;
    for (int k = 1; term > sum * 1e-22L; ++k) {
        term *= 2 * u / static_cast<Number>(2 * n + 2 * k + 1);
        sum += term;
    }
    return std::exp(-u) * sum;
}

/// cos(pi m / (2 count)): all angles of the transform below.
const std::vector<Number>& cosines() {
    static const std::vector<Number> table = [] {
        std::vector<Number> values;
        values.reserve(4 * max_screen_terms);
        for (int m = 0; m < 4 * max_screen_terms; ++m)
            values.push_back(std::cos(pi * static_cast<Number>(m) / (2 * max_screen_terms)));
        return values;
    }();
    return table;
}

/// Coefficients of the Chebyshev polynomials of v.
std::vector<Number> chebyshev(const std::function<Number(Number)>& f) {
    constexpr int count = max_screen_terms;
    const std::vector<Number>& cosine = cosines();
    const auto angle = [](int k, int i) { return static_cast<size_t>(k * (2 * i + 1) % (4 * count)); };
    std::vector<Number> value(count), c(count);
    for (int i = 0; i < count; ++i)
        value[static_cast<size_t>(i)] = f(cosine[angle(1, i)]);
    for (int k = 0; k < count; ++k) {
        Number sum = 0;
        for (int i = 0; i < count; ++i)
            sum += value[static_cast<size_t>(i)] * cosine[angle(k, i)];
        c[static_cast<size_t>(k)] = sum * (k == 0 ? 1 : 2) / count;
    }
    return c;
}

/// So many terms of the series leave less than `error`.
size_t length(const std::vector<Number>& c, Number error) {
    size_t n = c.size();
    for (Number rest = 0; n > 1; --n) {
        rest += std::abs(c[n - 1]);
        if (rest > error)
            break;
    }
    return n;
}

std::vector<Number> to_powers(const std::vector<Number>& c, size_t n) {
    std::vector<Number> before(n, 0), now(n, 0), next(n), sum(n, 0);
    before[0] = 1; // T_0
    if (n > 1)
        now[1] = 1; // T_1
    sum[0] = c[0];
    for (size_t k = 1; k < n; ++k) {
        for (size_t i = 0; i < n; ++i)
            sum[i] += c[k] * now[i];
        for (size_t i = 0; i < n; ++i)
            next[i] = 2 * (i > 0 ? now[i - 1] : 0) - before[i];
        before = now;
        now = next;
    }
    return sum;
}

/// The relative spacing of Number as it is computed here: valgrind has double's.
Number spacing() {
    volatile Number step = 1, sum = 2;
    while (sum > 1) {
        step = step / 2;
        sum = 1 + step;
    }
    return 2 * step;
}

/// `size` is the largest value, `error` that of `single` beside it. Terms that are rounding alone would grow without bound as
/// powers.
Screen::Polynomial fit(const std::function<Number(Number)>& f, Number size, double error = least_single_error) {
    const std::vector<Number> c = chebyshev(f);
    const std::vector<Number> full = to_powers(c, length(c, std::max(3e-17L, 30 * spacing()) * size)),
                              single = to_powers(c, length(c, static_cast<Number>(error) * size));
    Screen::Polynomial p;
    for (const Number term : full)
        p.full.push_back(static_cast<double>(term));
    for (const Number term : single)
        p.single.push_back(static_cast<float>(term));
    return p;
}

} // namespace

Screen::Screen(double alpha_cutoff, double single_error) : alpha_cutoff_(alpha_cutoff), single_error_(single_error) {
    const Number a = alpha_cutoff, factor = 2 / std::sqrt(pi);
    const auto u = [a](Number v) { return a * a * (1 + v) / 2; };
    const auto fit_falling = [&](const auto& f) { return fit(f, f(-1), single_error); }; // largest at r = 0
    potential_ = fit_falling([&](Number v) { return factor * a * boys(0, u(v)); });
    force_ = fit_falling([&](Number v) { return 2 * factor * a * a * a * boys(1, u(v)); });
}

const ScaledErfc& scaled_erfc() {
    static const ScaledErfc only{fit(
        [](Number y) {
            const Number x = ScaledErfc::slope / (y - ScaledErfc::constant) - ScaledErfc::shift;
            return std::exp(x * x) * std::erfc(x);
        },
        1)};
    return only;
}

} // namespace graft::forces
