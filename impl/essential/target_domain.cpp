// SPDX-License-Identifier: BSD-3-Clause
// See target_domain.hpp.
#include "essential/target_domain.hpp"

#include <algorithm>

namespace graft::essential {

namespace {

double square_of_diagonal(const geometry::Box& box) {
    double sum = 0;
    for (int a = 0; a < 3; ++a)
        sum += box.edge(a) * box.edge(a);
    return sum;
}

} // namespace

Domains::Domains(core::Memory& memory)
    : before_(memory, "cuts of the domain"), own_(memory, "own domain"), all_(memory, "domains") {}

int Domains::most_boxes(int ranks) {
    return std::clamp(4096 / ranks, 1, 64);
}

/// Where the two parts' squared diagonals add up to least; groups stand along a curve, whose jumps this
/// finds.
int64_t Domains::best_cut(const core::Buffer<lists::Group>& groups, const Run& run) {
    before_.resize(run.end - run.begin);
    geometry::Box box;
    for (int64_t g = run.begin; g < run.end; ++g) {
        box.include(groups[g].target.box);
        before_[g - run.begin] = square_of_diagonal(box);
    }
    geometry::Box behind;
    int64_t best = run.begin + 1;
    double least = std::numeric_limits<double>::infinity();
    for (int64_t g = run.end - 1; g > run.begin; --g) {
        behind.include(groups[g].target.box);
        const double sum = before_[g - 1 - run.begin] + square_of_diagonal(behind);
        if (sum < least) {
            least = sum;
            best = g;
        }
    }
    return best;
}

void Domains::cover(const core::Buffer<lists::Group>& groups, int most) {
    runs_.clear();
    runs_.reserve(static_cast<size_t>(most));
    const auto add = [&](int64_t begin, int64_t end) {
        geometry::Box box;
        for (int64_t g = begin; g < end; ++g)
            box.include(groups[g].target.box);
        runs_.push_back({begin, end, end - begin > 1 ? square_of_diagonal(box) : -1});
    };
    if (!groups.empty())
        add(0, groups.size());
    while (!runs_.empty() && static_cast<int>(runs_.size()) < most) {
        const auto largest = std::max_element(
            runs_.begin(), runs_.end(), [](const Run& a, const Run& b) { return a.measure < b.measure; });
        if (largest->measure <= 0)
            break;
        const Run run = *largest;
        runs_.erase(largest);
        const int64_t cut = best_cut(groups, run);
        add(run.begin, cut);
        add(cut, run.end);
    }
    update(groups);
}

void Domains::update(const core::Buffer<lists::Group>& groups) {
    own_.resize(static_cast<int64_t>(runs_.size()));
    for (size_t r = 0; r < runs_.size(); ++r) {
        lists::Target& cover = own_[static_cast<int64_t>(r)];
        cover = {{}, 0, 0};
        for (int64_t g = runs_[r].begin; g < runs_[r].end; ++g) {
            const lists::Target& target = groups[g].target;
            cover.box.include(target.box);
            cover.factor = std::max(cover.factor, target.factor);
            cover.softening = std::max(cover.softening, target.softening);
        }
    }
}

void Domains::exchange(comm::Communicator& comm) {
    const auto ranks = static_cast<size_t>(comm.size());
    comm.together([&] {
        bytes_.resize(ranks);
        offset_.resize(ranks + 1);
    });
    const int64_t own_bytes = own_.size() * size;
    comm.allgather(&own_bytes, 1, bytes_.data());
    comm.together([&] {
        offset_[0] = 0;
        for (size_t r = 0; r < ranks; ++r)
            offset_[r + 1] = offset_[r] + bytes_[r];
        all_.resize(offset_[ranks] / size);
    });
    comm.allgatherv_bytes(own_.data(), own_bytes, all_.data(), bytes_.data(), offset_.data());
}

} // namespace graft::essential
