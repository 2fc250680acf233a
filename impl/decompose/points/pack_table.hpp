// SPDX-License-Identifier: BSD-3-Clause
// Which lanes of a vector of eight a mask keeps, in front, in order: for instruction sets that permute but do
// not compress (AVX2).
#pragma once

#include <array>
#include <cstdint>

namespace graft::decompose {

using PackRow = std::array<uint32_t, 8>;

constexpr std::array<PackRow, 256> make_pack_table() {
    std::array<PackRow, 256> table{};
    for (uint32_t mask = 0; mask < 256; ++mask) {
        uint32_t kept = 0;
        for (uint32_t lane = 0; lane < 8; ++lane)
            if ((mask >> lane & 1U) != 0)
                table[mask][kept++] = lane;
    }
    return table;
}

alignas(64) inline constexpr std::array<PackRow, 256> pack_table = make_pack_table();

} // namespace graft::decompose
