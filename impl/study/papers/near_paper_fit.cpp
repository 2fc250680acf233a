// SPDX-License-Identifier: BSD-3-Clause
// Least squares for the constants of near_paper.hpp.
#include "study/papers/near_paper.hpp"

#include "core/error.hpp"
#include "model/least_squares.hpp"

#include <vector>

namespace graft::study {

namespace {

void check_fit(std::span<const double> measured, std::span<const double> modelled) {
    if (measured.empty() || measured.size() != modelled.size())
        core::fail(core::Status::argument,
                   "fit: %zu measured and %zu modelled values; expected as many of each", measured.size(),
                   modelled.size());
}

} // namespace

double fit_by_mean(std::span<const double> measured, std::span<const double> modelled) {
    check_fit(measured, modelled);
    double sum = 0;
    for (size_t i = 0; i < measured.size(); ++i)
        sum += measured[i] / modelled[i];
    return sum / static_cast<double>(measured.size());
}

double fit_by_squares(std::span<const double> measured, std::span<const double> modelled) {
    check_fit(measured, modelled);
    double product = 0, square = 0;
    for (size_t i = 0; i < measured.size(); ++i) {
        product += measured[i] * modelled[i];
        square += modelled[i] * modelled[i];
    }
    return product / square;
}

PaperNearConstants fit_paper_near(std::span<const PaperMeasurement> measurements) {
    std::vector<double> collection, kernel, collection_model, kernel_model, rows, total;
    for (const PaperMeasurement& one : measurements) {
        collection.push_back(one.collection);
        kernel.push_back(one.kernel);
        collection_model.push_back(collection_speed_up_printed(one.near, 1));
        kernel_model.push_back(kernel_speed_up_printed(one.near, 1));
        rows.insert(rows.end(), {one.collection, one.kernel, one.transfer});
        total.push_back(one.total);
    }
    PaperNearConstants c;
    c.lambda_ram = fit_by_squares(collection, collection_model);
    c.lambda_gpu = fit_by_squares(kernel, kernel_model);
    const std::vector<double> shares = model::least_squares(rows, total, 3);
    c.alpha = shares[0];
    c.beta = shares[1];
    c.gamma = shares[2];
    return c;
}

} // namespace graft::study
