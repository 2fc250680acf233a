// SPDX-License-Identifier: BSD-3-Clause
// decompose and owner_of.
#include "context.hpp"
#include "entries.hpp"
#include "points.hpp"

#include <cmath>
#include <cstring>

namespace graft::capi {

using core::fail;
using core::Status;
using particles::ArrayView;

namespace {

/// The arrays of a graft_decomposition, checked.
struct Wanted {
    ArrayView owner, permutation, part_offset, boxes;
    int64_t permutation_base = 0, offset_base = 0;
    bool order() const { return permutation.present() || part_offset.present(); }
};

Wanted read_wanted(const graft_decomposition* given, int64_t n, int32_t parts) {
    const graft_decomposition d = read_struct(given, "decomposition");
    Wanted wanted;
    wanted.owner = read_new_owner(d.owner, "decomposition.owner", n);
    wanted.permutation = read_written(d.permutation, "decomposition.permutation", 1, Elements::integers, n);
    wanted.permutation_base = counts_from_1(d.permutation) ? 1 : 0;
    wanted.part_offset = read_written(d.part_offset, "decomposition.part_offset", 1, Elements::integers,
                                    static_cast<int64_t>(parts) + 1);
    wanted.offset_base = counts_from_1(d.part_offset) ? 1 : 0;
    wanted.boxes = read_written(d.boxes, "decomposition.boxes", 6, Elements::reals, parts);
    return wanted;
}

template <typename T>
void write_box(const geometry::Box& box, int dimension, const ArrayView& view, int64_t part) {
    for (int32_t c = 0; c < 6; ++c) {
        const int axis = c % 3;
        const T value = static_cast<T>(axis >= dimension ? 0 : (c < 3 ? box.lower[axis] : box.upper[axis]));
        std::memcpy(view.at(part, c), &value, sizeof value);
    }
}

void write_boxes(const decompose::Decomposition& domains, int dimension, const ArrayView& view) {
    for (int32_t part = 0; part < domains.parts() && view.present(); ++part)
        if (view.type == particles::ElementType::f32)
            write_box<float>(domains.box_of(part), dimension, view, part);
        else
            write_box<double>(domains.box_of(part), dimension, view, part);
}

void write(const backend::Executor& executor, const decompose::Result& result, int dimension,
           const Wanted& wanted) {
    if (wanted.owner.present())
        export_integers(executor, result.owner.data(), wanted.owner.n, 0, wanted.owner);
    if (wanted.permutation.present())
        export_integers(executor, result.permutation.data(), wanted.permutation.n, wanted.permutation_base,
                        wanted.permutation);
    if (wanted.part_offset.present())
        export_integers(executor, result.part_offset.data(), wanted.part_offset.n, wanted.offset_base,
                        wanted.part_offset);
    write_boxes(*result.domains, dimension, wanted.boxes);
}

Figures::Numbers numbers_of(const decompose::Statistics& s, int32_t parts) {
    return {{"parts", parts},
            {"imbalance_count", s.imbalance_count},
            {"imbalance_weight", s.imbalance_weight},
            {"passes", static_cast<double>(s.passes)},
            {"iterations_per_cut", s.iterations_per_cut},
            {"cuts", static_cast<double>(s.cuts)},
            {"collectives", static_cast<double>(s.collectives)},
            {"bytes", static_cast<double>(s.bytes)},
            {"messages", static_cast<double>(s.messages)},
            {"time_s.cuts", s.cuts_s},
            {"time_s.partition", s.partition_s},
            {"on_device", static_cast<double>(s.on_device)},
            {"time_s.upload", s.upload_s},
            {"time_s.wait", s.wait_s},
            {"time_s.total", s.total_s}};
}

} // namespace

int32_t decompose(graft_context* context, const graft_particles* particles,
                  const graft_decomposition* decomposition) noexcept {
    return collective(context, "decompose", [&](comm::Communicator& ranks) {
        const backend::Executor executor = executor_of(*context);
        const int dimension = context->solver.settings().dimension;
        DomainState& state = *context->domains;
        decompose::Options options = context->options.balance.decompose;
        options.dimension = dimension;
        options.parts = context->options.asked.parts != 0 ? context->options.asked.parts : ranks.size();
        options.device = device_of_domains(*context);
        PointViews views;
        Wanted wanted;
        ranks.together([&] {
            views = view_particles(particles, dimension);
            wanted = read_wanted(decomposition, views.n, options.parts);
            import_points(executor, views, dimension, state.points);
        });
        int32_t asked[2] = {wanted.order(), wanted.boxes.present()};
        ranks.allreduce(asked, 2, comm::Operation::max);
        decompose::Result& result = state.decomposition;
        state.decomposer.run(ranks, executor, options, agree_points(ranks, views, state.points),
                             asked[0] != 0, result);
        if (asked[1] != 0 && !result.domains->is_complete())
            result.domains->complete(ranks);
        ranks.conclude();
        write(executor, result, dimension, wanted);
        state.domains = result.domains;
        context->figures.note("decompose",
                              [&] { return Figures::Content{numbers_of(result.statistics, options.parts)}; });
    });
}

int32_t owner_of(graft_context* context, const graft_particles* points, const graft_array* owner) noexcept {
    return collective(context, "owner_of", [&](comm::Communicator& ranks) {
        const backend::Executor executor = executor_of(*context);
        const int dimension = context->solver.settings().dimension;
        DomainState& state = *context->domains;
        PointViews views;
        ArrayView out;
        ranks.together([&] {
            views = view_particles(points, dimension);
            if (owner == nullptr)
                fail(Status::argument, "owner is NULL; expected an array of n integers");
            out = read_new_owner(owner, "owner", views.n);
            if (state.domains == nullptr)
                fail(Status::call_order, "owner_of: there are no domains on this context yet; call decompose "
                                         "(or balance, until it has taken new owners) first");
            import_points(executor, views, dimension, state.points);
            state.owner.resize(views.n);
        });
        if (!state.domains->is_complete())
            state.domains->complete(ranks);
        ranks.together([&] {
            const PointBuffers& p = state.points;
            executor.for_each(views.n, [&](int64_t i) {
                state.owner[i] = state.domains->owner_of(p.x[i], p.y[i], dimension == 3 ? p.z[i] : 0,
                                                         views.id.present() ? p.id[i] : -1);
            });
        });
        ranks.conclude();
        if (out.present())
            export_integers(executor, state.owner.data(), views.n, 0, out);
    });
}

} // namespace graft::capi
