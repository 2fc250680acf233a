// SPDX-License-Identifier: BSD-3-Clause
// Reads the caller's versioned structs: size, flags, reserved words and array layouts checked, then in engine
// terms.
#pragma once

#include "array_memory.hpp"

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
/// The same of a result, which is overwritten or added to (view.add): throws Error(array) for a read-only one.
particles::ArrayView read_result(const graft_array* array, const char* name, int32_t components,
                                 Elements elements, int64_t expected_n, const Places& places = {});
/// Of what is written and can only be overwritten: throws Error(array) for GRAFT_ARRAY_ADD, too.
particles::ArrayView read_written(const graft_array* array, const char* name, int32_t components,
                                  Elements elements, int64_t expected_n);
/// An array of n parts or ranks, which count from 0 in every language: throws Error(array) for a flag that
/// says otherwise. read_new_owner: one that is written.
particles::ArrayView read_owner(const graft_array* array, const char* name, int64_t n);
particles::ArrayView read_new_owner(const graft_array* array, const char* name, int64_t n);
/// What axes are of. Positions must be there, results need not be.
enum class Axes { positions, results };
/// Three arrays of one component, or one of `dimension` components, as one view per axis.
void read_axes(const graft_array* const (&given)[3], const char* name, int64_t n, int dimension,
               Axes kind, particles::ArrayView (&axes)[3], const Places& places = {});

engine::ParticleInput read_particles(const graft_particles* particles, int dimension, const char* name,
                                       const Places& places = {});
/// The same where their charges count: throws Error(argument) where there are none.
engine::ParticleInput read_sources(const graft_particles* particles, int dimension, const char* name,
                                   const Places& places = {});
/// For points only the positions are read.
engine::ParticleInput read_points(const graft_particles* points, int dimension, const Places& places = {});
engine::Outputs read_results(const graft_results* results, int64_t n, int dimension, bool points,
                               const Places& places = {});
core::Allocator read_allocator(const graft_allocator* allocator);
engine::DeviceAllocator read_device_allocator(const graft_device_allocator* allocator);

} // namespace graft::capi
