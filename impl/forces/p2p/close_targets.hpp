// SPDX-License-Identifier: BSD-3-Clause
// Targets of a block, to be found by sources that are closer than the frame of the block resolves.
//
// A row of bins along the longest axis of their box, several a target; a target is in those within the limit of
// it, one or two. A source looks at one bin, which is mostly empty: a few operations beside those of its pairs.
#pragma once

#include "forces/frame_resolution.hpp"
#include "forces/p2p/gather.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

namespace graft::forces {

class CloseTargets {
  public:
    /// `limit`: sources nearer than this are too close, > 0.
    explicit CloseTargets(double limit) : limit_(limit) {}

    static constexpr int most = 256;
    bool empty() const { return count_ == 0; }
    bool full() const { return count_ == most; }
    void clear() {
        count_ = 0;
        box_ = {};
    }
    /// A target at the place of the last one asks what that one asks. Not when full.
    void add(double x, double y, double z) {
        if (count_ > 0 && x_[count_ - 1] == x && y_[count_ - 1] == y && z_[count_ - 1] == z)
            return;
        x_[count_] = x;
        y_[count_] = y;
        z_[count_] = z;
        ++count_;
        box_.include(x, y, z);
    }
    /// Before has_close(), behind all add().
    void sort() {
        axis_ = box_.longest_axis();
        const double width = std::max(box_.edge(axis_) / (bins - 4), 8 * limit_);
        begin_ = box_.lower[axis_] - 2 * width; // nobody is in the first bin and the last
        per_width_ = 1 / width;
        std::fill(std::begin(head_), std::end(head_), none);
        int16_t entries = 0;
        const double* const at = axis_ == 0 ? x_ : axis_ == 1 ? y_ : z_;
        for (int k = 0; k < count_; ++k) {
            const int first = bin(at[k] - limit_), last = bin(at[k] + limit_); // one or two
            for (int b = first; b <= last; ++b, ++entries) {
                entry_[entries] = {static_cast<int16_t>(k), head_[b]};
                head_[b] = entries;
            }
        }
    }
    /// Whether points in `box` may be close.
    bool may_reach(const geometry::Box& box) const {
        bool reached = true;
        for (int a = 0; a < 3; ++a)
            reached &= box.lower[a] - limit_ <= box_.upper[a] && box.upper[a] + limit_ >= box_.lower[a];
        return reached;
    }
    /// Whether one of the sources [first, first + count) is closer to a target than the limit, and not at its
    /// place.
    bool has_close(const ParticleArrays& sources, int64_t first, int64_t count) const {
        const double* const at = axis_ == 0 ? sources.x : axis_ == 1 ? sources.y : sources.z;
        for (int64_t j = first; j < first + count; ++j)
            for (int16_t e = head_[bin(at[j])]; e != none; e = entry_[e].next)
                if (is_close(entry_[e].target, sources.x[j], sources.y[j], sources.z[j]))
                    return true;
        return false;
    }

  private:
    static constexpr int bins = 1024;
    static constexpr int16_t none = -1;
    struct Entry {
        int16_t target, next;
    };

    int bin(double at) const {
        return static_cast<int>(std::min(std::max(0.0, (at - begin_) * per_width_), bins - 1.0));
    }
    bool is_close(int k, double x, double y, double z) const {
        const double distance =
            std::max(std::max(std::abs(x_[k] - x), std::abs(y_[k] - y)), std::abs(z_[k] - z));
        return distance < limit_ && distance > 0;
    }

    double limit_;
    int count_ = 0, axis_ = 0;
    double begin_ = 0, per_width_ = 0;
    geometry::Box box_;
    double x_[most], y_[most], z_[most];
    int16_t head_[bins];
    Entry entry_[2 * most];
};

} // namespace graft::forces
