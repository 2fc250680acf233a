// SPDX-License-Identifier: BSD-3-Clause
// Numbers to and from bytes of a stated order, wherever they lie (no alignment needed).
// Invariant: Cursor never reads past its bytes; the caller checks sizes first and a slip throws Error.
#pragma once

#include "snapshot/error.hpp"
#include "snapshot/file_io.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

namespace graft::cli {

enum class ByteOrder { Little, Big };

constexpr bool is_native(ByteOrder order) {
    return (order == ByteOrder::Little) == (std::endian::native == std::endian::little);
}

template <class T>
T load_number(const std::byte* from, ByteOrder order) {
    std::array<std::byte, sizeof(T)> raw;
    std::memcpy(raw.data(), from, sizeof(T));
    if (!is_native(order)) {
        std::reverse(raw.begin(), raw.end());
    }
    return std::bit_cast<T>(raw);
}

template <class T>
void store_number(std::vector<std::byte>& to, T value, ByteOrder order) {
    auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
    if (!is_native(order)) {
        std::reverse(raw.begin(), raw.end());
    }
    const std::size_t end = to.size();
    to.resize(end + sizeof(T));
    std::memcpy(to.data() + end, raw.data(), sizeof(T));
}

/// Reads numbers one after the other.
class Cursor {
  public:
    Cursor(Bytes bytes, ByteOrder order, std::string where)
        : bytes_(bytes), order_(order), where_(std::move(where)) {}

    template <class T>
    T next() {
        if (bytes_.size() - offset_ < sizeof(T)) {
            throw Error({"data end too early", where_, std::to_string(offset_ + sizeof(T)) + " bytes or more",
                         std::to_string(bytes_.size()) + " bytes", "make or fetch the file again"});
        }
        const T value = load_number<T>(bytes_.data() + offset_, order_);
        offset_ += sizeof(T);
        return value;
    }

    void skip(std::size_t bytes) { offset_ = std::min(bytes_.size(), offset_ + bytes); }
    std::size_t offset() const noexcept { return offset_; }

  private:
    Bytes bytes_;
    ByteOrder order_;
    std::string where_;
    std::size_t offset_ = 0;
};

} // namespace graft::cli
