// See ewald.hpp.
#include "pipeline/ewald.hpp"

#include <algorithm>
#include <cmath>

namespace graft::pipeline {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double least_product = 0.5, largest_product = 8.5; // alpha * cutoff: what Screen can be made for

double density(const EwaldProblem& p) {
    return static_cast<double>(p.particles) / p.lattice.volume();
}

/// alpha * cutoff such that the pairs beyond leave `error` (of a force), and the inverse.
double product_for(const EwaldProblem& p, double cutoff, double error) {
    const double size =
        2 * p.square_sum / std::sqrt(static_cast<double>(p.particles) * cutoff * p.lattice.volume());
    return std::clamp(std::sqrt(std::log(std::max(size / error, 1.001))), least_product, largest_product);
}

/// |k| beyond which waves leave `error`: the equation's right side falls with it.
double wave_for(const EwaldProblem& p, double alpha, double error) {
    const double edge = std::cbrt(p.lattice.volume()), n = static_cast<double>(p.particles);
    double low = 0.1, high = 2 * largest_product * alpha * edge / pi + 4; // K = |k| L / 2 pi
    for (int step = 0; step < 60; ++step) {
        const double k = 0.5 * (low + high), exponent = pi * k / (alpha * edge);
        const double left =
            2 * p.square_sum * alpha / edge * std::sqrt(1 / (pi * k * n)) * std::exp(-exponent * exponent);
        (left > error ? low : high) = k;
    }
    return 2 * pi * high / edge;
}

/// Pairs that one target meets.
double pairs_of(const EwaldProblem& p, double cutoff) {
    const double n = static_cast<double>(p.particles);
    if (p.all_pairs) {
        double images = 1;
        for (int a = 0; a < 3; ++a)
            images *= 1 + 2 * cutoff / p.lattice.width(a);
        return images * n;
    }
    const double reach = cutoff + 0.6 * std::cbrt(std::min(p.group, n) / density(p)) +
                         0.4 * std::cbrt(std::min(p.leaf, n) / density(p)); // boxes that touch are met whole
    return 4 * pi / 3 * reach * reach * reach * density(p);
}

double waves_of(const EwaldProblem& p, double largest) {
    const double radius = largest / (2 * pi);
    return 2 * pi / 3 * radius * radius * radius * p.lattice.volume();
}

} // namespace

double typical_field(const EwaldProblem& p) {
    const double mean = p.square_sum / static_cast<double>(std::max<int64_t>(p.particles, 1));
    return std::sqrt(mean) * std::cbrt(density(p) * density(p));
}

EwaldSplit split_ewald(const EwaldProblem& p) {
    const double mean = p.square_sum / static_cast<double>(std::max<int64_t>(p.particles, 1));
    const double error = std::max(p.accuracy, 1e-15) * typical_field(p) * std::sqrt(mean) / std::sqrt(2.0);
    if (p.particles == 0 || !(error > 0))
        return {1, 1, 0};
    double width = p.lattice.width(0);
    for (int a = 1; a < 3; ++a)
        width = std::min(width, p.lattice.width(a));
    EwaldSplit best;
    double least = -1;
    constexpr int steps = 160;
    for (int step = 0; step <= steps; ++step) { // cut-offs from width / 40 to 2.5 width
        EwaldSplit split;
        split.cutoff =
            std::max(p.least_cutoff, width / 40 * std::pow(100.0, static_cast<double>(step) / steps));
        const double product = product_for(p, split.cutoff, error);
        split.alpha = p.alpha > 0 ? p.alpha : product / split.cutoff;
        if (p.alpha > 0 && p.alpha * split.cutoff < product && step < steps)
            continue;
        split.largest_wave = wave_for(p, split.alpha, error);
        const double cost = p.pair_cost * pairs_of(p, split.cutoff) + waves_of(p, split.largest_wave);
        if (least < 0 || cost < least)
            least = cost, best = split;
        if (p.alpha > 0)
            break; // a longer cut-off only costs more
    }
    return best;
}

} // namespace graft::pipeline
