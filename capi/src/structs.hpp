// Reads the caller's versioned structs: size, flags, reserved words and array layouts checked, then in engine
// terms.
#pragma once

#include "pipeline/solver.hpp"

#include <graft/types.h>

namespace graft::capi {

/// A copy of the caller's struct of which only the first min(struct_size, sizeof(T)) bytes count, the rest
/// zero. Throws Error(argument) for NULL, Error(abi) for an impossible size, non-zero reserved words, or a
/// non-zero tail.
template <typename T>
T read_struct(const T* given, const char* name, uint32_t known_flags = 0);

particles::ArrayView read_array(const graft_array* array, const char* name, int32_t components, bool integers,
                                int64_t expected_n);

pipeline::ParticleInput read_particles(const graft_particles* particles, int dimension, const char* name);
/// For points only the positions are read.
pipeline::ParticleInput read_points(const graft_particles* points, int dimension);
pipeline::Outputs read_results(const graft_results* results, int64_t n, int dimension, bool points);
pipeline::Settings read_options(const graft_options_values& values);
core::Allocator read_allocator(const graft_allocator* allocator);

} // namespace graft::capi
