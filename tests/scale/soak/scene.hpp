// SPDX-License-Identifier: BSD-3-Clause
// A case of the soak campaign: a line of "key=value" words, and the particles that it asks for. Everything is
// made from the line, so that a line alone repeats a case.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace soak {

class Case {
  public:
    explicit Case(const std::string& line) {
        std::istringstream words(line);
        for (std::string word; words >> word;) {
            const auto equals = word.find('=');
            const std::string key = word.substr(0, equals);
            const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
            if (key.starts_with("deck:"))
                deck_.emplace_back(key.substr(5), value);
            else
                values_[key] = value;
        }
    }
    std::string text(const std::string& key, const std::string& otherwise = "") const {
        const auto found = values_.find(key);
        return found == values_.end() ? otherwise : found->second;
    }
    double number(const std::string& key, double otherwise) const {
        const std::string value = text(key);
        return value.empty() ? otherwise : std::strtod(value.c_str(), nullptr);
    }
    int64_t whole(const std::string& key, int64_t otherwise) const {
        return static_cast<int64_t>(number(key, static_cast<double>(otherwise)));
    }
    const std::vector<std::pair<std::string, std::string>>& deck() const { return deck_; }
    std::string deck(const std::string& key, const std::string& otherwise) const {
        std::string value = otherwise;
        for (const auto& [name, text] : deck_)
            if (name == key)
                value = text;
        return value;
    }

  private:
    std::map<std::string, std::string> values_;
    std::vector<std::pair<std::string, std::string>> deck_;
};

struct Points {
    std::vector<double> axis[3];
    size_t size() const { return axis[0].size(); }
};

struct Scene {
    Points sources, points; // points: only where the field is asked for at points
    std::vector<double> charge;
};

class Maker {
  public:
    explicit Maker(const Case& c) : random_(static_cast<uint64_t>(c.whole("seed", 1))) {}

    double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
    double normal() { return std::normal_distribution<double>(0, 1)(random_); }
    /// 10^u, u uniform.
    double decades(double from, double to) { return std::pow(10.0, from + (to - from) * unit()); }

    void direction(double (&d)[3]) {
        double r = 0;
        do {
            r = 0;
            for (double& x : d) {
                x = 2 * unit() - 1;
                r += x * x;
            }
        } while (r > 1 || r < 1e-6);
        for (double& x : d)
            x /= std::sqrt(r);
    }

    /// Point i of n, at scale 1.
    void place(const std::string& shape, size_t i, size_t n, double (&p)[3]) {
        double d[3];
        direction(d);
        const auto along = [&](double r) {
            for (int k = 0; k < 3; ++k)
                p[k] = r * d[k];
        };
        const auto box = [&](double edge) {
            for (double& x : p)
                x = edge * unit();
        };
        const auto side = static_cast<size_t>(std::ceil(std::cbrt(static_cast<double>(n))));
        if (shape == "plummer")
            along(1 / std::sqrt(std::pow(0.999 * unit() + 1e-9, -2.0 / 3) - 1));
        else if (shape == "shell")
            along(1);
        else if (shape == "cusp")
            along(std::pow(unit(), 4));
        else if (shape == "decades")
            along(decades(-15, 0));
        else if (shape == "wide_decades")
            along(decades(-30, 30));
        else if (shape == "line")
            p[0] = unit(), p[1] = p[2] = 0.5;
        else if (shape == "diagonal")
            p[0] = p[1] = p[2] = unit();
        else if (shape == "plane")
            p[0] = unit(), p[1] = unit(), p[2] = 0.25;
        else if (shape == "point")
            p[0] = 0.1, p[1] = 0.2, p[2] = 0.3;
        else if (shape == "two_points")
            p[0] = p[1] = p[2] = static_cast<double>(i % 2);
        else if (shape == "clumps") {
            const auto clump = static_cast<double>(i % 5);
            for (int k = 0; k < 3; ++k)
                p[k] = 1e6 * std::sin(clump * (k + 1)) + 1e-3 * normal();
        } else if (shape == "lattice")
            p[0] = static_cast<double>(i % side), p[1] = static_cast<double>(i / side % side),
            p[2] = static_cast<double>(i / side / side);
        else if (shape == "binaries") {
            std::mt19937_64 pair(i / 2);
            for (double& x : p)
                x = std::uniform_real_distribution<double>(0, 1)(pair);
            p[0] += i % 2 == 0 ? 0 : 1e-9;
        } else if (shape == "offset") {
            box(1);
            for (double& x : p)
                x += 1e7;
        } else if (shape == "stray") {
            box(1);
            if (i + 1 == n)
                p[0] = decades(3, 25);
        } else if (shape == "strays") {
            box(1);
            if (i % 16 == 0)
                along(decades(3, 25));
        } else if (shape == "ring") {
            const double angle = 6.283185307179586 * static_cast<double>(i) / static_cast<double>(n);
            p[0] = std::cos(angle), p[1] = std::sin(angle), p[2] = 0;
        } else if (shape == "heap") {
            box(1);
            if (i % 3 == 0)
                p[0] = p[1] = p[2] = 0.5;
        } else if (shape == "pancake")
            p[0] = unit(), p[1] = unit(), p[2] = 1e-12 * unit();
        else if (shape == "disc") {
            const double r = -std::log(1 - 0.999 * unit());
            p[0] = r * d[0], p[1] = r * d[1], p[2] = 0.02 * normal();
        } else
            box(1); // uniform
    }

    double charge(const std::string& kind, size_t i, size_t n) {
        if (kind == "random")
            return unit();
        if (kind == "signs")
            return i % 2 == 0 ? 1 : -1;
        if (kind == "decades")
            return decades(-15, 15);
        if (kind == "heavy")
            return i == n / 2 ? 1e15 : 1;
        if (kind == "zeros")
            return i % 4 == 0 ? unit() : 0;
        return 1;
    }

    Points points(const std::string& shape, size_t n, double length, bool single) {
        Points made;
        for (size_t i = 0; i < n; ++i) {
            double p[3] = {0, 0, 0};
            place(shape, i, n, p);
            for (int k = 0; k < 3; ++k)
                made.axis[k].push_back(rounded(p[k] * length, single));
        }
        return made;
    }

    /// As the caller's array will hold it: what the oracle sums, too.
    static double rounded(double value, bool single) {
        return single ? static_cast<double>(static_cast<float>(value)) : value;
    }

  private:
    std::mt19937_64 random_;
};

inline Scene scene_of(const Case& c) {
    Maker make(c);
    const auto n = static_cast<size_t>(c.whole("n", 1));
    const bool single = c.text("type") == "f32";
    const double length = c.number("length", 1), mass = c.number("mass", 1);
    Scene scene;
    scene.sources = make.points(c.text("shape"), n, length, single);
    for (size_t i = 0; i < n; ++i)
        scene.charge.push_back(Maker::rounded(mass * make.charge(c.text("masses"), i, n), single));
    if (c.text("targets") == "points")
        scene.points = make.points(c.text("shape"), n / 2 + 1, length * 1.01, single);
    return scene;
}

} // namespace soak
