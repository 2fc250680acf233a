// SPDX-License-Identifier: BSD-3-Clause
// Gadget-style HDF5 snapshots, as yt, pynbody and swiftsimio read them.
//
// /Header attributes NumPart_ThisFile, NumPart_Total, MassTable, Time, BoxSize...; /PartTypeN/{Coordinates,
// Velocities, Masses, ParticleIDs, Softening, Names} for N = 0 to 5, float64 (Softening and Names are ours
// and optional); /Units with Unit ... in cgs (U_L...) when known; our own facts in attribute Metadata of
// /Graft. Source: Gadget-4 manual, section 5.
#pragma once

#include "snapshot/file_io.hpp"
#include "snapshot/snapshot.hpp"

#include <string>

namespace graft::cli {

/// Whether this build can read and write HDF5 (GRAFT_WITH_HDF5); the functions below throw Error when it
/// cannot.
bool have_hdf5() noexcept;

/// True when the bytes begin with the HDF5 signature.
bool looks_like_hdf5(Bytes bytes) noexcept;

/// Particles of a file, ordered by type, then as stored. Float and integer widths are converted; a mass comes
/// from MassTable when Masses is absent. Sizes are checked against the storage before allocation. Throws
/// Error. O(n).
Snapshot read_gadget_hdf5(const std::string& path);

/// The same from a file image in memory (never written to).
Snapshot read_gadget_hdf5(Bytes image, const std::string& where);

/// Writes atomically, from an image in memory (120 bytes a particle). Particles are grouped by component,
/// order kept inside a group. Throws Error. O(n).
void write_gadget_hdf5(const Snapshot& snapshot, const std::string& path);

} // namespace graft::cli
