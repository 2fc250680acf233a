// SPDX-License-Identifier: BSD-3-Clause
// The formulas, see near_paper.hpp; the fits are in near_paper_fit.cpp.
#include "study/papers/near_paper.hpp"

#include "core/error.hpp"

#include <cmath>

namespace graft::study {

namespace {

constexpr double integer_bytes = 4, real_bytes = 8, neighbours = 9;

} // namespace

double PaperNear::boxes() const {
    return std::ldexp(1.0, 2 * (height - 1));
}

double PaperNear::mean() const {
    return points / boxes();
}

int paper_height(double points, double threshold, int least) {
    if (!(points >= 1) || !(threshold >= 1))
        core::fail(core::Status::argument, "paper_height: %g points, at most %g a box; expected both >= 1",
                   points, threshold);
    PaperNear near{points, least, threshold, threshold};
    while (near.mean() > threshold)
        ++near.height;
    return near.height;
}

double indexed_collection_s(const PaperNear& near, double m, double find_s) {
    return near.points * 7 * m + near.boxes() * (m * (11 + 19 * near.largest) + 3 * m + find_s);
}

double replicated_collection_s(const PaperNear& near, double m, double find_s) {
    const double t = near.largest;
    return near.boxes() * (m + 14 * t * m + 45 * t * t * m + t * find_s);
}

double replicated_collection_printed_s(const PaperNear& near, double m, double find_s) {
    return near.boxes() * (m + 11 * near.largest * m + 45 * m + near.largest * find_s);
}

double indexed_thread_s(const PaperNear& near, double m, double pair_s) {
    const double t = near.largest;
    return 4 * m * (11.25 * t * t + t + 1) + neighbours * t * t * pair_s;
}

double replicated_thread_s(const PaperNear& near, double m, double pair_s) {
    return 3 * m + neighbours * near.largest * (4 * m + pair_s);
}

double indexed_bytes(const PaperNear& near) {
    return 5 * real_bytes * near.points + near.boxes() * integer_bytes * (2 + 10 * near.largest);
}

double replicated_bytes(const PaperNear& near) {
    return real_bytes * near.points * (3 + 3 * neighbours * near.threshold);
}

PaperLocality indexed_locality_printed(const PaperNear& near, double bank_bytes) {
    const double t = near.largest;
    const double bytes = integer_bytes * (2 + t + neighbours * t) + real_bytes * (2 * t + 3 * neighbours * t);
    return {bytes / bank_bytes, indexed_bytes(near) / bank_bytes, near.boxes()};
}

PaperLocality indexed_locality(const PaperNear& near, double bank_bytes) {
    const double d = near.mean();
    const double runs =
        std::ceil(integer_bytes * d / bank_bytes) + std::ceil(integer_bytes * neighbours * d / bank_bytes);
    const double scattered = 2 * d + 3 * neighbours * d; // x, y of targets; x, y, potential of sources
    return {2 + runs + scattered, indexed_bytes(near) / bank_bytes, near.boxes()};
}

PaperLocality replicated_locality(const PaperNear& near, double bank_bytes) {
    const double read = real_bytes * (3 + 3 * neighbours * near.mean());
    return {std::ceil(read / bank_bytes), replicated_bytes(near) / bank_bytes, near.points};
}

double indexed_miss_ratio(const PaperNear& near) {
    return 272 * near.largest * near.boxes() / indexed_bytes(near);
}

double replicated_miss_ratio(const PaperNear& near) {
    return 1 / near.points;
}

double collection_speed_up_printed(const PaperNear& near, double lambda_ram) {
    return lambda_ram / (21.6 * near.largest * near.mean());
}

double collection_speed_up(const PaperNear& near, double lambda_ram) {
    return lambda_ram / (5.4 * near.largest * near.mean());
}

double collection_speed_up_full(const PaperNear& near, double lambda_ram) {
    const double result = real_bytes * near.points;
    return lambda_ram * (indexed_bytes(near) + result) / (replicated_bytes(near) + result) / near.largest;
}

double transfer_speed_up_printed(const PaperNear& near) {
    return 1 / (21.6 * near.mean());
}

double transfer_speed_up(const PaperNear& near) {
    return indexed_bytes(near) / replicated_bytes(near);
}

double kernel_speed_up_printed(const PaperNear& near, double lambda_gpu) {
    return 55.31 * lambda_gpu * near.largest / (near.points * near.mean());
}

double kernel_speed_up(const PaperNear& near, double bank_bytes) {
    // Every target of a box reads its sources again, so a thread's banks count for each target;
    // boxes x D = N.
    const double indexed_banks = near.mean() * indexed_locality(near, bank_bytes).banks_of_thread;
    const double replicated_banks = replicated_locality(near, bank_bytes).banks_of_thread;
    return near.boxes() * indexed_banks / (near.points * replicated_banks);
}

double total_speed_up(const PaperNearConstants& c, double collection, double transfer, double kernel) {
    return c.alpha * collection + c.gamma * transfer + c.beta * kernel;
}

double total_speed_up_printed(const PaperNear& near, const PaperNearConstants& c) {
    return total_speed_up(c, collection_speed_up_printed(near, c.lambda_ram), transfer_speed_up_printed(near),
                          kernel_speed_up_printed(near, c.lambda_gpu));
}

PaperNear grown(PaperNear near, int growth) {
    near.height += growth;
    near.largest = std::ldexp(near.largest, -2 * growth);
    return near;
}

double total_speed_up_printed(PaperNear near, const PaperNearConstants& c, int growth) {
    return total_speed_up_printed(grown(near, growth), c);
}

double growth_speed_up_printed(const PaperNearConstants& c, int growth) {
    return std::ldexp(c.alpha, 4 * growth) + std::ldexp(c.gamma, 2 * growth) + c.beta;
}

double collection_limit_printed(double largest, double mean, double lambda_ram) {
    return lambda_ram / (21.6 * largest * mean);
}

double kernel_limit_printed(double largest, double mean, double lambda_gpu) {
    return 55.31 * lambda_gpu * largest / mean;
}

} // namespace graft::study
