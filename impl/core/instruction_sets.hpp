// SPDX-License-Identifier: BSD-3-Clause
// What Highway's current target can do, in the words that our kernels ask. For files that are compiled once per target: the
// words are macros, so that each is read anew for the target that HWY_TARGET names at that place, in #if as in C++.
//
// A target of Highway that is better has a smaller number, among those of one architecture. Newer releases of Highway
// dispatch to more of them (AVX3_DL, AVX3_ZEN4, AVX3_SPR): never ask HWY_TARGET == something. All that is not x86 (NEON and
// SVE of ARM, PPC8 to PPC10 of POWER, RVV) and SCALAR and EMU128 take the general path, which asks for nothing.
#pragma once

/// Any vectors of x86, from SSE2 on: an estimate of 1/sqrt of 12 bits or more.
#define GRAFT_X86_VECTORS (HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128)

/// AVX-512 in any of its kinds: 64-byte vectors, 32 registers, masks, an estimate of 1/sqrt of 14 bits.
#define GRAFT_AVX512 (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3 && HWY_MAX_BYTES == 64)

/// No vectors at all: one number a "vector".
#define GRAFT_ONE_LANE (HWY_TARGET == HWY_SCALAR)
