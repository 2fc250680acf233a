// SPDX-License-Identifier: BSD-3-Clause
// Names of layouts, kernels and precisions, as decks and reports use them.
#include "core/error.hpp"
#include "near/near_field.hpp"

namespace graft::near {
namespace {

constexpr std::array<std::string_view, layouts> layout_names = {
    "indexed", "ranges",      "replicated",        "replicated_interleaved", "replicated_group",
    "tiled",   "tiled_split", "replicated_packed", "replicated_group_padded"};
constexpr std::array<std::string_view, 5> kernel_names = {"laplace", "logarithm", "yukawa", "helmholtz",
                                                          "table"};
constexpr std::array<std::string_view, 3> precision_names = {"fp32", "mixed", "fp64"};

} // namespace

std::string_view name(Layout layout) {
    return layout_names[static_cast<size_t>(layout)];
}
std::string_view name(Kernel kernel) {
    return kernel_names[static_cast<size_t>(kernel)];
}
std::string_view name(Precision precision) {
    return precision_names[static_cast<size_t>(precision)];
}

Layout layout_named(std::string_view text) {
    for (size_t i = 0; i < layout_names.size(); ++i)
        if (layout_names[i] == text)
            return static_cast<Layout>(i);
    std::string all;
    for (const std::string_view one : layout_names)
        all += (all.empty() ? "" : ", ") + std::string(one);
    core::fail(core::Status::argument, "near field: layout '%.*s' is unknown; choose one of: %s",
               static_cast<int>(text.size()), text.data(), all.c_str());
}

} // namespace graft::near
