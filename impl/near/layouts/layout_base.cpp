// SPDX-License-Identifier: BSD-3-Clause
// What all layouts of the host share, see layout_base.hpp.
#include "near/layouts/layout_base.hpp"

namespace graft::near {

double common_bytes(const Shape& shape, int32_t threads) {
    return 8.0 * threads * static_cast<double>(scratch_sums(shape));
}

template <typename T, typename V>
HostBase<T, V>::HostBase(const Structure& structure, const Sums& sums, const LayoutOptions& options,
                         core::Memory& memory)
    : structure_(structure), sums_(sums),
      most_bytes_(options.most_bytes), executor_{memory, backend::resolve_threads(options.threads)},
      shape_(options.shape != nullptr ? *options.shape : shape_of(structure, sums, executor_.threads)),
      table_(memory, "near field: table"), scratch_(memory, "near field: sums of a box") {
    if (shape_.sources > INT32_MAX || shape_.most_sources > INT32_MAX)
        core::fail(core::Status::unsupported,
                   "near field: %lld sources; the host's layouts number them in 32 bits, at most %d",
                   static_cast<long long>(shape_.sources), INT32_MAX);
    if (sums.kernel.kernel == Kernel::table) {
        table_.reserve(4 * (static_cast<int64_t>(sums.kernel.table.value.size()) - 1), executor_);
        table_coefficients(sums.kernel.table, table_.data());
    }
    constants_ = constants_of<V>(sums, table_.data());
    scratch_.reserve(executor_.threads * scratch_sums(shape_), executor_);
    scale_ = {sums.kernel.factor, sums.kernel.factor};
}

template <typename T, typename V>
void HostBase<T, V>::choose_loops(bool columns) {
    Variant variant;
    variant.form = form_of(sums_.kernel, sizeof(V) == 4);
    variant.dimension = sums_.dimension;
    variant.value = (sums_.outputs & potential) != 0;
    variant.slope = (sums_.outputs & gradient) != 0;
    variant.columns = columns;
    for (int32_t done = 0, g = 0; done < sums_.components; done += group_size_[g], ++g) {
        variant.components = group_size_[g] = group_of(variant.form, sums_.components - done);
        group_loop_[g] = tile_function<V>(variant, low);
    }
}

template <typename T, typename V>
int64_t HostBase<T, V>::sources_of(int64_t box, int64_t* self) const {
    int64_t sources = 0;
    if (self != nullptr)
        *self = -1;
    for (int64_t k = structure_.neighbour_offset[box]; k < structure_.neighbour_offset[box + 1]; ++k) {
        const int32_t other = structure_.neighbour[k];
        if (self != nullptr && structure_.same && other == box)
            *self = sources;
        sources += structure_.source_offset[other + 1] - structure_.source_offset[other];
    }
    return sources;
}

template <typename T, typename V>
void HostBase<T, V>::divide(Layout layout, double fixed_bytes) {
    const double least =
        divide_by(fixed_bytes, most_bytes(), [&](int64_t box, bool) { return unit_bytes(box); });
    if (least > most_bytes())
        refuse(layout, least);
}

template <typename T, typename V>
void HostBase<T, V>::refuse(Layout layout, double bytes) const {
    core::fail(
        core::Status::memory,
        "near field: layout %s needs at least %.0f bytes here, %.0f are allowed; raise the cap or take "
        "another layout",
        std::string(name(layout)).c_str(), bytes, most_bytes());
}

template <typename T, typename V>
void HostBase<T, V>::set_points(const Coordinates<T>& targets, const Coordinates<T>& sources) {
    core::Timer timer;
    executor_.threads = backend::resolve_threads(executor_.threads); // fewer in a child after fork
    targets_ = targets;
    sources_ = structure_.same ? targets : sources;
    set_fixed_points();
    if (chunks() == 1)
        collect(0, structure_.target_boxes());
    times_.collection_s = timer.seconds();
}

template <typename T, typename V>
void HostBase<T, V>::set_charges(const Charges<T>& charges) {
    core::Timer timer;
    executor_.threads = backend::resolve_threads(executor_.threads);
    charges_ = charges;
    set_fixed_charges();
    if (chunks() == 1)
        fill_charges(0, structure_.target_boxes());
    times_.charges_s = timer.seconds();
}

template <typename T, typename V>
void HostBase<T, V>::run(const Fields<T>& fields) {
    core::Timer total;
    if (chunks() > 1)
        times_.collection_s = times_.charges_s = 0;
    times_.kernel_s = 0;
    for (size_t c = 0; c + 1 < chunk_begin_.size(); ++c) {
        core::Timer timer;
        if (chunks() > 1) {
            collect(chunk_begin_[c], chunk_begin_[c + 1]);
            times_.collection_s += timer.lap();
            fill_charges(chunk_begin_[c], chunk_begin_[c + 1]);
            times_.charges_s += timer.lap();
        }
        sum_boxes(chunk_begin_[c], chunk_begin_[c + 1], fields);
        times_.kernel_s += timer.lap();
    }
    times_.total_s = total.seconds();
}

template <typename T, typename V>
void HostBase<T, V>::sum_boxes(int64_t begin, int64_t end, const Fields<T>& fields) {
    const int64_t each = scratch_sums(shape_);
    for (const bool second : {false, true}) {
        if (second && !second_pass(-1, 0, nullptr))
            return;
        executor_.for_blocks(end - begin, block(), [&](int64_t from, int64_t to, int thread) {
            double* sums = scratch_.data() + thread * each;
            for (int64_t box = begin + from; box < begin + to; ++box) {
                if (targets_of(box) == 0)
                    continue;
                std::fill_n(sums, round_up(targets_of(box), record_step) * stride(), 0.0);
                if (second)
                    second_pass(box, thread, sums);
                else
                    sum_box(box, thread, sums);
                write_box(box, sums, fields, second);
            }
        });
    }
}

template <typename T, typename V>
void HostBase<T, V>::write_box(int64_t box, const double* sums, const Fields<T>& fields, bool add) const {
    const int64_t first = structure_.target_offset[box], stride = this->stride();
    const int64_t count = targets_of(box);
    const auto write = [&](T* out, int at, double factor) {
        if (out == nullptr)
            return;
        for (int64_t i = 0; i < count; ++i) {
            T& place = out[target_point(first + i)];
            const double value = factor * sums[i * stride + at];
            place = static_cast<T>(add ? static_cast<double>(place) + value : value);
        }
    };
    for (int32_t c = 0; c < sums_.components; ++c) {
        if (sums_.outputs & potential)
            write(fields.potential[c], sums_per_component * c, scale_[0]);
        if (sums_.outputs & gradient)
            for (int axis = 0; axis < sums_.dimension; ++axis)
                write(fields.gradient[c][axis], sums_per_component * c + 1 + axis, scale_[1]);
    }
}

template class HostBase<float, float>;
template class HostBase<double, float>;
template class HostBase<double, double>;

} // namespace graft::near
