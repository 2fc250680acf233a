// SPDX-License-Identifier: BSD-3-Clause
// What balancing is worth: a cold sphere collapses, its particles spread over ranks; the step time modelled
// from the interactions of the busiest rank, without balancing and with each of the four balancers.
//
// usage: collapse_study [--n N] [--ranks P] [--steps S] [--every K] [--rate PAIRS_PER_S] [--gamma S] [--curve
// FILE]
//
// Modelled step time = max over ranks of interactions / rate; an expansion counts as the pairs it takes the
// time of; the rate is that of one thread here, or --rate. A balancing and its migration cost their virtual
// time on simulated ranks (alpha 2 us, 10 GB/s, computation in measured thread time or --gamma seconds a
// step). Three hosts do not balance: fixed slabs of space; owners of the start for ever, in slabs and by ORB.
// Each balancer starts from the slabs, and is asked every K steps. One JSON object a line: "saved" is the
// part of each unbalanced host's total that it saves. --curve: max / mean of each way at every step, tab
// separated.
#include "collapse_ways.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace {

using namespace graft;
using namespace graft::study;

struct Arguments {
    int64_t n = 20000;
    int steps = 300, every = 10;
    double end_time = 3;
    Machine machine;
    std::string curve;
    double required = -1e9;
};

using Ways = std::vector<std::unique_ptr<Way>>;

Ways all_ways(const Bodies& bodies, const Arguments& arguments) {
    const Machine& machine = arguments.machine;
    const std::vector<int32_t> slabs = start_owners(bodies, machine.ranks, true);
    Ways ways;
    ways.push_back(std::make_unique<FixedSlabs>(bodies, machine, slabs));
    ways.push_back(std::make_unique<Way>("none: owners of the start, slabs", machine, slabs));
    ways.push_back(std::make_unique<Way>("none: owners of the start, orb", machine,
                                         start_owners(bodies, machine.ranks, false)));
    const auto add = [&](const char* name, balance::Kind kind) {
        ways.push_back(std::make_unique<Balanced>(name, machine, slabs, kind, arguments.every));
    };
    add("orb-central", balance::Kind::orb_central);
    add("orb-distributed", balance::Kind::orb_distributed);
    add("prefix-central", balance::Kind::prefix_central);
    add("prefix-distributed", balance::Kind::prefix_distributed);
    return ways;
}

bool is_balanced(const Way& way) {
    return way.name.compare(0, 4, "none") != 0;
}

/// The part of the other's time that a way saves.
double saved(const Way& way, const Way& other) {
    return 1 - way.total_s() / other.total_s();
}

void require(const Ways& ways, double least) {
    for (const auto& way : ways)
        for (const auto& other : ways)
            if (is_balanced(*way) && !is_balanced(*other) && !(saved(*way, *other) >= least))
                throw std::runtime_error(way->name + " saves " + std::to_string(saved(*way, *other)) +
                                         " of the time of \"" + other->name + "\"; required " +
                                         std::to_string(least));
}

void print(const Way& way, const Arguments& arguments, const Ways& ways) {
    std::printf(
        "{\"balancer\":\"%s\",\"n\":%lld,\"ranks\":%d,\"steps\":%d,\"every\":%d,\"rate_pairs_per_s\":%.4g,"
        "\"interactions_per_particle\":%.1f,\"imbalance\":{\"mean\":%.4f,\"max\":%.4f,\"last\":%.4f},"
        "\"time_s\":{\"steps\":%.6g,\"balancing\":%.6g,\"total\":%.6g,\"exchange\":%.6g},"
        "\"tried\":%d,\"taken\":%d,\"moved\":%lld,\"saved\":{",
        way.name.c_str(), static_cast<long long>(arguments.n), arguments.machine.ranks, arguments.steps,
        arguments.every, arguments.machine.rate,
        way.interactions / static_cast<double>(arguments.n) / arguments.steps, way.mean_imbalance(),
        *std::max_element(way.imbalance.begin(), way.imbalance.end()), way.imbalance.back(), way.steps_s,
        way.balancing_s, way.total_s(), way.exchange_s, way.tried, way.taken,
        static_cast<long long>(way.moved));
    const char* comma = "";
    for (const auto& other : ways)
        if (!is_balanced(*other)) {
            std::printf("%s\"%s\":%.4f", comma, other->name.c_str(), saved(way, *other));
            comma = ",";
        }
    std::printf("}}\n");
}

void write_curve(const std::string& file, const Ways& ways) {
    FILE* out = std::fopen(file.c_str(), "w");
    if (out == nullptr)
        throw std::runtime_error("cannot write " + file);
    for (const auto& way : ways) {
        std::fprintf(out, "%s", way->name.c_str());
        for (const double value : way->imbalance)
            std::fprintf(out, "\t%.4f", value);
        std::fprintf(out, "\n");
    }
    std::fclose(out);
}

void run(Arguments arguments) {
    Bodies bodies = cold_sphere(arguments.n);
    Gravity gravity(arguments.n);
    for (int repeat = 0; repeat < 5; ++repeat)
        gravity.compute(bodies);
    if (arguments.machine.rate <= 0)
        arguments.machine.rate = gravity.rate();
    const Ways ways = all_ways(bodies, arguments);
    for (int s = 0; s < arguments.steps; ++s) {
        gravity.compute(bodies);
        for (const auto& way : ways)
            way->step(bodies, s);
        kick_and_drift(bodies, arguments.end_time / arguments.steps);
    }
    for (const auto& way : ways)
        print(*way, arguments, ways);
    if (!arguments.curve.empty())
        write_curve(arguments.curve, ways);
    require(ways, arguments.required);
}

void set(Arguments& arguments, const std::string& key, const char* value) {
    if (key == "--n")
        arguments.n = std::atoll(value);
    else if (key == "--ranks")
        arguments.machine.ranks = std::atoi(value);
    else if (key == "--steps")
        arguments.steps = std::atoi(value);
    else if (key == "--every")
        arguments.every = std::atoi(value);
    else if (key == "--rate")
        arguments.machine.rate = std::atof(value);
    else if (key == "--gamma")
        arguments.machine.gamma_s = std::atof(value);
    else if (key == "--require")
        arguments.required = std::atof(value);
    else if (key == "--curve")
        arguments.curve = value;
    else
        throw std::runtime_error("unknown option " + key +
                                 "; known: --n --ranks --steps --every --rate --gamma --curve --require");
}

Arguments parse(int count, char** values) {
    Arguments arguments;
    for (int i = 1; i < count; i += 2) {
        if (i + 1 >= count)
            throw std::runtime_error(std::string(values[i]) + " needs a value");
        set(arguments, values[i], values[i + 1]);
    }
    if (arguments.n < 1 || arguments.machine.ranks < 1 || arguments.steps < 1 || arguments.every < 1)
        throw std::runtime_error("--n, --ranks, --steps and --every are 1 or more");
    return arguments;
}

} // namespace

int main(int count, char** values) {
    try {
        run(parse(count, values));
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "collapse_study: %s\n", error.what());
        return 1;
    }
}
