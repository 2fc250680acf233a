// SPDX-License-Identifier: BSD-3-Clause
// The makers of the host's layouts, one a file; make_layout (layout.cpp) chooses.
#pragma once

#include "near/layouts/layout.hpp"

namespace graft::near {

#define GRAFT_NEAR_MAKER(maker)                                                                              \
    template <typename T, typename V>                                                                        \
    std::unique_ptr<HostLayout<T>> maker(const Structure& structure, const Sums& sums,                       \
                                         const LayoutOptions& options, core::Memory& memory);
GRAFT_NEAR_MAKER(make_indexed)
GRAFT_NEAR_MAKER(make_ranges)
GRAFT_NEAR_MAKER(make_replicated)
GRAFT_NEAR_MAKER(make_replicated_interleaved)
GRAFT_NEAR_MAKER(make_replicated_group)
GRAFT_NEAR_MAKER(make_tiled)
GRAFT_NEAR_MAKER(make_tiled_split)
GRAFT_NEAR_MAKER(make_replicated_packed)
GRAFT_NEAR_MAKER(make_replicated_group_padded)
#undef GRAFT_NEAR_MAKER

/// fp32, mixed, fp64.
#define GRAFT_NEAR_MAKERS(maker)                                                                             \
    template std::unique_ptr<HostLayout<float>> maker<float, float>(const Structure&, const Sums&,           \
                                                                    const LayoutOptions&, core::Memory&);    \
    template std::unique_ptr<HostLayout<double>> maker<double, float>(const Structure&, const Sums&,         \
                                                                      const LayoutOptions&, core::Memory&);  \
    template std::unique_ptr<HostLayout<double>> maker<double, double>(const Structure&, const Sums&,        \
                                                                       const LayoutOptions&, core::Memory&);

} // namespace graft::near
