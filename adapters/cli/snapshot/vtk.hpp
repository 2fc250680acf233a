// SPDX-License-Identifier: BSD-3-Clause
// VTK files for ParaView and VisIt: .vtu (XML, raw appended data) and legacy .vtk (binary, big-endian). Write
// only.
//
// Points with velocity, mass, component, id and softening as point data; one vertex cell per particle, so
// that filters on cells (Threshold...) work. Source: VTK file formats, chapter 19 of the VTK User's Guide.
#pragma once

#include "snapshot/snapshot.hpp"

#include <cstddef>
#include <vector>

namespace graft::cli {

/// The image of a .vtu file, little-endian, doubles kept. O(n).
std::vector<std::byte> encode_vtu(const Snapshot& snapshot);

/// The image of a legacy .vtk file (POLYDATA), doubles kept. O(n).
std::vector<std::byte> encode_vtk(const Snapshot& snapshot);

} // namespace graft::cli
