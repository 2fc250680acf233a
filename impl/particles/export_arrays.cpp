// SPDX-License-Identifier: BSD-3-Clause
// Strided, typed stores; type, add and weights are chosen outside the loops.
#include "particles/export_arrays.hpp"

#include "particles/array_items.hpp"

#include <atomic>
#include <cmath>
#include <cstring>

namespace graft::particles {

using core::fail;
using core::Status;

namespace {

constexpr int64_t block = 16384;

/// What is written for target k, which is `item`; `old` is what is added to.
template <typename T, bool add, bool weighted>
double result_of(const RealExport& r, int64_t k, int64_t item) noexcept {
    const double value = weighted ? r.factor * r.weight[item] * r.value[k] : r.factor * r.value[k];
    return add ? static_cast<double>(load<T>(r.view.at(item))) + value : value;
}

/// body(executor, result, index, count) of the type, add and weights in hand.
template <template <typename, bool, bool> class Body>
auto choose(const backend::Executor& executor, const RealExport& r, const int32_t* index, int64_t count) {
    const bool add = r.view.add;
    const auto with = [&]<typename T>(T) {
        if (r.weight != nullptr)
            return add ? Body<T, true, true>::run(executor, r, index, count)
                       : Body<T, false, true>::run(executor, r, index, count);
        return add ? Body<T, true, false>::run(executor, r, index, count)
                   : Body<T, false, false>::run(executor, r, index, count);
    };
    if (r.view.type == ElementType::f32)
        return with(float());
    return with(double());
}

template <typename T, bool add, bool weighted>
struct Export {
    static void run(const backend::Executor& executor, const RealExport& r, const int32_t* index,
                    int64_t count) {
        executor.for_each(
            count,
            [&](int64_t k) {
                const int64_t item = index != nullptr ? index[k] : r.first + k;
                const T result = static_cast<T>(result_of<T, add, weighted>(r, k, item));
                std::memcpy(r.view.at(item), &result, sizeof result);
            },
            block);
    }
};

constexpr int64_t no_item = Unfinished().item;

template <typename T, bool add, bool weighted>
struct Check {
    static bool bad(double value) { return !std::isfinite(static_cast<T>(value)); }
    static Unfinished run(const backend::Executor& executor, const RealExport& r, const int32_t* index,
                          int64_t count) {
        constexpr bool by_item = add || weighted; // else the order does not matter, and is not read
        std::atomic<int64_t> first{no_item};
        const auto item_of = [&](int64_t k) { return index != nullptr ? int64_t{index[k]} : r.first + k; };
        executor.for_blocks(count, block, [&](int64_t begin, int64_t end, int) {
            bool found = false;
            for (int64_t k = begin; k < end; ++k)
                found |= bad(result_of<T, add, weighted>(r, k, by_item ? item_of(k) : 0));
            for (int64_t k = begin; found && k < end; ++k)
                if (bad(result_of<T, add, weighted>(r, k, item_of(k))))
                    note_first(first, item_of(k));
        });
        if (first == no_item)
            return {};
        int64_t k = 0;
        while (item_of(k) != first)
            ++k;
        return {first, result_of<T, add, weighted>(r, k, first)};
    }
};

} // namespace

void refuse_result(const char* name, int64_t bad, double value) {
    if (std::isfinite(value))
        fail(Status::value,
             "%s: item %lld (counted from 0) would be %g, which single precision cannot hold; nothing was "
             "written. Take results of GRAFT_F64, or choose other units",
             name, static_cast<long long>(bad), value);
    fail(Status::value,
         "%s: item %lld (counted from 0) would be no finite number, and it is the first such item; nothing was "
         "written. Positions, charges and softening lengths leave the range of double precision when "
         "multiplied: look for a body that blew up, or choose other units",
         name, static_cast<long long>(bad));
}

Unfinished first_unfinished(const backend::Executor& executor, const RealExport& result, const int32_t* index,
                            int64_t count) {
    return choose<Check>(executor, result, index, count);
}

void check_reals(const backend::Executor& executor, const RealExport& result, const int32_t* index,
                 int64_t count) {
    if (const Unfinished found = first_unfinished(executor, result, index, count); found.any())
        refuse_result(result.name, found.item, found.value);
}

void export_reals(const backend::Executor& executor, const RealExport& result, const int32_t* index,
                  int64_t count) {
    choose<Export>(executor, result, index, count);
}

} // namespace graft::particles
