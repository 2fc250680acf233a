// SPDX-License-Identifier: BSD-3-Clause
// Moments to M2P coefficients, see expansion.hpp.
#include "moments/expansion.hpp"

#include "moments/node_expansion.hpp"

#include <algorithm>

namespace graft::moments {

template <typename T>
void extend_expansion(const backend::Executor& executor, const Moments& moments, bool softened, int64_t begin,
                      int64_t end, core::Buffer<T>& out) {
    const int size = record_size(moments.order, softened);
    out.resize_keep(end * size);
    executor.for_each(
        end - begin,
        [&](int64_t i) {
            const int64_t k = begin + i;
            const double* const from = moments.of(static_cast<int32_t>(k));
            T* const to = out.data() + k * size;
            if (is_harmonic(moments.order))
                std::fill(std::copy_n(from, harmonic_count(moments.order), to), to + size, T(0));
            else
                fill_node(from, moments.order, softened, size, to);
        },
        1024);
}

template <typename T>
void fill_expansion(const backend::Executor& executor, const Moments& moments, bool softened,
                    core::Buffer<T>& out) {
    out.resize(moments.magnitude.size() * record_size(moments.order, softened)); // no doubling
    extend_expansion(executor, moments, softened, 0, moments.magnitude.size(), out);
}

template void fill_expansion<float>(const backend::Executor&, const Moments&, bool, core::Buffer<float>&);
template void fill_expansion<double>(const backend::Executor&, const Moments&, bool, core::Buffer<double>&);
template void extend_expansion<float>(const backend::Executor&, const Moments&, bool, int64_t, int64_t,
                                      core::Buffer<float>&);
template void extend_expansion<double>(const backend::Executor&, const Moments&, bool, int64_t, int64_t,
                                       core::Buffer<double>&);

} // namespace graft::moments
