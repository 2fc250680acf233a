// Reads the caller's versioned structs: size, flags, reserved words and array layouts checked, then in engine
// terms.
#pragma once

#include "places.hpp"

#include "engine/solver.hpp"

#include <graft/types.h>

namespace graft::capi {

/// A copy of the caller's struct of which only the first min(struct_size, sizeof(T)) bytes count, the rest
/// zero. Throws Error(argument) for NULL, Error(abi) for an impossible size, non-zero reserved words, or a
/// non-zero tail.
template <typename T>
T read_struct(const T* given, const char* name, uint32_t known_flags = 0);

/// The element types that an array may have.
enum class Elements { reals, integers, ids, any };

/// The checked view of an array; not present() for NULL. components 0 and expected_n -1: as the array says.
particles::ArrayView read_array(const graft_array* array, const char* name, int32_t components,
                                Elements elements, int64_t expected_n, const Places& places = {});
/// Whether an index array counts from 1; false for NULL.
bool counts_from_1(const graft_array* array);
/// An array of n parts or ranks, which count from 0 in every language: throws Error(array) for a flag that
/// says otherwise.
particles::ArrayView read_owner(const graft_array* array, const char* name, int64_t n);
/// Three arrays of one component, or one of `dimension` components, as one view per axis.
void read_axes(const graft_array* const (&given)[3], const char* name, int64_t n, int dimension,
               bool required, particles::ArrayView (&axes)[3], const Places& places = {});

engine::ParticleInput read_particles(const graft_particles* particles, int dimension, const char* name,
                                       const Places& places = {});
/// For points only the positions are read.
engine::ParticleInput read_points(const graft_particles* points, int dimension, const Places& places = {});
engine::Outputs read_results(const graft_results* results, int64_t n, int dimension, bool points,
                               const Places& places = {});
settings::Settings read_options(const graft_options_values& values);
/// The box of the options (deck keys box.*), if they have one. Throws Error(argument, unsupported).
void take_box(const graft_options_values& values, settings::Settings& settings);
core::Allocator read_allocator(const graft_allocator* allocator);

} // namespace graft::capi
