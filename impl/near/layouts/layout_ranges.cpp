// SPDX-License-Identifier: BSD-3-Clause
// The sane form of the indexed layout: points sorted by box, ranges in place of indices. Sources are read
// where they stand, run by run; short runs leave lanes empty.
#include "near/layouts/layout_makers.hpp"
#include "near/layouts/sorted_layout.hpp"

namespace graft::near {
namespace {

template <typename T, typename V>
class Ranges final : public SortedLayout<T, V> {
    using Base = SortedLayout<T, V>;

  public:
    Ranges(const Structure& structure, const Sums& sums, const LayoutOptions& options, core::Memory& memory)
        : Base(structure, sums, options, memory) {
        this->build(Layout::ranges, 0);
    }

  private:
    void sum_box(int64_t box, int, double* sums) override {
        Tile<V> tile = this->tile_of(box);
        tile.runs = this->runs(box), tile.run_count = this->run_count(box);
        this->mark_own(box, tile);
        this->run_groups(tile, sums, [&](int32_t c) { return this->charge(c); });
    }
};

} // namespace

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make_ranges(const Structure& structure, const Sums& sums,
                                           const LayoutOptions& options, core::Memory& memory) {
    return std::make_unique<Ranges<T, V>>(structure, sums, options, memory);
}
GRAFT_NEAR_MAKERS(make_ranges)

} // namespace graft::near
