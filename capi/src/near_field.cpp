// SPDX-License-Identifier: BSD-3-Clause
// The near-field entries: the caller's structs in the plan's terms.
#include "context.hpp"
#include "entries.hpp"
#include "model/this_machine.hpp"

#include <cstring>

namespace graft::capi {

using core::fail;
using core::Status;
using particles::ArrayView;

namespace {

[[noreturn]] void refuse(const char* name, int32_t value, const char* expected) {
    fail(Status::argument, "near_field.%s is %d; expected %s", name, value, expected);
}

// The numbers of the ABI in the near field's words. 0 has been answered before, where it means the options'.

near::Kernel kernel_of(int32_t number) {
    switch (number) {
    case 0:
    case GRAFT_NEAR_LAPLACE:
        return near::Kernel::laplace;
    case GRAFT_NEAR_LOGARITHM:
        return near::Kernel::logarithm;
    case GRAFT_NEAR_YUKAWA:
        return near::Kernel::yukawa;
    case GRAFT_NEAR_HELMHOLTZ:
        return near::Kernel::helmholtz;
    case GRAFT_NEAR_TABLE:
        return near::Kernel::table;
    default:
        refuse("kernel", number, "GRAFT_NEAR_LAPLACE (1) to _TABLE (5), or 0 for laplace");
    }
}

near::Precision precision_of(int32_t number) {
    switch (number) {
    case GRAFT_PRECISION_FP32:
        return near::Precision::fp32;
    case GRAFT_PRECISION_MIXED:
        return near::Precision::mixed;
    case GRAFT_PRECISION_FP64:
        return near::Precision::fp64;
    default:
        refuse("precision", number,
               "GRAFT_PRECISION_FP32 (1), _MIXED (2) or _FP64 (3), or 0 for the options'");
    }
}

int32_t layout_of(int32_t number) {
    switch (number) {
    case GRAFT_NEAR_LAYOUT_RANGES:
        return static_cast<int32_t>(near::Layout::ranges);
    case GRAFT_NEAR_LAYOUT_REPLICATED_GROUP:
        return static_cast<int32_t>(near::Layout::replicated_group);
    case GRAFT_NEAR_LAYOUT_TILED:
        return static_cast<int32_t>(near::Layout::tiled);
    case GRAFT_NEAR_LAYOUT_TILED_SPLIT:
        return static_cast<int32_t>(near::Layout::tiled_split);
    case GRAFT_NEAR_LAYOUT_REPLICATED_GROUP_PADDED:
        return static_cast<int32_t>(near::Layout::replicated_group_padded);
    default:
        refuse("layout", number,
               "GRAFT_NEAR_LAYOUT_RANGES (2), _REPLICATED_GROUP (5), _TILED (6), _TILED_SPLIT (7) or "
               "_REPLICATED_GROUP_PADDED (9), or 0 for the options'");
    }
}

near::Boxes boxes_of(int32_t number) {
    switch (number) {
    case GRAFT_NEAR_BOXES_GRID:
        return near::Boxes::grid;
    case GRAFT_NEAR_BOXES_LEVEL:
        return near::Boxes::level;
    case GRAFT_NEAR_BOXES_LEAVES:
        return near::Boxes::leaves;
    default:
        refuse("boxes", number,
               "GRAFT_NEAR_BOXES_LISTS (1), _GRID (2), _LEVEL (3) or _LEAVES (4), or 0 for lists");
    }
}

int32_t outputs_of(int32_t bits) {
    if ((bits & ~(GRAFT_NEAR_POTENTIAL | GRAFT_NEAR_GRADIENT)) != 0)
        refuse("outputs", bits,
               "GRAFT_NEAR_POTENTIAL (1), GRAFT_NEAR_GRADIENT (2) or both, or 0 for the potential");
    const int32_t potential = bits != GRAFT_NEAR_GRADIENT ? near::potential : 0;
    return potential | ((bits & GRAFT_NEAR_GRADIENT) != 0 ? near::gradient : 0);
}

/// What the description's arrays are copied to while a plan is made.
struct Description {
    near::NearRequest request;
    near::StructureInput structure;
    near::BoxOptions boxes;
    std::vector<double> table_value, table_derivative;
};

near::Integers read_integers(const graft_array* array, const char* name) {
    near::Integers integers;
    integers.name = name;
    if (array == nullptr)
        return integers;
    integers.view = read_array(array, name, 1, Elements::integers, -1);
    integers.base = counts_from_1(array) ? 1 : 0;
    integers.given = true;
    return integers;
}

/// plan NULL: it is being made.
Places near_places(const graft_context& context, const near::NearPlan* plan) {
    Places places = places_of(context, true);
    if (plan != nullptr) {
        places.first_device = plan->device();
        places.first_name = "the plan";
    }
    return places;
}

void refuse_gaps(const graft_array* const (&axes)[3], const char* name, int dimension) {
    for (int a = 1; a < dimension; ++a)
        if (axes[a] != nullptr && axes[a - 1] == nullptr)
            fail(Status::argument,
                 "%s[%d] is given, but %s[%d] is NULL; expected one array for each axis, or all in the first",
                 name, a, name, a - 1);
}

void read_points(const graft_near_field& d, int dimension, const graft_context& context,
                 const near::NearPlan* plan, near::NearPoints& points) {
    const Places places = near_places(context, plan);
    if (d.target_count < 0 || d.source_count < 0)
        fail(Status::argument,
             "near_field.target_count is %lld and source_count is %lld; expected numbers >= 0",
             static_cast<long long>(d.target_count), static_cast<long long>(d.source_count));
    refuse_gaps(d.target_position, "near_field.target_position", dimension);
    refuse_gaps(d.source_position, "near_field.source_position", dimension);
    points.targets = d.target_count;
    points.stream = context.stream;
    points.same = d.source_position[0] == nullptr && d.source_offset == nullptr;
    if (points.same && d.source_count != 0 && d.source_count != d.target_count)
        fail(Status::argument,
             "near_field.source_count is %lld, but source_position[0] is NULL; expected the sources' "
             "coordinates, "
             "or source_count = 0 where the targets are the sources",
             static_cast<long long>(d.source_count));
    points.sources = points.same ? d.target_count : d.source_count;
    read_axes(d.target_position, "near_field.target_position", d.target_count, dimension, Axes::positions,
              points.target, places);
    if (!points.same)
        read_axes(d.source_position, "near_field.source_position", d.source_count, dimension, Axes::positions,
                  points.source, places);
}

void read_table(const graft_near_field& d, Description& out) {
    if (d.table == nullptr) {
        if (d.table_begin != 0 || d.table_step != 0)
            fail(Status::argument,
                 "near_field.table is NULL, but table_begin is %g and table_step is %g; expected the "
                 "knots, or 0",
                 d.table_begin, d.table_step);
        return;
    }
    const ArrayView view = read_array(d.table, "near_field.table", 2, Elements::reals, -1);
    const bool narrow = view.type == particles::ElementType::f32;
    const auto value = [&](int64_t i, int32_t c) { // at any address
        float single = 0;
        double wide = 0;
        narrow ? std::memcpy(&single, view.at(i, c), sizeof single)
               : std::memcpy(&wide, view.at(i, c), sizeof wide);
        return narrow ? static_cast<double>(single) : wide;
    };
    for (int64_t i = 0; i < view.n; ++i) {
        out.table_value.push_back(value(i, 0));
        out.table_derivative.push_back(value(i, 1));
    }
    near::RadialTable& table = out.request.sums.kernel.table;
    table.begin = d.table_begin;
    table.step = d.table_step;
    table.value = out.table_value;
    table.derivative = out.table_derivative;
}

void read_sums(const graft_near_field& d, const NearDefaults& defaults, near::Sums& sums) {
    const near::Kernel kernel = kernel_of(d.kernel);
    sums.kernel.kernel = kernel;
    sums.kernel.factor = d.factor != 0 ? d.factor : 1;
    sums.kernel.softening = d.softening;
    sums.kernel.wave_number = d.wave_number;
    sums.dimension = d.dimension;
    sums.components = d.components != 0 ? d.components : (kernel == near::Kernel::helmholtz ? 2 : 1);
    sums.outputs = outputs_of(d.outputs);
    sums.precision = d.precision != 0 ? precision_of(d.precision) : defaults.precision;
}

double not_negative(double value, const char* name) {
    if (!(value >= 0) || value > 9e18)
        fail(Status::argument, "%s is %g; expected a number from 0 (the options') to 9e18", name, value);
    return value;
}

void read_plan_options(const graft_near_field& d, const NearDefaults& defaults, graft_context& context,
                       near::NearOptions& options) {
    const settings::Settings& settings = context.solver.settings();
    options.layout = d.layout != 0 ? layout_of(d.layout) : defaults.layout;
    const double memory = not_negative(d.memory_bytes, "near_field.memory_bytes");
    const double executes = not_negative(d.expected_executes, "near_field.expected_executes");
    options.most_bytes = memory > 0 ? memory : defaults.memory_bytes;
    options.executes = executes > 0 ? executes : defaults.expected_executes;
    options.devices = defaults.devices;
    options.threads = settings.threads;
    options.backend = settings.backend;
    options.device = settings.device;
    if (defaults.machine != nullptr)
        model::require_this_machine(*defaults.machine, defaults.machine_file);
    options.machine = defaults.machine;
}

void read_lists(const graft_near_field& d, bool same, near::StructureInput& s) {
    s.target_offset = read_integers(d.target_offset, "near_field.target_offset");
    s.source_offset = read_integers(d.source_offset, "near_field.source_offset");
    s.neighbour_offset = read_integers(d.neighbour_offset, "near_field.neighbour_offset");
    s.neighbour = read_integers(d.neighbour, "near_field.neighbour");
    s.target_index = read_integers(d.target_index, "near_field.target_index");
    s.source_index = read_integers(d.source_index, "near_field.source_index");
    s.targets = d.target_count;
    s.sources = same ? d.target_count : d.source_count;
    s.same = same;
}

void read_boxes(const graft_near_field& d, const NearDefaults& defaults, bool periodic, near::BoxOptions& b) {
    for (const graft_array* list :
         {d.target_offset, d.source_offset, d.neighbour_offset, d.neighbour, d.target_index, d.source_index})
        if (list != nullptr)
            fail(Status::argument,
                 "near_field.boxes is %d, so the boxes are made here, but offsets, lists or indices are "
                 "given, too; expected NULL, or boxes GRAFT_NEAR_BOXES_LISTS (1)",
                 d.boxes);
    if (periodic)
        fail(Status::unsupported,
             "near_field.boxes is %d, so the boxes are made here, without images, but the context's box is "
             "periodic; expected boxes and lists of the caller (images as sources beside the targets), or a "
             "context without a periodic box",
             d.boxes);
    if (d.most < 0)
        fail(Status::argument, "near_field.most is %d; expected 1 or more points, or 0 for the options'",
             d.most);
    b.kind = boxes_of(d.boxes);
    b.dimension = d.dimension;
    b.most = d.most != 0 ? d.most : defaults.most;
    b.height = d.height;
    for (int a = 0; a < 3; ++a) {
        b.has_box |= d.lower[a] != 0 || d.upper[a] != 0;
        b.lower[a] = d.lower[a];
        b.upper[a] = d.upper[a];
        b.cells[a] = d.cells[a];
    }
}

void read_description(graft_context& context, const graft_near_field* given, Description& out) {
    const graft_near_field d = read_struct(given, "near_field");
    if (d.dimension != 2 && d.dimension != 3)
        fail(Status::argument, "near_field.dimension is %d; expected 2 or 3", d.dimension);
    const bool lists = d.boxes == 0 || d.boxes == GRAFT_NEAR_BOXES_LISTS;
    const NearDefaults& defaults = context.near_plans.defaults();
    read_sums(d, defaults, out.request.sums);
    read_plan_options(d, defaults, context, out.request.options);
    read_points(d, d.dimension, context, nullptr, out.request.points);
    read_table(d, out);
    if (lists) {
        read_lists(d, out.request.points.same, out.structure);
        out.request.structure = &out.structure;
    } else {
        read_boxes(d, defaults, context.solver.settings().periodic, out.boxes);
        out.request.boxes = &out.boxes;
    }
}

/// One list of arrays as one view a component, `wanted` of them; none where the list is NULL from the start.
template <size_t Length>
void read_list(const graft_array* const (&list)[Length], const char* name, int64_t n, int32_t wanted,
               bool charges, const Places& places, ArrayView* out) {
    int64_t count = 0; // an array without items may have any number of components
    for (size_t k = 0; k < Length; ++k) {
        if (list[k] == nullptr)
            continue;
        char item[40];
        std::snprintf(item, sizeof item, "sums.%s[%d]", name, static_cast<int>(k));
        if (k > 0 && list[k - 1] == nullptr)
            fail(Status::argument,
                 "%s is given, but the one before it is NULL; expected arrays without a gap", item);
        const ArrayView view = charges ? read_array(list[k], item, 0, Elements::reals, n, places)
                                       : read_result(list[k], item, 0, Elements::reals, n, places);
        for (int32_t c = 0; c < view.components && count + c < wanted; ++c)
            out[count + c] = view.component(c);
        count += view.components;
    }
    if (count != wanted && (count > 0 || charges))
        fail(Status::argument, "sums.%s: its arrays have %lld components in all; expected %d", name,
             static_cast<long long>(count), wanted);
}

near::NearSums read_near_sums(const graft_context& context, const near::NearPlan& plan,
                              const graft_near_sums* given) {
    const graft_near_sums g = read_struct(given, "sums");
    const Places places = near_places(context, &plan);
    const int32_t components = plan.sums().components, dimension = plan.sums().dimension;
    near::NearSums sums;
    read_list(g.charge, "charge", plan.sources(), components, true, places, sums.charge.data());
    read_list(g.potential, "potential", plan.targets(), components, false, places, sums.potential.data());
    std::array<ArrayView, static_cast<size_t>(near::most_components) * 3> gradient;
    read_list(g.gradient, "gradient", plan.targets(), components * dimension, false, places, gradient.data());
    const ArrayView* next = gradient.data();
    for (int32_t a = 0; a < dimension; ++a)
        for (int32_t c = 0; c < components; ++c)
            sums.gradient[static_cast<size_t>(c)][static_cast<size_t>(a)] = *next++;
    return sums;
}

} // namespace

int32_t near_field_create(graft_context* context, const graft_near_field* description,
                          graft_near_plan** plan) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_threads(*context);
        if (plan == nullptr)
            fail(Status::argument, "plan is NULL; expected where to put the new plan");
        Description d;
        read_description(*context, description, d);
        *plan = context->near_plans.add(
            std::make_unique<graft_near_plan>(context->memory, context->solver.log(), d.request));
    });
}

int32_t near_field_update(graft_context* context, graft_near_plan* plan,
                          const graft_near_field* description) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_threads(*context);
        near::NearPlan& p = context->near_plans.use(plan);
        near::NearPoints points;
        read_points(read_struct(description, "near_field"), p.sums().dimension, *context, &p, points);
        p.update(points);
    });
}

int32_t near_field_execute(graft_context* context, graft_near_plan* plan,
                           const graft_near_sums* sums) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_threads(*context);
        near::NearPlan& p = context->near_plans.use(plan);
        p.begin(read_near_sums(*context, p, sums), context->stream);
        p.end();
    });
}

int32_t near_field_begin(graft_context* context, graft_near_plan* plan,
                         const graft_near_sums* sums) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        require_threads(*context);
        near::NearPlan& p = context->near_plans.use(plan);
        p.begin(read_near_sums(*context, p, sums), context->stream);
    });
}

int32_t near_field_end(graft_context* context, graft_near_plan* plan) noexcept {
    return guard_on(context, [&] {
        const Use use(context);
        context->near_plans.use(plan).end();
    });
}

int32_t near_field_destroy(graft_context* context, graft_near_plan** plan) noexcept {
    return guard_on(context, [&] {
        if (plan == nullptr || *plan == nullptr)
            return;
        const Use use(context);
        if (context->near_plans.last() == *plan)
            context->figures.note("near", [&] { return context->near_plans.figures(); });
        context->near_plans.remove(*plan);
        *plan = nullptr;
    });
}

} // namespace graft::capi
