// SPDX-License-Identifier: BSD-3-Clause
// The host's arrays in the layouts that hosts have, each in a buffer whose every other byte is watched.
#pragma once

#include "scene.hpp"

#include <graft/graft.h>

#include <cstring>

namespace soak {

constexpr unsigned char untouched = 0xA5;

/// n items of `components` numbers. Layouts: soa (an array each), aos, xyzh (four to an item), struct (112 bytes).
class Numbers {
  public:
    Numbers(size_t n, int components, const std::string& layout, bool single)
        : n_(n), components_(components), single_(single), separate_(layout == "soa" || components == 1),
          element_(single ? 4 : 8), item_(element_ * static_cast<size_t>(components)), base_(0) {
        if (layout == "struct")
            item_ = 112, base_ = 16;
        else if (separate_)
            item_ = element_;
        else if (layout == "xyzh")
            item_ = 4 * element_;
        plane_ = separate_ && layout != "struct" ? n * element_ : element_;
        bytes_.assign(base_ + n * item_ * (separate_ ? static_cast<size_t>(components) : 1) + 64, untouched);
        for (int c = 0; c < (separate_ ? components : 1); ++c)
            arrays_.push_back(describe(c));
    }
    Numbers(const Numbers&) = delete;
    Numbers& operator=(const Numbers&) = delete;

    const graft_array* array(int c) const {
        return c < static_cast<int>(arrays_.size()) ? &arrays_[c] : nullptr;
    }
    double get(size_t i, int c) const {
        float f = 0;
        double d = 0;
        std::memcpy(single_ ? static_cast<void*>(&f) : &d, bytes_.data() + offset(i, c), element_);
        return single_ ? static_cast<double>(f) : d;
    }
    void set(size_t i, int c, double value) {
        const auto f = static_cast<float>(value);
        std::memcpy(bytes_.data() + offset(i, c), single_ ? static_cast<const void*>(&f) : &value, element_);
    }
    /// Remembers what is there; differs() then says whether anything but the marked items has changed.
    void watch() { before_ = bytes_; }
    void allow(size_t i) {
        for (int c = 0; c < components_; ++c)
            std::memcpy(before_.data() + offset(i, c), bytes_.data() + offset(i, c), element_);
    }
    bool differs() const { return before_ != bytes_; }

  private:
    size_t offset(size_t i, int c) const { return base_ + i * item_ + static_cast<size_t>(c) * plane_; }
    graft_array describe(int c) {
        graft_array a{};
        a.struct_size = sizeof a;
        a.data = bytes_.data() + offset(0, c);
        a.dtype = single_ ? GRAFT_F32 : GRAFT_F64;
        a.memory = GRAFT_MEMORY_HOST;
        a.components = separate_ ? 1 : components_;
        a.n = static_cast<int64_t>(n_);
        a.item_stride = static_cast<int64_t>(item_);
        a.component_stride = static_cast<int64_t>(element_);
        a.bytes = static_cast<int64_t>(
            n_ == 0 ? 0 : (n_ - 1) * item_ + element_ * static_cast<size_t>(a.components));
        return a;
    }

    size_t n_;
    int components_;
    bool single_, separate_;
    size_t element_, item_, base_, plane_ = 0;
    std::vector<unsigned char> bytes_, before_;
    std::vector<graft_array> arrays_;
};

/// An array of indices or flags.
template <typename T>
graft_array whole_numbers(std::vector<T>& values) {
    graft_array a{};
    a.struct_size = sizeof a;
    a.data = values.data();
    a.dtype = sizeof(T) == 4 ? GRAFT_I32 : GRAFT_I64;
    a.memory = GRAFT_MEMORY_HOST;
    a.components = 1;
    a.n = static_cast<int64_t>(values.size());
    a.bytes = static_cast<int64_t>(values.size() * sizeof(T));
    return a;
}

} // namespace soak
