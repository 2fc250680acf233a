// SPDX-License-Identifier: BSD-3-Clause
// From views to contiguous points, and integers back.
#include "points.hpp"

#include "particles/import_arrays.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace graft::capi {

using core::fail;
using core::Status;
using particles::ArrayView;
using particles::ElementType;

namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr double largest_position = 1e150; // as in compute: beyond it squares overflow
constexpr const char* axis_names[3] = {"position x", "position y", "position z"};

void import_optional(const backend::Executor& executor, const ArrayView& view, const char* name,
                     core::Buffer<double>& out) {
    out.resize(view.n);
    particles::import_reals(executor, view, name, 0, largest, out.data());
}

void import_ids(const backend::Executor& executor, const ArrayView& view, core::Buffer<int64_t>& out) {
    out.resize(view.n);
    int64_t* id = out.data();
    executor.for_each(view.n, [&](int64_t i) {
        id[i] = particles::integer_at(view, i);
        if (id[i] < 0)
            fail(Status::value, "id: item %lld (counted from 0) is %lld; expected 0 to 2^63 - 1",
                 static_cast<long long>(i), static_cast<long long>(id[i]));
    });
}

template <typename T>
void store(char* address, int64_t value) noexcept {
    const T stored = static_cast<T>(value);
    std::memcpy(address, &stored, sizeof stored);
}

template <typename T>
void export_any(const backend::Executor& executor, const T* value, int64_t count, int64_t base,
                const ArrayView& view) {
    const bool narrow = view.type == ElementType::i32;
    executor.for_each(count, [&](int64_t i) {
        if (narrow)
            store<int32_t>(view.at(i), value[i] + base);
        else
            store<int64_t>(view.at(i), value[i] + base);
    });
}

} // namespace

PointViews view_particles(const graft_particles* particles, int dimension) {
    const graft_particles p = read_struct(particles, "particles");
    const engine::ParticleInput input = read_particles(particles, dimension, "particles");
    PointViews views;
    views.n = input.n;
    std::copy(input.position, input.position + 3, views.position);
    views.cost = read_array(p.cost, "particles.cost", 1, Elements::reals, p.n);
    views.id = read_array(p.id, "particles.id", 1, Elements::ids, p.n);
    return views;
}

PointViews view_objects(const graft_objects& objects, int dimension) {
    if (objects.n < 0)
        fail(Status::argument, "objects.n is %lld; expected n >= 0", static_cast<long long>(objects.n));
    PointViews views;
    views.n = objects.n;
    read_axes(objects.position, "objects.position", objects.n, dimension, Axes::positions, views.position);
    views.cost = read_array(objects.load, "objects.load", 1, Elements::reals, objects.n);
    views.bytes = read_array(objects.bytes, "objects.bytes", 1, Elements::reals, objects.n);
    views.id = read_array(objects.id, "objects.id", 1, Elements::ids, objects.n);
    return views;
}

void import_points(const backend::Executor& executor, const PointViews& views, int dimension,
                   PointBuffers& buffers) {
    if (views.n > std::numeric_limits<int32_t>::max())
        fail(Status::argument, "n is %lld; one rank takes at most 2^31 - 1 = 2147483647. Use more ranks",
             static_cast<long long>(views.n));
    core::Buffer<double>* const axes[3] = {&buffers.x, &buffers.y, &buffers.z};
    particles::RealImport imports[3];
    for (int a = 0; a < dimension; ++a) {
        axes[a]->resize(std::max<int64_t>(views.n, 1)); // never NULL: a rank without points is a rank, too
        imports[a] = {views.position[a], axis_names[a], axes[a]->data()};
    }
    particles::import_reals(executor, dimension, imports, -largest_position, largest_position);
    import_optional(executor, views.cost, "cost", buffers.cost);
    import_optional(executor, views.bytes, "bytes", buffers.bytes);
    import_ids(executor, views.id, buffers.id);
    if (dimension < 3)
        buffers.z.clear();
}

decompose::Points agree_points(comm::Communicator& ranks, const PointViews& views,
                               const PointBuffers& buffers) {
    const bool some = views.n > 0;
    int32_t seen[4] = {some && views.cost.present(), some && !views.cost.present(),
                       some && views.id.present(), some && !views.id.present()};
    ranks.allreduce(seen, 4, comm::Operation::max);
    ranks.together([&] {
        if ((seen[0] && seen[1]) || (seen[2] && seen[3]))
            fail(Status::argument,
                 "%s is given on some ranks only; expected on all ranks that have particles, or on none",
                 seen[0] && seen[1] ? "cost" : "id");
    });
    static const double no_cost = 0;
    static const int64_t no_id = 0;
    decompose::Points points;
    points.n = views.n;
    points.x = buffers.x.data();
    points.y = buffers.y.data();
    points.z = buffers.z.data();
    points.cost = seen[0] ? (some ? buffers.cost.data() : &no_cost) : nullptr;
    points.id = seen[2] ? (some ? buffers.id.data() : &no_id) : nullptr;
    return points;
}

void export_integers(const backend::Executor& executor, const int32_t* value, int64_t count, int64_t base,
                     const ArrayView& view) {
    export_any(executor, value, count, base, view);
}

void export_integers(const backend::Executor& executor, const int64_t* value, int64_t count, int64_t base,
                     const ArrayView& view) {
    export_any(executor, value, count, base, view);
}

} // namespace graft::capi
