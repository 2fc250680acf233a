// SPDX-License-Identifier: BSD-3-Clause
// See least_squares.hpp. Columns are scaled to length 1, then the normal equations by Cholesky: few unknowns,
// measured numbers of 2 or 3 digits.
#include "model/least_squares.hpp"

#include "core/error.hpp"

#include <cmath>

namespace graft::model {

namespace {

constexpr double least_pivot = 1e-12; // of columns of length 1: parallel ones

struct Normal { // A^T A and A^T b of scaled columns
    size_t n = 0;
    std::vector<double> matrix, right, scale;

    Normal(std::span<const double> rows, std::span<const double> b, size_t unknowns) : n(unknowns) {
        matrix.assign(n * n, 0);
        right.assign(n, 0);
        scale.assign(n, 0);
        for (size_t r = 0; r < b.size(); ++r)
            for (size_t i = 0; i < n; ++i) {
                for (size_t j = 0; j < n; ++j)
                    matrix[i * n + j] += rows[r * n + i] * rows[r * n + j];
                right[i] += rows[r * n + i] * b[r];
            }
        for (size_t i = 0; i < n; ++i)
            scale[i] = matrix[i * n + i] > 0 ? 1 / std::sqrt(matrix[i * n + i]) : 0;
        for (size_t i = 0; i < n; ++i) {
            right[i] *= scale[i];
            for (size_t j = 0; j < n; ++j)
                matrix[i * n + j] *= scale[i] * scale[j];
        }
    }

    /// Scaled x of the columns in `used`, 0 elsewhere; false when they are not independent.
    bool solve(const std::vector<bool>& used, std::vector<double>& x) const {
        std::vector<size_t> index;
        for (size_t i = 0; i < n; ++i)
            if (used[i])
                index.push_back(i);
        const size_t m = index.size();
        std::vector<double> lower(m * m, 0), y(m, 0);
        for (size_t i = 0; i < m; ++i) {
            for (size_t j = 0; j <= i; ++j) {
                double sum = matrix[index[i] * n + index[j]];
                for (size_t k = 0; k < j; ++k)
                    sum -= lower[i * m + k] * lower[j * m + k];
                if (i == j && sum < least_pivot)
                    return false;
                lower[i * m + j] = i == j ? std::sqrt(sum) : sum / lower[j * m + j];
            }
            y[i] = right[index[i]];
            for (size_t k = 0; k < i; ++k)
                y[i] -= lower[i * m + k] * y[k];
            y[i] /= lower[i * m + i];
        }
        x.assign(n, 0);
        for (size_t i = m; i-- > 0;) {
            for (size_t k = i + 1; k < m; ++k)
                y[i] -= lower[k * m + i] * y[k];
            y[i] /= lower[i * m + i];
            x[index[i]] = y[i];
        }
        return true;
    }

    /// Of the column that would lower the residual fastest among those not `used`; n when none would.
    size_t steepest(const std::vector<bool>& barred, const std::vector<double>& x) const {
        size_t best = n;
        double most = 1e-10;
        for (size_t i = 0; i < n; ++i) {
            double slope = right[i];
            for (size_t j = 0; j < n; ++j)
                slope -= matrix[i * n + j] * x[j];
            if (!barred[i] && scale[i] > 0 && slope > most * std::sqrt(1 + right[i] * right[i])) {
                best = i;
                most = slope;
            }
        }
        return best;
    }
};

void check_sizes(std::span<const double> rows, std::span<const double> right, int unknowns) {
    if (unknowns < 1 || rows.size() != right.size() * static_cast<size_t>(unknowns))
        core::fail(core::Status::argument, "least squares: %zu factors, %zu right-hand sides, %d unknowns",
                   rows.size(), right.size(), unknowns);
}

/// Goes from x towards `wanted` until the first of the used falls to zero, and puts that one aside.
void step_back(std::vector<bool>& used, std::vector<double>& x, const std::vector<double>& wanted) {
    double step = 1;
    size_t first = x.size();
    for (size_t i = 0; i < x.size(); ++i)
        if (used[i] && wanted[i] <= 0 && x[i] / (x[i] - wanted[i]) <= step) {
            step = x[i] / (x[i] - wanted[i]);
            first = i;
        }
    for (size_t i = 0; i < x.size(); ++i)
        x[i] = used[i] ? x[i] + step * (wanted[i] - x[i]) : 0;
    if (first < x.size()) {
        used[first] = false;
        x[first] = 0;
    }
}

} // namespace

std::vector<double> least_squares(std::span<const double> rows, std::span<const double> right, int unknowns) {
    check_sizes(rows, right, unknowns);
    const Normal normal(rows, right, static_cast<size_t>(unknowns));
    std::vector<bool> used(normal.n);
    for (size_t i = 0; i < normal.n; ++i)
        used[i] = normal.scale[i] > 0;
    std::vector<double> x;
    if (right.size() < normal.n || !normal.solve(used, x))
        core::fail(core::Status::argument,
                   "least squares: %zu measurements do not determine %d unknowns; measure at more, and more "
                   "different, points",
                   right.size(), unknowns);
    for (size_t i = 0; i < normal.n; ++i)
        x[i] *= normal.scale[i];
    return x;
}

std::vector<double> least_squares_not_negative(std::span<const double> rows, std::span<const double> right,
                                               int unknowns) {
    check_sizes(rows, right, unknowns);
    const Normal normal(rows, right, static_cast<size_t>(unknowns));
    std::vector<bool> used(normal.n, false), barred(normal.n, false);
    std::vector<double> x(normal.n, 0), wanted;
    for (size_t rounds = 0; rounds < 10 * normal.n; ++rounds) {
        const size_t next = normal.steepest(barred, x);
        if (next == normal.n)
            break;
        used[next] = barred[next] = true;
        if (!normal.solve(used, wanted)) { // parallel to what is there
            used[next] = false;
            continue;
        }
        const auto negative = [&] {
            for (size_t i = 0; i < normal.n; ++i)
                if (used[i] && wanted[i] <= 0)
                    return true;
            return false;
        };
        while (negative()) {
            step_back(used, x, wanted);
            (void)normal.solve(used, wanted);
        }
        x = wanted;
        barred = used;
    }
    for (size_t i = 0; i < normal.n; ++i)
        x[i] *= normal.scale[i];
    return x;
}

} // namespace graft::model
