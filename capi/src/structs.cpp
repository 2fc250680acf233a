// SPDX-License-Identifier: BSD-3-Clause
// Checks and translations of the ABI structs.
#include "structs.hpp"

#include "near/plan/caller_views.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace graft::capi {

using core::fail;
using core::Status;

namespace {

/// Bytes that each struct had in the first version; later ones only grow, by whole words.
template <typename T>
constexpr uint32_t first_size = 0;
template <>
constexpr uint32_t first_size<graft_array> = 96;
template <>
constexpr uint32_t first_size<graft_particles> = 128;
template <>
constexpr uint32_t first_size<graft_results> = 88;
template <>
constexpr uint32_t first_size<graft_box> = 128;
template <>
constexpr uint32_t first_size<graft_decomposition> = 72;
template <>
constexpr uint32_t first_size<graft_balancing> = 64;
template <>
constexpr uint32_t first_size<graft_objects> = 128;
template <>
constexpr uint32_t first_size<graft_near_field> = 312;
template <>
constexpr uint32_t first_size<graft_near_sums> = 680;
template <>
constexpr uint32_t first_size<graft_units> = 80;
template <>
constexpr uint32_t first_size<graft_device_allocator> = 64;
template <>
constexpr uint32_t first_size<graft_allocator> = 64;

constexpr uint32_t largest_struct = 1u << 16u; // a larger struct_size is not a size but garbage

struct ElementRange {
    int32_t first, last; // of the dtype codes
    const char* words;
};

constexpr ElementRange element_ranges[] = {{GRAFT_F32, GRAFT_F64, "GRAFT_F32 or GRAFT_F64"},
                                           {GRAFT_I32, GRAFT_I64, "GRAFT_I32 or GRAFT_I64"},
                                           {GRAFT_I32, GRAFT_U64, "GRAFT_I32, GRAFT_I64 or GRAFT_U64"},
                                           {GRAFT_F32, GRAFT_U64, "GRAFT_F32 (1) to GRAFT_U64 (5)"}};

void check_type(int32_t dtype, Elements elements, const char* name) {
    const ElementRange& range = element_ranges[static_cast<int>(elements)];
    if (dtype < range.first || dtype > range.last)
        fail(Status::array, "%s: dtype is %d; expected %s", name, dtype, range.words);
}

/// The caller's struct must say how big it is, and what we do not know of it must be zero.
void check_size(const unsigned char* given, uint32_t struct_size, uint32_t least, uint64_t own_size,
                const char* name) {
    if (struct_size < least || struct_size > largest_struct || struct_size % 8 != 0)
        fail(Status::abi,
             "%s: struct_size is %u; expected sizeof of the struct (%llu here, %u in the first version). Set "
             "struct_size before the call",
             name, struct_size, static_cast<unsigned long long>(own_size), least);
    for (uint64_t i = own_size; i < struct_size; ++i)
        if (given[i] != 0)
            fail(Status::abi,
                 "%s: struct_size is %u and byte %llu is not zero, but this library knows only %llu bytes of "
                 "it. "
                 "Use a newer library, or do not set the newer fields",
                 name, struct_size, static_cast<unsigned long long>(i),
                 static_cast<unsigned long long>(own_size));
}

template <typename T>
void check_reserved(const T& value, const char* name, uint32_t known_flags) {
    if ((value.flags & ~known_flags) != 0)
        fail(Status::abi, "%s: flags is 0x%x; this library knows 0x%x", name, value.flags, known_flags);
    for (uint64_t word : value.reserved)
        if (word != 0)
            fail(Status::abi, "%s: a reserved word is not 0; zero the struct before setting its fields",
                 name);
}

} // namespace

template <typename T>
T read_struct(const T* given, const char* name, uint32_t known_flags) {
    if (given == nullptr)
        fail(Status::argument, "%s is NULL; expected a pointer to a struct", name);
    uint32_t struct_size = 0;
    std::memcpy(&struct_size, given, sizeof struct_size);
    static_assert(first_size<T> >= 40 && first_size<T> <= sizeof(T));
    check_size(reinterpret_cast<const unsigned char*>(given), struct_size, first_size<T>, sizeof(T), name);
    T copy{};
    std::memcpy(&copy, given, std::min<size_t>(struct_size, sizeof(T)));
    check_reserved(copy, name, known_flags);
    return copy;
}

template graft_device_allocator read_struct(const graft_device_allocator*, const char*, uint32_t);
template graft_box read_struct(const graft_box*, const char*, uint32_t);
template graft_units read_struct(const graft_units*, const char*, uint32_t);
template graft_particles read_struct(const graft_particles*, const char*, uint32_t);
template graft_decomposition read_struct(const graft_decomposition*, const char*, uint32_t);
template graft_balancing read_struct(const graft_balancing*, const char*, uint32_t);
template graft_objects read_struct(const graft_objects*, const char*, uint32_t);
template graft_near_field read_struct(const graft_near_field*, const char*, uint32_t);
template graft_near_sums read_struct(const graft_near_sums*, const char*, uint32_t);

constexpr uint32_t array_flags = GRAFT_ARRAY_INDEX_FROM_1 | GRAFT_ARRAY_READ_ONLY | GRAFT_ARRAY_ADD;

particles::ArrayView read_array(const graft_array* array, const char* name, int32_t components,
                                Elements elements, int64_t expected_n, const Places& places) {
    if (array == nullptr)
        return {};
    const graft_array a = read_struct(array, name, array_flags);
    check_type(a.dtype, elements, name);
    if (a.components < std::max(components, 1))
        fail(Status::array, "%s: components is %d; expected %d", name, a.components, std::max(components, 1));
    if (expected_n >= 0 && a.n != expected_n)
        fail(Status::array, "%s: n is %lld; expected %lld, one item per particle or point", name,
             static_cast<long long>(a.n), static_cast<long long>(expected_n));
    if (a.n < 0 || a.bytes < 0)
        fail(Status::array, "%s: n is %lld and bytes is %lld; expected values >= 0", name,
             static_cast<long long>(a.n), static_cast<long long>(a.bytes));
    particles::ArrayView view;
    view.data = static_cast<char*>(a.data);
    view.type = static_cast<particles::ElementType>(a.dtype);
    view.components = components > 0 ? components : a.components;
    view.n = a.n;
    view.component_stride = a.n == 0                  ? 0 // all where data is, which may be NULL
                            : a.component_stride != 0 ? a.component_stride
                                                      : particles::element_size(view.type);
    view.item_stride = a.item_stride != 0 ? a.item_stride : a.components * particles::element_size(view.type);
    particles::check_view(view, a.bytes, name);
    view.memory = find_place(a, name, places);
    return view;
}

/// The flags of an array that is written; `known` of them make sense there.
static uint32_t written_flags(const graft_array& array, const char* name, uint32_t known) {
    const uint32_t flags = read_struct(&array, name, array_flags).flags;
    if ((flags & GRAFT_ARRAY_READ_ONLY) != 0)
        fail(Status::array,
             "%s: it is read-only (GRAFT_ARRAY_READ_ONLY, which views of pointers to const have), but "
             "results are "
             "written to it; expected a view of memory that may be written",
             name);
    if ((flags & ~known & GRAFT_ARRAY_ADD) != 0)
        fail(Status::array,
             "%s: GRAFT_ARRAY_ADD is set, but what is written here replaces what was there; expected "
             "an array without it",
             name);
    return flags;
}

particles::ArrayView read_result(const graft_array* array, const char* name, int32_t components,
                                 Elements elements, int64_t expected_n, const Places& places) {
    particles::ArrayView view = read_array(array, name, components, elements, expected_n, places);
    if (array != nullptr)
        view.add = (written_flags(*array, name, GRAFT_ARRAY_ADD) & GRAFT_ARRAY_ADD) != 0;
    return view;
}

particles::ArrayView read_written(const graft_array* array, const char* name, int32_t components,
                                  Elements elements, int64_t expected_n) {
    if (array != nullptr)
        written_flags(*array, name, 0);
    return read_array(array, name, components, elements, expected_n);
}

bool counts_from_1(const graft_array* array) {
    return array != nullptr &&
           (read_struct(array, "index array", array_flags).flags & GRAFT_ARRAY_INDEX_FROM_1) != 0;
}

static void refuse_from_1(const graft_array* array, const char* name) {
    if (counts_from_1(array))
        fail(Status::array,
             "%s: GRAFT_ARRAY_INDEX_FROM_1 is set, but ranks and parts count from 0; expected "
             "flags 0",
             name);
}

particles::ArrayView read_owner(const graft_array* array, const char* name, int64_t n) {
    refuse_from_1(array, name);
    return read_array(array, name, 1, Elements::integers, n);
}

particles::ArrayView read_new_owner(const graft_array* array, const char* name, int64_t n) {
    refuse_from_1(array, name);
    return read_written(array, name, 1, Elements::integers, n);
}

void read_axes(const graft_array* const (&given)[3], const char* name, int64_t n, int dimension, Axes kind,
               particles::ArrayView (&axes)[3], const Places& places) {
    if (given[0] == nullptr) {
        if (kind == Axes::positions && n > 0)
            fail(Status::argument, "%s[0] is NULL; expected an array of %d components, or one array per axis",
                 name, dimension);
        return;
    }
    const bool split = given[1] != nullptr;
    for (int a = 0; a < dimension; ++a) {
        char axis_name[128]; // not a string: new coordinates of a near field's plan allocate nothing
        std::snprintf(axis_name, sizeof axis_name, "%s[%d]", name, split ? a : 0);
        if (split && given[a] == nullptr)
            fail(Status::argument, "%s is NULL; expected one array for each of %d axes", axis_name,
                 dimension);
        const graft_array* const array = given[split ? a : 0];
        const int32_t components = split ? 1 : dimension;
        const particles::ArrayView view =
            kind == Axes::results ? read_result(array, axis_name, components, Elements::reals, n, places)
                                  : read_array(array, axis_name, components, Elements::reals, n, places);
        axes[a] = split ? view : view.component(a);
    }
}

namespace {

engine::ParticleInput read_positions(const graft_particles& p, int dimension, const char* name,
                                     const Places& places) {
    if (p.n < 0)
        fail(Status::argument, "%s.n is %lld; expected n >= 0", name, static_cast<long long>(p.n));
    engine::ParticleInput input;
    input.n = p.n;
    read_axes(p.position, (std::string(name) + ".position").c_str(), p.n, dimension, Axes::positions,
              input.position, places);
    return input;
}

} // namespace

engine::ParticleInput read_particles(const graft_particles* particles, int dimension, const char* name,
                                     const Places& places) {
    const graft_particles p = read_struct(particles, name);
    engine::ParticleInput input = read_positions(p, dimension, name, places);
    const std::string prefix = std::string(name) + ".";
    input.charge = read_array(p.charge, (prefix + "charge").c_str(), 1, Elements::reals, p.n, places);
    input.charge_all = p.charge_all;
    input.softening =
        read_array(p.softening, (prefix + "softening").c_str(), 1, Elements::reals, p.n, places);
    input.active = read_array(p.active, (prefix + "active").c_str(), 1, Elements::integers, p.n, places);
    input.has_target = p.target_index != nullptr;
    input.has_active = p.active != nullptr;
    input.target =
        read_array(p.target_index, (prefix + "target_index").c_str(), 1, Elements::integers, -1, places);
    input.target_from_1 = counts_from_1(p.target_index);
    read_array(p.id, (prefix + "id").c_str(), 1, Elements::ids, p.n,
               places); // checked also where nothing reads them
    read_array(p.cost, (prefix + "cost").c_str(), 1, Elements::reals, p.n, places);
    return input;
}

engine::ParticleInput read_sources(const graft_particles* particles, int dimension, const char* name,
                                   const Places& places) {
    const engine::ParticleInput input = read_particles(particles, dimension, name, places);
    const graft_particles p = read_struct(particles, name);
    if (p.charge == nullptr && p.charge_all == 0 && p.n > 0)
        fail(Status::argument,
             "%s.charge is NULL and %s.charge_all is 0; expected an array of charges (masses), or one value "
             "for all "
             "that is not 0",
             name, name);
    return input;
}

engine::ParticleInput read_points(const graft_particles* points, int dimension, const Places& places) {
    return read_positions(read_struct(points, "points"), dimension, "points", places);
}

namespace {

/// Every component that is written, by its array's name.
class Written {
  public:
    void add(const particles::ArrayView& view, const char* name, int32_t index = -1) {
        for (int32_t c = 0; view.present() && c < view.components; ++c)
            views_[count_++] = {view.component(c), {name, index}, true};
    }
    void refuse_overlaps() const { near::refuse_overlaps({views_.data(), count_}); }

  private:
    std::array<near::NamedView, 11> views_; // 3 axes, potential, virial, energy
    size_t count_ = 0;
};

void refuse_overlaps(const graft_results& given, const engine::Outputs& outputs) {
    Written written;
    for (int32_t a = 0; a < 3; ++a)
        written.add(outputs.acceleration[a], "results.acceleration",
                    given.acceleration[1] != nullptr ? a : 0);
    written.add(outputs.potential, "results.potential");
    written.add(outputs.virial, "results.virial");
    written.add(outputs.energy, "results.energy");
    written.refuse_overlaps();
}

} // namespace

engine::Outputs read_results(const graft_results* results, int64_t n, int dimension, bool points,
                             const Places& places) {
    const graft_results r = read_struct(results, "results", GRAFT_RESULTS_FORCE | GRAFT_RESULTS_NO_REPAIR);
    engine::Outputs outputs;
    read_axes(r.acceleration, "results.acceleration", n, dimension, Axes::results, outputs.acceleration,
              places);
    outputs.potential = read_result(r.potential, "results.potential", 1, Elements::reals, n, places);
    outputs.virial = read_result(r.virial, "results.virial", 6, Elements::reals, 1, places);
    outputs.energy = read_result(r.energy, "results.energy", 1, Elements::reals, 1, places);
    refuse_overlaps(r, outputs);
    outputs.force = (r.flags & GRAFT_RESULTS_FORCE) != 0;
    outputs.no_repair = (r.flags & GRAFT_RESULTS_NO_REPAIR) != 0;
    if (points && (outputs.virial.present() || outputs.energy.present() || outputs.force))
        fail(Status::argument,
             "results: virial, energy and force do not exist at points, which have no charge; "
             "expected acceleration and potential only");
    return outputs;
}

namespace {

template <typename Allocator, typename Given>
Allocator read_allocator_struct(const Given* allocator) {
    if (allocator == nullptr)
        return {};
    const Given a = read_struct(allocator, "allocator");
    if (a.allocate == nullptr || a.release == nullptr)
        fail(Status::argument, "allocator: allocate and release must both be given");
    return {a.user, a.allocate, a.release};
}

} // namespace

core::Allocator read_allocator(const graft_allocator* allocator) {
    return read_allocator_struct<core::Allocator>(allocator);
}

engine::DeviceAllocator read_device_allocator(const graft_device_allocator* allocator) {
    return read_allocator_struct<engine::DeviceAllocator>(allocator);
}

} // namespace graft::capi
