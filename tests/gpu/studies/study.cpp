// SPDX-License-Identifier: BSD-3-Clause
// See study.hpp.
#include "study.hpp"

#include "ic/orbit_table.hpp"
#include "ic/solar_system.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace graft::study {

namespace {

using Clock = std::chrono::steady_clock;

void require(cudaError_t error) {
    if (error != cudaSuccess)
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

std::string number_text(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.5g", value);
    return text;
}

std::string json_string(const std::string& text) {
    std::string out = "\"";
    for (const char c : text)
        out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c == '\n' ? ' ' : c);
    return out + "\"";
}

template <typename T>
void fill(char* data, const std::vector<double>& values, std::int64_t column) {
    T* to = reinterpret_cast<T*>(data) + column * static_cast<std::int64_t>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
        to[i] = static_cast<T>(values[i]);
}

} // namespace

Words::Words(int count, char** words) {
    for (int i = 1; i < count; ++i) {
        const std::string name = words[i];
        if (name.rfind("--", 0) != 0)
            throw std::runtime_error("expected --name [value], found " + name);
        const bool has_value = i + 1 < count && std::strncmp(words[i + 1], "--", 2) != 0;
        values_[name.substr(2)] = has_value ? words[++i] : "";
    }
}

std::string Words::text(const std::string& name, const std::string& otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
}

double Words::number(const std::string& name, double otherwise) const {
    const auto found = values_.find(name);
    return found == values_.end() ? otherwise : std::strtod(found->second.c_str(), nullptr);
}

Bodies::Bodies(const cli::Snapshot& s, Place place, Real real)
    : n_(static_cast<std::int64_t>(s.size())), place_(place), real_(real) {
    const std::size_t bytes = 7 * s.size() * (real == Real::fp32 ? 4 : 8);
    std::vector<char> host(bytes, 0);
    const std::vector<double>* columns[] = {&s.x, &s.y, &s.z, &s.mass};
    for (int c = 0; c < 4; ++c)
        real == Real::fp32 ? fill<float>(host.data(), *columns[c], c)
                           : fill<double>(host.data(), *columns[c], c);
    if (place == Place::device) {
        require(cudaMalloc(reinterpret_cast<void**>(&data_), bytes));
        require(cudaMemcpy(data_, host.data(), bytes, cudaMemcpyHostToDevice));
    } else {
        data_ = new char[bytes];
        std::memcpy(data_, host.data(), bytes);
    }
}

Bodies::~Bodies() {
    if (place_ == Place::device)
        (void)cudaFree(data_);
    else
        delete[] data_;
}

graft_array Bodies::column(int column) const {
    graft_array array = real_ == Real::fp32 ? graft::view(reinterpret_cast<float*>(data_) + column * n_, n_)
                                            : graft::view(reinterpret_cast<double*>(data_) + column * n_, n_);
    return place_ == Place::device ? graft::in_memory(array, GRAFT_MEMORY_DEVICE, 0) : array;
}

graft::Particles Bodies::particles() const {
    return graft::Particles().positions(column(0), column(1), column(2)).charges(column(3));
}

graft::Results Bodies::results() const {
    graft_array ax = column(4), ay = column(5), az = column(6);
    return graft::Results().accelerations(ax, ay, az);
}

std::vector<double> Bodies::accelerations() const {
    const std::size_t count = static_cast<std::size_t>(3 * n_), size = real_ == Real::fp32 ? 4 : 8;
    std::vector<char> host(count * size);
    const char* from = data_ + static_cast<std::size_t>(4 * n_) * size;
    if (place_ == Place::device)
        require(cudaMemcpy(host.data(), from, host.size(), cudaMemcpyDeviceToHost));
    else
        std::memcpy(host.data(), from, host.size());
    std::vector<double> a(count);
    for (std::size_t i = 0; i < count; ++i)
        a[i] = real_ == Real::fp32 ? static_cast<double>(reinterpret_cast<float*>(host.data())[i])
                                   : reinterpret_cast<double*>(host.data())[i];
    return a;
}

graft::Context make_context(const Keys& keys) {
    graft::Options options(graft::Library::load());
    for (const auto& [key, value] : keys)
        options.set(key, value);
    return graft::Context(options);
}

double Timing::figure(const std::string& key) const {
    const auto found = figures.find(key);
    return found == figures.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

Timing measure(graft::Context& context, const Bodies& bodies, int warm_up, int repeats) {
    std::vector<double> walls;
    const graft::Particles particles = bodies.particles();
    const graft::Results results = bodies.results();
    for (int round = -warm_up; round < repeats; ++round) {
        const Clock::time_point start = Clock::now();
        context.compute(particles, results);
        if (devices() > 0)
            require(cudaDeviceSynchronize());
        if (round >= 0)
            walls.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    }
    std::sort(walls.begin(), walls.end());
    Timing timing;
    timing.wall_s = walls[walls.size() / 2];
    for (const char* key : {"time_s.import", "time_s.sort", "time_s.tree", "time_s.moments", "time_s.lists",
                            "time_s.forces", "time_s.p2p", "time_s.m2p", "time_s.output", "time_s.total",
                            "interactions.p2p", "interactions.m2p", "bytes.lists", "bytes.device_peak"}) {
        try {
            timing.figures[key] = context.query(key);
        } catch (const graft::Error&) { // of another backend or method
        }
    }
    return timing;
}

std::vector<double> errors(const std::vector<double>& a, const std::vector<double>& b) {
    const std::size_t n = a.size() / 3;
    std::vector<double> result(n);
    for (std::size_t i = 0; i < n; ++i) {
        double difference = 0, length = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            const std::size_t k = axis * n + i;
            difference += (a[k] - b[k]) * (a[k] - b[k]);
            length += b[k] * b[k];
        }
        result[i] = std::sqrt(difference / length);
    }
    std::sort(result.begin(), result.end());
    return result;
}

double quantile(const std::vector<double>& ascending, double share) {
    const auto last = static_cast<double>(ascending.size() - 1);
    return ascending[static_cast<std::size_t>(share * last)];
}

double share_above(const std::vector<double>& ascending, double level) {
    const auto above = ascending.end() - std::upper_bound(ascending.begin(), ascending.end(), level);
    return static_cast<double>(above) / static_cast<double>(ascending.size());
}

Row& Row::add(const std::string& name, double value) {
    cells_.push_back({name, std::isfinite(value) ? number_text(value) : "-", false, true});
    return *this;
}

Row& Row::add(const std::string& name, const std::string& text) {
    cells_.push_back({name, text, true, true});
    return *this;
}

Row& Row::hidden(const std::string& name, double value) {
    add(name, value);
    cells_.back().shown = false;
    return *this;
}

std::string Row::json() const {
    std::string text;
    for (const Cell& cell : cells_)
        text += (text.empty() ? "{" : ",") + json_string(cell.name) + ":" +
                (cell.is_text ? json_string(cell.text) : (cell.text == "-" ? "null" : cell.text));
    return text + "}";
}

Table::Table(const std::string& file) {
    if (file.empty())
        return;
    file_ = std::fopen(file.c_str(), "w");
    if (file_ == nullptr)
        throw std::runtime_error(file + " cannot be written");
}

Table::~Table() {
    if (file_ != nullptr)
        std::fclose(static_cast<std::FILE*>(file_));
}

void Table::title(const std::string& text) {
    heading_.clear();
    std::printf("\n%s\n", text.c_str());
}

void Table::print(const Row& row) {
    std::string heading, line;
    for (const Row::Cell& cell : row.cells_) {
        if (!cell.shown)
            continue;
        char text[256];
        const int width = std::max(10, static_cast<int>(cell.name.size()) + 1);
        std::snprintf(text, sizeof text, cell.is_text ? " %-*s" : " %*s", width, cell.name.c_str());
        heading += text;
        std::snprintf(text, sizeof text, cell.is_text ? " %-*s" : " %*s", width, cell.text.c_str());
        line += text;
    }
    if (heading != heading_)
        std::printf("%s\n", heading.c_str());
    heading_ = heading;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    if (file_ != nullptr)
        std::fprintf(static_cast<std::FILE*>(file_), "%s\n", row.json().c_str());
}

cli::Snapshot solar_system(std::size_t n) {
    std::vector<cli::OrbitRow> rows;
    const char* data = std::getenv("GRAFT_TEST_DATA");
    if (n != 999)
        rows = data != nullptr ? cli::read_orbit_table_file(std::string(data) + "/planets_and_moons.csv")
                               : cli::read_orbit_table(cli::built_in_orbit_table(), "built-in table");
    cli::BeltOptions options;
    options.n = n > rows.size() + 1 ? n - rows.size() - 1 : 0;
    return cli::make_belt(rows, options);
}

int devices() {
    static const int count = [] {
        int found = 0;
        return cudaGetDeviceCount(&found) == cudaSuccess ? found : 0;
    }();
    return count;
}

int without_device() {
    std::printf("no CUDA device here\n");
    return 77;
}

} // namespace graft::study
