// SPDX-License-Identifier: BSD-3-Clause
// The wave vectors and what is summed over them once a call; see ewald_waves.hpp.
#include "periodic/plummer_waves.hpp"
#include "periodic/ewald_waves.hpp"

#include <cmath>

namespace graft::periodic {

namespace {

constexpr double pi = 3.14159265358979323846;

ExponentialNodes make_nodes() {
    constexpr double step = 0.0625, begin = -4.5;
    ExponentialNodes nodes;
    for (int i = 0; i < ExponentialNodes::count; ++i) {
        const double t = begin + i * step, inner = std::exp(-t), y = std::exp(t - inner);
        nodes.y[i] = y;
        nodes.weight[i] = step * y * (1 + inner) * std::exp(-y);
    }
    return nodes;
}

} // namespace

const ExponentialNodes& exponential_nodes() {
    static const ExponentialNodes only = make_nodes();
    return only;
}

double Waves::factor(double square) const {
    if (softening_ == 0)
        return 1;
    const double eta = softening_ * softening_ * alpha_ * alpha_;
    return plummer_wave(exponential_nodes(), eta, square / (4 * alpha_ * alpha_)).factor;
}

double Waves::plain_weight(double square) const {
    return 4 * pi / (lattice_.volume() * square) * std::exp(-square / (4 * alpha_ * alpha_));
}

double Waves::weight(double square) const {
    return plain_weight(square) * factor(square);
}

double Waves::slope(double square) const {
    const double inverse = 1 / (4 * alpha_ * alpha_);
    if (softening_ == 0)
        return 1 / square + inverse;
    const double eta = softening_ * softening_ * alpha_ * alpha_;
    const PlummerWave wave = plummer_wave(exponential_nodes(), eta, square * inverse);
    return inverse * wave.moment / wave.factor;
}

Background Waves::background(double cutoff) const {
    return plummer_background(exponential_nodes(), alpha_, softening_ * softening_ * alpha_ * alpha_, cutoff);
}

OwnTerms Waves::own_terms() const {
    return own_terms_beyond(exponential_nodes(), alpha_, softening_ * softening_ * alpha_ * alpha_, largest_);
}

Waves::Waves(const geometry::Lattice& lattice, double alpha, double largest, double softening)
    : lattice_(lattice), alpha_(alpha), largest_(largest), softening_(softening) {
    for (int a = 0; a < 3; ++a) { // |index| = |g . edge| <= |g| |edge|
        const geometry::Vec3 edge = lattice.shift(a == 0, a == 1, a == 2);
        most_[a] = static_cast<int>(largest / (2 * pi) *
                                    std::sqrt(edge.x * edge.x + edge.y * edge.y + edge.z * edge.z));
    }
    const auto weight = [&](int i, int j, int k) {
        const geometry::Vec3 g = lattice.reciprocal(i, j, k);
        const double square = 4 * pi * pi * (g.x * g.x + g.y * g.y + g.z * g.z);
        if (square == 0 || square > largest * largest)
            return 0.0;
        return 2 * this->weight(square);
    };
    const int depth = most_[2];
    for (int i = 0; i <= most_[0]; ++i)
        for (int j = i == 0 ? 0 : -most_[1]; j <= most_[1]; ++j) {
            int last = -1;
            for (int k = depth; k >= 0 && last < 0; --k)
                if (weight(i, j, k) != 0 || weight(i, j, -k) != 0)
                    last = k;
            if (last < 0)
                continue;
            const Row row{i, j, value_count(), (last + 2) / 2 * 2};
            for (int k = 0; k < row.count; ++k) {
                const bool opposite = k == 0 || (i == 0 && j == 0); // -k is k, or of the other half
                plus_.push_back(k <= last ? weight(i, j, k) : 0);
                minus_.push_back(k <= last && !opposite ? weight(i, j, -k) : 0);
                vectors_ += (plus_.back() != 0) + (minus_.back() != 0);
            }
            rows_.push_back(row);
        }
}

int64_t wave_scratch(const Waves& waves) {
    constexpr int64_t block = 256;
    const int64_t powers = waves.most(0) + waves.most(1) + waves.most(2) + 5;
    return block * (2 * powers + 2 + 4);
}

void WaveEnergy::add(const geometry::Vec3& g, double of_wave, double slope) {
    const double x = 2 * pi * g.x, y = 2 * pi * g.y, z = 2 * pi * g.z, along = 2 * of_wave * slope;
    const double moved[6] = {along * x * x - of_wave, along * y * y - of_wave, along * z * z - of_wave,
                             along * x * y,           along * x * z,           along * y * z};
    energy += of_wave;
    for (int c = 0; c < 6; ++c)
        virial[c] += moved[c];
}

WaveEnergy wave_energy(const Waves& waves, const double* sums) {
    WaveEnergy total;
    const auto add = [&](int i, int j, int k, double weight, double real, double imaginary) {
        if (weight == 0)
            return;
        const geometry::Vec3 g = waves.lattice().reciprocal(i, j, k);
        const double x = 2 * pi * g.x, y = 2 * pi * g.y, z = 2 * pi * g.z;
        total.add(g, 0.5 * weight * (real * real + imaginary * imaginary), waves.slope(x * x + y * y + z * z));
    };
    for (const Waves::Row& row : waves.rows())
        for (int k = 0; k < row.count; ++k) {
            const int64_t at = row.first + k;
            const double* t = sums + structure_size * at;
            add(row.i, row.j, k, waves.plus(at), t[0] - t[1], t[2] + t[3]);
            add(row.i, row.j, -k, waves.minus(at), t[0] + t[1], t[2] - t[3]);
        }
    return total;
}

template <typename T>
void weigh_structure(const Waves& waves, const double* sums, T* weighted) {
    for (const Waves::Row& row : waves.rows())
        for (int k = 0; k < row.count; ++k) {
            const int64_t at = row.first + k;
            const double* t = sums + structure_size * at;
            const double plus = waves.plus(at), minus = waves.minus(at);
            const double plus_real = plus * (t[0] - t[1]), plus_imaginary = -plus * (t[2] + t[3]);
            const double minus_real = minus * (t[0] + t[1]), minus_imaginary = -minus * (t[2] - t[3]);
            const double p[2] = {plus_real + minus_real, plus_imaginary + minus_imaginary};
            const double m[2] = {plus_real - minus_real, plus_imaginary - minus_imaginary};
            const double values[wave_size] = {p[0],     -m[1],     p[1],     m[0],
                                              k * m[0], -k * p[1], k * m[1], k * p[0]};
            for (int c = 0; c < wave_size; ++c)
                weighted[wave_size * at + c] = static_cast<T>(values[c]);
        }
}

template void weigh_structure<float>(const Waves&, const double*, float*);
template void weigh_structure<double>(const Waves&, const double*, double*);

} // namespace graft::periodic
