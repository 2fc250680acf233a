// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are the same on every platform: splitmix64 seeding of xoshiro256** (Blackman & Vigna
// 2018). Invariant: a generator is named by (seed, stream, index), so particle i gets the same numbers
// whatever n is and whatever thread makes it. std:: distributions are not used: the standard leaves their
// algorithms open.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace graft::cli {

/// One step of splitmix64: advances the state and returns 64 well-mixed bits.
constexpr std::uint64_t splitmix64(std::uint64_t& state) noexcept {
    state += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

class Random {
  public:
    constexpr explicit Random(std::uint64_t seed, std::uint64_t stream = 0,
                              std::uint64_t index = 0) noexcept {
        std::uint64_t state = seed;
        state = splitmix64(state) ^ stream;
        state = splitmix64(state) ^ index;
        for (std::uint64_t& word : state_) {
            word = splitmix64(state);
        }
    }

    constexpr std::uint64_t bits() noexcept {
        const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Uniform in the open interval (0, 1), 53 bits: logarithms and inverses of it are finite.
    constexpr double uniform() noexcept { return (static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53; }

    constexpr double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }

    /// Standard normal (Box-Muller; one of the pair is thrown away so that calls stay independent of
    /// history).
    double normal() noexcept {
        const double radius = std::sqrt(-2.0 * std::log(uniform()));
        return radius * std::cos(2.0 * std::numbers::pi * uniform());
    }

    /// Rayleigh-distributed with the given mode (its mean is 1.2533 times that).
    double rayleigh(double mode) noexcept { return mode * std::sqrt(-2.0 * std::log(uniform())); }

    /// A vector of the given length in a random direction.
    void direction(double length, double& x, double& y, double& z) noexcept {
        const double cosine = uniform(-1.0, 1.0);
        const double angle = uniform(0.0, 2.0 * std::numbers::pi);
        const double ring = length * std::sqrt((1.0 - cosine) * (1.0 + cosine));
        x = ring * std::cos(angle);
        y = ring * std::sin(angle);
        z = length * cosine;
    }

  private:
    std::uint64_t state_[4] = {};
};

} // namespace graft::cli
