// SPDX-License-Identifier: BSD-3-Clause
// Random calls as hosts that mean no good might make them: sizes around powers of two, heaps, far clumps,
// numbers of all magnitudes, odd strides in any kind of memory, bytes around them that nobody may touch.
#pragma once

#include "device_host.hpp"

#include <array>
#include <cstring>

namespace graft::test {

/// Numbers that depend on the seed alone.
class Dice {
  public:
    explicit Dice(uint64_t seed) : random_(seed) {}
    int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
    bool one_in(int64_t n) { return below(n) == 0; }
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; } // [0, 1)
    double normal() {
        double sum = -6;
        for (int k = 0; k < 12; ++k)
            sum += uniform();
        return sum;
    }
    template <typename T>
    T of(std::initializer_list<T> all) {
        return all.begin()[below(static_cast<int64_t>(all.size()))];
    }

  private:
    std::mt19937_64 random_;
};

/// Where a host may have an array.
enum class Place { pageable, pinned, device, managed };

/// n items of some type in a block with canaries: strides, offset and place as the dice fall.
class Placed {
  public:
    Placed() = default;
    Placed(Dice& dice, Place place, int32_t dtype, const std::vector<double>& values, int components)
        : place_(place), values_(values), components_(components) {
        const int64_t size = dtype == GRAFT_F32 || dtype == GRAFT_I32 ? 4 : 8;
        view_ = array_at(static_cast<double*>(nullptr), static_cast<int64_t>(values.size()) / components,
                         GRAFT_MEMORY_AUTO, components);
        view_.dtype = dtype;
        view_.component_stride = size;
        view_.item_stride = components * size + dice.of<int64_t>({0, 0, 0, 1, 4, 8, 13, 40});
        offset_ = 64 + dice.of<int64_t>({0, 0, 0, 1, 3, 4, 8, 12});
        if (components > 1 && dice.one_in(4) && view_.n > 0) { // columns
            view_.item_stride = size + dice.of<int64_t>({0, 4, 5});
            view_.component_stride = view_.n * view_.item_stride + dice.of<int64_t>({0, 3, 8});
        }
        const int64_t span = view_.n == 0 ? 0
                                          : (view_.n - 1) * view_.item_stride +
                                                (components - 1) * view_.component_stride + size;
        view_.bytes = span;
        bytes_.resize(static_cast<size_t>(offset_ + span + 64));
        for (char& byte : bytes_)
            byte = static_cast<char>(dice.below(256));
        if (place == Place::pageable)
            data_ = static_cast<char*>(std::malloc(bytes_.size()));
        else if (place == Place::pinned)
            EXPECT_EQ(cudaMallocHost(reinterpret_cast<void**>(&data_), bytes_.size()), cudaSuccess);
        else if (place == Place::device)
            EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), bytes_.size()), cudaSuccess);
        else
            EXPECT_EQ(cudaMallocManaged(reinterpret_cast<void**>(&data_), bytes_.size()), cudaSuccess);
        view_.data = data_ + offset_;
        view_.memory =
            place == Place::device ? dice.of({GRAFT_MEMORY_DEVICE, GRAFT_MEMORY_AUTO})
            : place == Place::managed
                ? dice.of({GRAFT_MEMORY_MANAGED, GRAFT_MEMORY_DEVICE, GRAFT_MEMORY_HOST, GRAFT_MEMORY_AUTO})
                : dice.of({GRAFT_MEMORY_HOST, GRAFT_MEMORY_AUTO});
        refill();
    }
    ~Placed() {
        if (place_ == Place::pageable)
            std::free(data_);
        else
            (void)(place_ == Place::pinned ? cudaFreeHost(data_) : cudaFree(data_));
    }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;

    /// As at the start.
    void refill() {
        for (size_t k = 0; k < values_.size(); ++k)
            put(bytes_.data() + at(k), values_[k]);
        EXPECT_EQ(cudaMemcpy(data_, bytes_.data(), bytes_.size(), cudaMemcpyDefault), cudaSuccess);
        EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess); // it has arrived
    }
    /// The values; fails the test where a byte beside them has changed.
    std::vector<double> get() const {
        std::vector<char> now(bytes_.size());
        EXPECT_EQ(cudaMemcpy(now.data(), data_, now.size(), cudaMemcpyDefault), cudaSuccess);
        std::vector<double> found;
        std::vector<char> expected = bytes_;
        for (size_t k = 0; k < values_.size(); ++k) {
            found.push_back(take(now.data() + at(k)));
            put(expected.data() + at(k), found.back());
        }
        EXPECT_EQ(std::memcmp(now.data(), expected.data(), now.size()), 0) << "bytes beside an array changed";
        return found;
    }
    const graft_array& view() const { return view_; }
    const std::vector<double>& values() const { return values_; }

  private:
    int64_t at(size_t k) const {
        const int64_t item = static_cast<int64_t>(k) / components_, c = static_cast<int64_t>(k) % components_;
        return offset_ + item * view_.item_stride + c * view_.component_stride;
    }
    template <typename T>
    static void put_as(char* to, double value) {
        const T stored = static_cast<T>(value);
        std::memcpy(to, &stored, sizeof stored);
    }
    template <typename T>
    static double take_as(const char* from) {
        T stored;
        std::memcpy(&stored, from, sizeof stored);
        return static_cast<double>(stored);
    }
    void put(char* to, double value) const {
        view_.dtype == GRAFT_F32   ? put_as<float>(to, value)
        : view_.dtype == GRAFT_F64 ? put_as<double>(to, value)
        : view_.dtype == GRAFT_I32 ? put_as<int32_t>(to, value)
                                   : put_as<int64_t>(to, value);
    }
    double take(const char* from) const {
        return view_.dtype == GRAFT_F32   ? take_as<float>(from)
               : view_.dtype == GRAFT_F64 ? take_as<double>(from)
               : view_.dtype == GRAFT_I32 ? take_as<int32_t>(from)
                                          : take_as<int64_t>(from);
    }

    Place place_ = Place::pageable;
    std::vector<double> values_;
    std::vector<char> bytes_; // of the whole block, at the start
    graft_array view_{};
    int64_t components_ = 1, offset_ = 0;
    char* data_ = nullptr;
};

inline int64_t hostile_size(Dice& dice, int64_t most) {
    if (dice.one_in(3))
        return dice.of<int64_t>({0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 128, 129});
    const int64_t power = int64_t{1} << (3 + dice.below(12));
    return std::min(most, dice.one_in(2) ? power - 1 + dice.below(3) : 1 + dice.below(2 * power));
}

/// The nearest number that single precision has. volatile: GCC 12 at -O3 leaves both conversions out of a
/// loop that it vectorizes.
inline double as_single(double x) {
    volatile const float nearest = static_cast<float>(x);
    return static_cast<double>(nearest);
}

/// What a scene says of its places.
struct Places {
    double finest = HUGE_VAL, widest = 0; // lengths that places differ by, about
    std::string words;
};

/// xyz xyz ...; coordinates that single precision has where `single`. Adds to what `places` says.
inline std::vector<double> hostile_points(Dice& dice, int64_t n, int dimension, bool single, Places& places) {
    std::vector<double> xyz;
    const int64_t kind = dice.below(10);
    const double unit = dice.of({1.0, 1.0, 1.0, 1e-12, 1e12}), apart = std::pow(10, dice.below(31));
    char words[80];
    std::snprintf(words, sizeof words, "places of kind %d in units of %g, %g apart; ", static_cast<int>(kind),
                  unit, apart);
    places.words += words;
    places.finest = std::min(places.finest, unit);
    places.widest = std::max(places.widest, unit * (kind == 2 || kind == 8 ? apart : kind == 7 ? 1e5 : 1));
    for (int64_t i = 0; i < n; ++i) {
        std::array<double, 3> p = {dice.normal(), dice.normal(), dice.normal()};
        const double r = std::pow(dice.uniform() + 1e-12, 3);
        for (int a = 0; a < 3; ++a) {
            double& x = p[static_cast<size_t>(a)];
            if (kind == 1) // one place
                x = 0.25 * a + 1;
            else if (kind == 2) // two clumps
                x += a == 0 && i % 2 != 0 ? apart : 0;
            else if (kind == 3) // a line
                x = a == 0 ? x : 0.5;
            else if (kind == 4) // a plane, tilted
                x = a == 2 ? p[0] + p[1] : x;
            else if (kind == 5) // a coarse lattice: many at one place
                x = std::round(2 * x);
            else if (kind == 6) // a cusp
                x *= r;
            else if (kind == 7) // far from the origin
                x += 1e5;
            else if (kind == 8 && i == 0) // a heap at the origin, of numbers next to zero, and one far away
                x = a == 0 ? apart : -apart;
            else if (kind == 8 && i % 3 == 0)
                x = i % 2 == 0 ? 0.0 : -0.0;
            x *= unit;
            if (single)
                x = as_single(x);
        }
        for (int a = 0; a < dimension; ++a)
            xyz.push_back(p[static_cast<size_t>(a)]);
    }
    return xyz;
}

inline std::vector<double> hostile_charges(Dice& dice, int64_t n, bool single) {
    const int64_t kind = dice.below(8);
    const double unit = single ? dice.of({1.0, 1e-20, 1e20}) : dice.of({1.0, 1e-200, 1e200});
    std::vector<double> charge;
    for (int64_t i = 0; i < n; ++i) {
        double q = 0.5 + dice.uniform();
        if (kind == 1) // none at all
            q = 0;
        else if (kind == 2) // some
            q *= i % 2 == 0 ? 0 : 1;
        else if (kind == 3) // they cancel
            q = i % 2 == 0 ? 1 : -1;
        else if (kind == 4) // one has nearly all
            q = i == n / 2 ? 1 : 1e-12;
        else if (kind == 5) // either sign, six decades
            q = (dice.uniform() - 0.5) * std::pow(10, dice.below(7));
        q *= unit;
        charge.push_back(single ? as_single(q) : q);
    }
    return charge;
}

/// How pairs are softened; `each`: a length a particle, else `length` for all.
struct HostileSoftening {
    std::string kind = "none"; // none, plummer, spline
    double length = 0;
    const std::vector<double>* each = nullptr;
    double of(int64_t k) const { // k: -1 a point
        return each == nullptr ? length : k < 0 ? 0 : (*each)[static_cast<size_t>(k)];
    }
    /// Force and potential of a unit charge at distance r, without the direction's r; `reach`: the distance
    /// below which neither changes much.
    struct Factors {
        long double force, potential, reach;
    };
    Factors at(long double r, int64_t i, int64_t j) const {
        const long double a = of(i), b = of(j);
        if (kind == "plummer") {
            const long double s = std::sqrt(r * r + (a * a + b * b) / 2);
            return s > 0 ? Factors{1 / (s * s * s), 1 / s, s} : Factors{0, 0, 0};
        }
        const long double h = kind == "spline" ? std::max(a, b) : 0;
        if (!(r < h))
            return r > 0 ? Factors{1 / (r * r * r), 1 / r, r} : Factors{0, 0, 0};
        const long double u = r / h, h3 = h * h * h, v = 2 * u * u; // Springel 2005, equation 4
        if (u < 0.5L)
            return {(32 / 3.0L - 19.2L * v + 16 * v * u) / h3,
                    (2.8L - 8 / 3.0L * v + 2.4L * v * v - 1.6L * v * v * u) / h, h / 2.2L};
        return {(64 / 3.0L - 48 * u + 19.2L * v - 16 / 3.0L * v * u - 1 / (15 * u * u * u)) / h3,
                (3.2L - 16 / 3.0L * v + 8 * v * u - 2.4L * v * v + 8 / 15.0L * v * v * u - 1 / (15 * u)) / h,
                h / 2.2L};
    }
};

/// All that acts on one target, in long double.
struct Exact {
    double a[3] = {0, 0, 0}, phi = 0;
    double size_a = 0, size_phi = 0;     // sums of magnitudes
    double moved_a = 0, moved_phi = 0;   // how much they change a unit of length that sources are moved by
    double nearest = HUGE_VAL, self = 0; // least distance, softened; what the target itself adds to a sum
};
inline Exact exact_at(const std::vector<double>& xyz, const std::vector<double>& charge, int dimension,
                      const HostileSoftening& softening, const double* at, int64_t self) {
    long double a[3] = {0, 0, 0}, phi = 0, size_a = 0, size_phi = 0, moved_a = 0, moved_phi = 0;
    Exact exact;
    const auto n = static_cast<int64_t>(charge.size());
    for (int64_t j = 0; j < n; ++j) {
        long double d[3] = {0, 0, 0}, r2 = 0;
        for (int c = 0; c < dimension; ++c) {
            d[c] = static_cast<long double>(xyz[static_cast<size_t>(dimension * j + c)]) - at[c];
            r2 += d[c] * d[c];
        }
        const HostileSoftening::Factors f = softening.at(std::sqrt(r2), self, j);
        const long double q = charge[static_cast<size_t>(j)], size = std::fabs(q);
        if (j == self)
            exact.self = static_cast<double>(size * f.potential);
        if (j == self || f.reach == 0)
            continue;
        for (int c = 0; c < dimension; ++c)
            a[c] += q * f.force * d[c];
        phi -= q * f.potential;
        size_phi += size * f.potential, size_a += size / (f.reach * f.reach);
        moved_phi += size / (f.reach * f.reach), moved_a += 2 * size / (f.reach * f.reach * f.reach);
        if (r2 > 0)
            exact.nearest = std::min(exact.nearest, static_cast<double>(f.reach));
    }
    for (int c = 0; c < 3; ++c)
        exact.a[c] = static_cast<double>(a[c]);
    exact.phi = static_cast<double>(phi);
    exact.size_a = static_cast<double>(size_a), exact.size_phi = static_cast<double>(size_phi);
    exact.moved_a = static_cast<double>(moved_a), exact.moved_phi = static_cast<double>(moved_phi);
    return exact;
}

} // namespace graft::test
