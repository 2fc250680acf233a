// SPDX-License-Identifier: BSD-3-Clause
// `graft check` on ranks: which particles a rank computes, and everybody's errors on rank 0.
#include "command/check_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace graft::cli {

void CheckRunner::take_share(Solver& solver, const std::string& domains) {
    const auto n = static_cast<std::int64_t>(particles_.size());
    const std::int64_t begin = ranks_.block_begin(n, ranks_.rank()),
                       end = ranks_.block_begin(n, ranks_.rank() + 1);
    const auto block = [&](const std::vector<double>& all) {
        return std::vector<double>(all.begin() + begin, all.begin() + end);
    };
    share_ = Snapshot();
    share_.x = block(particles_.x);
    share_.y = block(particles_.y);
    share_.z = block(particles_.z);
    share_.mass = block(particles_.mass);
    numbers_.resize(share_.size());
    std::iota(numbers_.begin(), numbers_.end(), begin);
    if (!ranks_.alone() && domains == "orb") {
        solver.migrate(solver.decompose(share_, numbers_),
                       {&share_.x, &share_.y, &share_.z, &share_.mass, &numbers_});
    }
}

std::vector<double> CheckRunner::errors(const Field& field) {
    std::vector<double> own;
    for (std::size_t k = 0; k < numbers_.size(); ++k) {
        if (!std::binary_search(targets_.begin(), targets_.end(), numbers_[k])) {
            continue;
        }
        const auto i = static_cast<std::size_t>(numbers_[k]);
        const double size = std::hypot(reference_.ax[i], reference_.ay[i], reference_.az[i]);
        const double difference = std::hypot(field.ax[k] - reference_.ax[i], field.ay[k] - reference_.ay[i],
                                             field.az[k] - reference_.az[i]);
        own.push_back(difference == 0 ? 0 : difference / size);
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(own.data());
    std::vector<double> result;
    for (const ByteVector& part : ranks_.gather({bytes, bytes + own.size() * sizeof(double)})) {
        const std::size_t at = result.size();
        result.resize(at + part.size() / sizeof(double));
        std::copy(part.begin(), part.end(), reinterpret_cast<std::byte*>(result.data() + at));
    }
    std::sort(result.begin(), result.end());
    return result;
}

} // namespace graft::cli
