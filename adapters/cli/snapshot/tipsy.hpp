// SPDX-License-Identifier: BSD-3-Clause
// Tipsy files: single precision, either byte order, header {double time; int32 n, ndim, nsph, ndark, nstar,
// pad}. Source: the N-body shop's tipsydefs.h; the header of 28 bytes (no pad) of some writers is read as
// well.
#pragma once

#include "snapshot/byte_order.hpp"
#include "snapshot/snapshot.hpp"

#include <string>
#include <vector>

namespace graft::cli {

/// True when the first bytes can be a tipsy header in either byte order. Reads at most 32 bytes.
bool looks_like_tipsy(Bytes bytes) noexcept;

/// Particles of a tipsy file image; the byte order and the header length are found out. gas -> Gas, dark ->
/// Halo, star -> Star; eps (gas: hsmooth) becomes the softening; ids count from 0. `where` names the source
/// in errors. Throws Error when the header is none, or when the length differs from what the header promises.
/// O(n).
Snapshot read_tipsy(Bytes bytes, const std::string& where);

/// The file image. Gas -> gas, Halo and Boundary -> dark, the rest -> star, in that order. Lost: ids, names,
/// units, digits beyond single precision. Throws Error for more than 2^31-1 particles and for numbers beyond
/// float.
std::vector<std::byte> encode_tipsy(const Snapshot& snapshot, ByteOrder order);

} // namespace graft::cli
