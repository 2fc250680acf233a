// SPDX-License-Identifier: BSD-3-Clause
// What two calls must have in common so that one may take what the other has left: words to be compared.
#pragma once

#include "engine/gpu/job_gpu.cuh"
#include "settings/shared_settings.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace graft::engine {

class JobKey {
  public:
    template <typename T>
    JobKey& add(T value) {
        if constexpr (std::is_floating_point_v<T>)
            words_.push_back(std::bit_cast<uint64_t>(static_cast<double>(value)));
        else if constexpr (std::is_pointer_v<T>)
            words_.push_back(reinterpret_cast<uintptr_t>(value));
        else
            words_.push_back(static_cast<uint64_t>(value));
        return *this;
    }
    JobKey& add_view(const particles::ArrayView& view) {
        return add(view.data).add(view.type).add(view.add).add(view.n).add(view.item_stride).add(view.component_stride);
    }
    JobKey& add_input(const ParticleInput& input) {
        add(input.n)
            .add(input.charge_all)
            .add(input.has_active)
            .add(input.has_target)
            .add(input.target_from_1);
        for (const particles::ArrayView& axis : input.position)
            add_view(axis);
        return add_view(input.charge).add_view(input.softening).add_view(input.active).add_view(input.target);
    }
    JobKey& add_settings(const settings::Settings& s) {
        settings::visit_shared_settings(s, [&](auto value) { add(value); });
        const settings::DeviceOptions& d = s.device;
        add(d.build).add(d.top_depth).add(d.walk).add(d.kernel).add(d.direct_stage).add(d.block_x);
        return add(d.buffer).add(d.block_y).add(d.list_limit).add(d.memory_limit).add(d.reuse).add(d.skin);
    }
    std::vector<uint64_t> words() && { return std::move(words_); }

  private:
    std::vector<uint64_t> words_;
};

} // namespace graft::engine
