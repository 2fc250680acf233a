// SPDX-License-Identifier: BSD-3-Clause
// See wave_mesh.hpp.
#include "periodic/mesh/wave_mesh.hpp"

#include <algorithm>
#include <cmath>

namespace graft::periodic {

namespace {

constexpr double pi = 3.14159265358979323846;

/// Sine and cosine of 2 pi t, |t| <= 1/2, to 1e-4: for a correction that is small itself.
void turn_of(double t, double& sine, double& cosine) {
    const double x = pi * t, square = x * x;
    const double s = x * (1 - square / 6 * (1 - square / 20 * (1 - square / 42)));
    const double c = 1 - square / 2 * (1 - square / 12 * (1 - square / 30 * (1 - square / 56)));
    sine = 2 * s * c;
    cosine = 1 - 2 * s * s;
}

} // namespace

template <typename T>
WaveMesh<T>::Sorted::Sorted(core::Memory& memory)
    : u1(memory, "places on the mesh"), u2(memory, "places on the mesh"), u3(memory, "places on the mesh"),
      charge(memory, "charges by tile") {}

template <typename T>
WaveMesh<T>::WaveMesh(core::Memory& memory)
    : mesh_(memory, "mesh"), real_(memory, "spectrum of the mesh"), imaginary_(memory, "spectrum of the mesh"),
      influence_(memory, "influence function"), scratch_(memory, "room of transforms"), squares_(memory, "room of transforms"),
      sorted_(memory), sums_(memory, "sums of the mesh"), shared_(memory, "mesh of all ranks"),
      tile_counts_(memory, "tiles of the mesh"), tile_begin_(memory, "tiles of the mesh") {}

template <typename T>
void WaveMesh<T>::prepare(const backend::Executor& executor, const Waves& waves, const MeshChoice& choice, double scale) {
    if (choice_ == choice && scale_ == scale && waves_.lattice() == waves.lattice() && waves_.alpha() == waves.alpha() &&
        waves_.softening() == waves.softening())
        return;
    choice_ = {}; // until all is there
    shape_ = mesh_shape<T>(choice.count);
    spline_ = make_spline<T>(choice.order);
    for (int a = 0; a < 3; ++a)
        plan_[a] = FourierPlan(static_cast<int>(choice.count[a]));
    mesh_.resize(shape_.size());
    for (core::Buffer<T>* values : {&real_, &imaginary_, &influence_})
        values->resize(shape_.spectrum_size());
    waves_ = waves;
    scale_ = scale;
    fill_softened(executor);
    for (int a = 0; a < 3; ++a)
        axis_[a] = mesh_axis_sums(choice.order, choice.count[a]);
    fill_influence(executor);
    fill_self(executor);
    choice_ = choice;
}

template <typename T>
void WaveMesh<T>::fill_softened(const backend::Executor& executor) {
    constexpr int64_t steps = 8192;
    softened_ = {};
    if (waves_.softening() == 0)
        return;
    double largest = 0; // at most, |k| at a corner
    for (int a = 0; a < 3; ++a)
        largest += pi * static_cast<double>(shape_.count[a]) / waves_.lattice().width(a);
    softened_.step = largest / steps;
    softened_.factor.resize(steps + 3);
    softened_.slope.resize(steps + 3);
    executor.for_each(steps + 3, [&](int64_t i) {
        const double k = static_cast<double>(std::max<int64_t>(i, 1)) * softened_.step;
        softened_.factor[static_cast<size_t>(i)] = waves_.factor(k * k);
        softened_.slope[static_cast<size_t>(i)] = k * k * waves_.slope(k * k);
    }, 64);
}

/// By the cubic through four neighbours.
template <typename T>
double WaveMesh<T>::Softened::at(const std::vector<double>& values, double square) const {
    const double place = std::sqrt(square) / step, last = static_cast<double>(values.size()) - 3;
    const double first = std::clamp(std::floor(place) - 1, 1.0, last - 1), t = place - first - 1;
    const double* const v = values.data() + static_cast<size_t>(first);
    const double before = t * (t - 1), behind = t * (t + 1);
    return (v[3] * (t - 1) * behind - v[0] * (t - 2) * before) / 6 +
           (v[1] * (t + 1) * (t - 1) * (t - 2) - v[2] * (t - 2) * behind) / 2;
}

template <typename T>
double WaveMesh<T>::weight(double square) const {
    if (softened_.step == 0)
        return waves_.weight(square);
    return waves_.plain_weight(square) * softened_.at(softened_.factor, square);
}

template <typename T>
double WaveMesh<T>::slope(double square) const {
    return softened_.step == 0 ? waves_.slope(square) : softened_.at(softened_.slope, square) / square;
}

/// Of the whole spectrum, row by row; columns beyond its middle are not there, and are 0.
template <typename T>
void WaveMesh<T>::fill_influence(const backend::Executor& executor) {
    geometry::Vec3 edge[3];
    for (int a = 0; a < 3; ++a)
        edge[a] = waves_.lattice().reciprocal(a == 0, a == 1, a == 2);
    double product[3][3];
    for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
            product[a][b] = 4 * pi * pi * (edge[a].x * edge[b].x + edge[a].y * edge[b].y + edge[a].z * edge[b].z);
    const int64_t rows = shape_.count[0] * shape_.count[1], last = shape_.count[2] / 2;
    executor.for_each(rows, [&](int64_t row) {
        const int64_t i = row / shape_.count[1], j = row % shape_.count[1];
        for (int64_t k = 0; k < shape_.half_row; ++k) {
            T& value = influence_[row * shape_.half_row + k];
            value = 0;
            if (k > last || (i == 0 && j == 0 && k == 0))
                continue;
            const int64_t at[3] = {i, j, k};
            const MeshAxisSums* s[3];
            double f[3], square = 0, slopes = 0;
            for (int a = 0; a < 3; ++a) {
                s[a] = &axis_[a][static_cast<size_t>(at[a])];
                f[a] = mesh_frequency(at[a], shape_.count[a]);
            }
            for (int a = 0; a < 3; ++a) {
                const int b = (a + 1) % 3, c = (a + 2) % 3;
                square += product[a][a] * f[a] * f[a] + 2 * product[a][b] * f[a] * f[b];
                slopes += product[a][a] * s[a]->second * s[b]->square * s[c]->square +
                          2 * product[a][b] * s[a]->first * s[b]->first * s[c]->square;
            }
            const double alone = s[0]->alone * s[1]->alone * s[2]->alone;
            const double squares = s[0]->square * s[1]->square * s[2]->square;
            value = static_cast<T>(scale_ * weight(square) * square * alone / (slopes * squares));
        }
    }, 16);
}

template <typename T>
void WaveMesh<T>::fill_self(const backend::Executor& executor) {
    const int64_t rows = shape_.count[0] * shape_.count[1];
    sums_.resize(rows * self_size);
    executor.for_each(rows, [&](int64_t row) {
        double* const sum = sums_.data() + row * self_size;
        std::fill_n(sum, self_size, 0.0);
        add_own(row / shape_.count[1], row % shape_.count[1], sum);
    }, 16);
    double sum[self_size] = {};
    for (int64_t row = 0; row < rows; ++row)
        for (int c = 0; c < self_size; ++c)
            sum[c] += sums_[row * self_size + c];
    for (int a = 0; a < 3; ++a)
        for (int m = 0; m < self_terms; ++m)
            self_[a][m] = sum[a * self_terms + m];
    const double* const own = sum + 3 * self_terms;
    own_.energy = own[0];
    std::copy_n(own + 1, 6, own_.virial);
}

/// What a unit charge does to itself through the vectors (i, j, all k) of the mesh: how that changes along the axes, and
/// what its energy and the strain derivative lack of those of all vectors.
template <typename T>
void WaveMesh<T>::add_own(int64_t i, int64_t j, double* sum) const {
    const MeshAxisSums& x = axis_[0][static_cast<size_t>(i)];
    const MeshAxisSums& y = axis_[1][static_cast<size_t>(j)];
    const double most = 100 * waves_.alpha() * waves_.alpha(); // k^2 of weights below exp(-25)
    WaveEnergy own;
    double length[3]; // of the edges: a vector's frequency along one is at most |k| length / 2 pi
    for (int a = 0; a < 3; ++a) {
        const geometry::Vec3 edge = waves_.lattice().shift(a == 0, a == 1, a == 2);
        length[a] = std::sqrt(edge.x * edge.x + edge.y * edge.y + edge.z * edge.z);
    }
    const auto add = [&](const geometry::Vec3& g, double energy) {
        const double a = 2 * pi * g.x, b = 2 * pi * g.y, c = 2 * pi * g.z;
        own.add(g, energy, slope(a * a + b * b + c * c));
    };
    for (int64_t k = 0; 2 * k <= shape_.count[2]; ++k) {
        const MeshAxisSums& z = axis_[2][static_cast<size_t>(k)];
        const double influence = static_cast<double>(influence_[(i * shape_.count[1] + j) * shape_.half_row + k]) * copies_of(k);
        for (int m = 0; m < self_terms; ++m) {
            sum[m] += influence * x.shifted[m] * y.square * z.square;
            sum[self_terms + m] += influence * x.square * y.shifted[m] * z.square;
            sum[2 * self_terms + m] += influence * x.square * y.square * z.shifted[m];
        }
        const double f[3] = {mesh_frequency(i, shape_.count[0]), mesh_frequency(j, shape_.count[1]), static_cast<double>(k)};
        if (influence != 0)
            add(waves_.lattice().reciprocal(f[0], f[1], f[2]), -0.5 / scale_ * influence * x.square * y.square * z.square);
        double reached[3][3]; // frequencies along each axis: of this mesh, and beyond it where vectors of weight may be
        int reaches[3] = {0, 0, 0};
        for (int a = 0; a < 3; ++a)
            for (int n = -1; n <= 1; ++n) {
                const double other = f[a] + n * static_cast<double>(shape_.count[a]), least = 2 * pi * other / length[a];
                if (n == 0 || least * least < most)
                    reached[a][reaches[a]++] = other;
            }
        for (int c = 0; c < reaches[2]; ++c)
            for (int b = 0; b < reaches[1]; ++b)
                for (int a = 0; a < reaches[0]; ++a) {
                    const geometry::Vec3 g = waves_.lattice().reciprocal(reached[0][a], reached[1][b], reached[2][c]);
                    const double square = 4 * pi * pi * (g.x * g.x + g.y * g.y + g.z * g.z);
                    if (square > 0 && square < most)
                        add(g, 0.5 * copies_of(k) * weight(square));
                }
    }
    sum[3 * self_terms] = own.energy;
    std::copy_n(own.virial, 6, sum + 3 * self_terms + 1);
}

/// How many vectors entry k along the last axis stands for: itself, and its opposite where that is another one.
template <typename T>
double WaveMesh<T>::copies_of(int64_t k) const {
    return k == 0 || 2 * k == shape_.count[2] ? 1 : 2;
}

/// The particles by tiles of the mesh: rows of tiles along the last axis that do not touch can be spread at the same time.
template <typename T>
void WaveMesh<T>::sort_places(const backend::Executor& executor, const Fractions& particles, const double* charge) {
    constexpr int64_t least_chunk = 4096, most_chunks = 64, tile = 8, last_tile = 16;
    for (int a = 0; a < 2; ++a) { // even numbers, so that neighbours are of different kinds across the box's faces, too
        const int64_t pairs = shape_.count[a] / (2 * tile);
        tiles_[a] = pairs > 0 ? 2 * pairs : 1;
    }
    tiles_[2] = std::max<int64_t>(1, shape_.count[2] / last_tile);
    const int64_t n = particles.count, chunk = std::max(least_chunk, (n + most_chunks - 1) / most_chunks);
    const int64_t chunks = (n + chunk - 1) / chunk, tiles = tiles_[0] * tiles_[1] * tiles_[2];
    const double* const f[3] = {particles.f1, particles.f2, particles.f3};
    const auto place = [&](int64_t p, double (&u)[3]) {
        int64_t index = 0;
        for (int a = 0; a < 3; ++a) {
            const auto points = static_cast<double>(shape_.count[a]);
            u[a] = (f[a][p] - std::floor(f[a][p])) * points;
            u[a] = u[a] < points ? u[a] : 0;
            index = index * tiles_[a] + static_cast<int64_t>(u[a]) * tiles_[a] / shape_.count[a];
        }
        return index;
    };
    for (core::Buffer<double>* values : {&sorted_.u1, &sorted_.u2, &sorted_.u3, &sorted_.charge})
        values->resize(n);
    tile_counts_.resize(chunks * tiles);
    tile_begin_.resize(tiles + 1);
    executor.for_blocks(n, chunk, [&](int64_t begin, int64_t end, int) {
        int32_t* const count = tile_counts_.data() + begin / chunk * tiles;
        std::fill_n(count, tiles, 0);
        double u[3];
        for (int64_t p = begin; p < end; ++p)
            ++count[place(p, u)];
    });
    int32_t before = 0;
    for (int64_t t = 0; t < tiles; ++t) {
        tile_begin_[t] = before;
        for (int64_t c = 0; c < chunks; ++c) {
            const int32_t count = tile_counts_[c * tiles + t];
            tile_counts_[c * tiles + t] = before;
            before += count;
        }
    }
    tile_begin_[tiles] = before;
    executor.for_blocks(n, chunk, [&](int64_t begin, int64_t end, int) {
        int32_t* const next = tile_counts_.data() + begin / chunk * tiles;
        double u[3];
        for (int64_t p = begin; p < end; ++p) {
            const int32_t to = next[place(p, u)]++;
            sorted_.u1[to] = u[0];
            sorted_.u2[to] = u[1];
            sorted_.u3[to] = u[2];
            sorted_.charge[to] = charge[p];
        }
    });
}

template <typename T>
void WaveMesh<T>::spread(const backend::Executor& executor, const Fractions& particles, const double* charge) {
    sort_places(executor, particles, charge);
    executor.for_blocks(mesh_.size(), 1 << 16, [&](int64_t begin, int64_t end, int) {
        std::fill(mesh_.data() + begin, mesh_.data() + end, T(0));
    });
    for (int64_t kind = 0; kind < 4; ++kind) {
        const int64_t first[2] = {kind / 2, kind % 2};
        const int64_t rows[2] = {(tiles_[0] + 1 - first[0]) / 2, (tiles_[1] + 1 - first[1]) / 2};
        executor.for_each(rows[0] * rows[1], [&](int64_t k) {
            const int64_t i = first[0] + 2 * (k / rows[1]), j = first[1] + 2 * (k % rows[1]);
            const int64_t tile = (i * tiles_[1] + j) * tiles_[2];
            const MeshPoints points{sorted_.u1.data(), sorted_.u2.data(), sorted_.u3.data(), tile_begin_[tile],
                                    tile_begin_[tile + tiles_[2]]};
            periodic::spread<T>(shape_, spline_, points, sorted_.charge.data(), mesh_.data());
        }, 1);
    }
}

template <typename T>
void WaveMesh<T>::sum_over(comm::Communicator& comm) {
    if (comm.alone())
        return;
    comm.together([&] { shared_.resize(mesh_.size()); });
    std::copy_n(mesh_.data(), mesh_.size(), shared_.data());
    comm.allreduce(shared_.data(), shared_.size(), comm::Operation::sum);
    std::transform(shared_.begin(), shared_.end(), mesh_.data(), [](double value) { return static_cast<T>(value); });
}

template <typename T>
void WaveMesh<T>::convolve(const backend::Executor& executor, double square_sum, WaveEnergy* energy) {
    constexpr int64_t at_once = mesh_row_pairs<T>;
    const int64_t room = fourier_scratch<T>(shape_), squares = at_once * shape_.count[0];
    const int64_t columns = shape_.half_row / at_once, pairs = (shape_.count[0] * shape_.count[1] + 1) / 2;
    const Spectrum<T> spectrum{real_.data(), imaginary_.data()};
    scratch_.resize(executor.threads * room);
    squares_.resize(executor.threads * squares);
    const auto rows = [&](bool inverse) {
        executor.for_blocks(pairs, at_once, [&](int64_t begin, int64_t end, int thread) {
            transform_rows<T>(shape_, plan_[2], begin, end - begin, inverse, mesh_.data(), spectrum,
                              scratch_.data() + thread * room);
        });
    };
    const auto planes = [&](bool inverse) {
        executor.for_blocks(shape_.count[0] * columns, 1, [&](int64_t k, int64_t, int thread) {
            transform_columns<T>(shape_, plan_[1], k / columns, k % columns * at_once, inverse, spectrum,
                                 scratch_.data() + thread * room);
        });
    };
    const int64_t jobs = shape_.count[1] * columns;
    rows(false);
    planes(false);
    sums_.resize(energy != nullptr ? jobs * energy_size : 0);
    executor.for_blocks(jobs, 1, [&](int64_t job, int64_t, int thread) {
        const int64_t j = job / columns, k = job % columns * at_once;
        T* const square = energy != nullptr ? squares_.data() + thread * squares : nullptr;
        convolve_columns<T>(shape_, plan_[0], j, k, influence_.data(), spectrum, square, scratch_.data() + thread * room);
        if (energy != nullptr)
            add_energy(j, k, square, sums_.data() + job * energy_size);
    });
    planes(true);
    rows(true);
    if (energy == nullptr)
        return;
    energy->energy = square_sum * own_.energy;
    for (int c = 0; c < 6; ++c)
        energy->virial[c] = square_sum * own_.virial[c];
    for (int64_t job = 0; job < jobs; ++job) {
        energy->energy += sums_[job * energy_size];
        for (int c = 0; c < 6; ++c)
            energy->virial[c] += sums_[job * energy_size + 1 + c];
    }
}

/// Energy and strain derivative of the columns (j, k ...), as wave_energy() of ewald_waves.hpp.
template <typename T>
void WaveMesh<T>::add_energy(int64_t j, int64_t k, const T* squares, double* sum) const {
    constexpr int64_t at_once = mesh_row_pairs<T>;
    WaveEnergy total;
    for (int64_t i = 0; i < shape_.count[0]; ++i)
        for (int64_t lane = 0; lane < at_once && 2 * (k + lane) <= shape_.count[2]; ++lane) {
            const double influence =
                static_cast<double>(influence_[(i * shape_.count[1] + j) * shape_.half_row + k + lane]);
            if (influence == 0)
                continue;
            const geometry::Vec3 g =
                waves_.lattice().reciprocal(mesh_frequency(i, shape_.count[0]), mesh_frequency(j, shape_.count[1]),
                                            static_cast<double>(k + lane));
            const double x = 2 * pi * g.x, y = 2 * pi * g.y, z = 2 * pi * g.z;
            const double energy =
                0.5 / scale_ * copies_of(k + lane) * influence * static_cast<double>(squares[i * at_once + lane]);
            total.add(g, energy, slope(x * x + y * y + z * z));
        }
    sum[0] = total.energy;
    std::copy_n(total.virial, 6, sum + 1);
}

template <typename T>
void WaveMesh<T>::read(const Fractions& places, const double* charge, double* potential, double* d1, double* d2,
                       double* d3) const {
    double u[3][most_read], values[4][most_read];
    const double* const f[3] = {places.f1, places.f2, places.f3};
    double* const derivative[3] = {d1, d2, d3};
    for (int a = 0; a < 3; ++a) {
        const auto points = static_cast<double>(shape_.count[a]);
        for (int64_t p = 0; p < places.count; ++p) {
            const double at = (f[a][p] - std::floor(f[a][p])) * points;
            u[a][p] = at < points ? at : 0;
        }
    }
    read_mesh<T>(shape_, spline_, {u[0], u[1], u[2], 0, places.count}, mesh_.data(), values[0], values[1], values[2],
                 values[3]);
    for (int a = 0; a < 3; ++a) {
        const auto points = static_cast<double>(shape_.count[a]);
        for (int64_t p = 0; p < places.count; ++p) {
            double own = 0;
            if (charge != nullptr) {
                double sine, cosine;
                turn_of(u[a][p] - std::floor(u[a][p]) - 0.5, sine, cosine); // of half a turn more: - sine, - cosine
                own = charge[p] * 2 * pi * (sine * self_[a][0] - 2 * 2 * sine * cosine * self_[a][1]);
                values[0][p] -= charge[p] * 2 * (-cosine * self_[a][0] + (2 * cosine * cosine - 1) * self_[a][1]);
            }
            derivative[a][p] += points * (values[1 + a][p] - own);
        }
    }
    const double own = charge != nullptr ? 2 * scale_ * own_.energy : 0;
    for (int64_t p = 0; potential != nullptr && p < places.count; ++p)
        potential[p] += values[0][p] + (charge != nullptr ? own * charge[p] : 0);
}

template class WaveMesh<float>;
template class WaveMesh<double>;

} // namespace graft::periodic
