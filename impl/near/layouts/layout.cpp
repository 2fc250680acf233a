// SPDX-License-Identifier: BSD-3-Clause
// Which class a layout is.
#include "near/layouts/layout.hpp"

#include "core/error.hpp"
#include "near/layouts/layout_makers.hpp"

namespace graft::near {
namespace {

template <typename T, typename V>
std::unique_ptr<HostLayout<T>> make(Layout layout, const Structure& structure, const Sums& sums,
                                    const LayoutOptions& options, core::Memory& memory) {
    switch (layout) {
    case Layout::indexed:
        return make_indexed<T, V>(structure, sums, options, memory);
    case Layout::ranges:
        return make_ranges<T, V>(structure, sums, options, memory);
    case Layout::replicated:
        return make_replicated<T, V>(structure, sums, options, memory);
    case Layout::replicated_interleaved:
        return make_replicated_interleaved<T, V>(structure, sums, options, memory);
    case Layout::replicated_group:
        return make_replicated_group<T, V>(structure, sums, options, memory);
    case Layout::tiled:
        return make_tiled<T, V>(structure, sums, options, memory);
    case Layout::tiled_split:
        return make_tiled_split<T, V>(structure, sums, options, memory);
    case Layout::replicated_packed:
        return make_replicated_packed<T, V>(structure, sums, options, memory);
    case Layout::replicated_group_padded:
        return make_replicated_group_padded<T, V>(structure, sums, options, memory);
    }
    core::fail(core::Status::argument, "near field: layout %d is unknown", static_cast<int>(layout));
}

void check(const Sums& sums, bool single) {
    if (single != (sums.precision == Precision::fp32))
        core::fail(core::Status::argument, "near field: precision %s takes %s arrays",
                   std::string(name(sums.precision)).c_str(),
                   sums.precision == Precision::fp32 ? "float" : "double");
    if (sums.components < 1 || sums.components > most_components ||
        (sums.kernel.kernel == Kernel::helmholtz && sums.components % 2 != 0))
        core::fail(core::Status::argument,
                   "near field: %d components; expected 1...%d, an even number for helmholtz",
                   sums.components, most_components);
}

} // namespace

template <>
std::unique_ptr<HostLayout<float>> make_layout<float>(Layout layout, const Structure& structure,
                                                      const Sums& sums, const LayoutOptions& options,
                                                      core::Memory& memory) {
    check(sums, true);
    return make<float, float>(layout, structure, sums, options, memory);
}
template <>
std::unique_ptr<HostLayout<double>> make_layout<double>(Layout layout, const Structure& structure,
                                                        const Sums& sums, const LayoutOptions& options,
                                                        core::Memory& memory) {
    check(sums, false);
    return sums.precision == Precision::mixed
               ? make<double, float>(layout, structure, sums, options, memory)
               : make<double, double>(layout, structure, sums, options, memory);
}

} // namespace graft::near
