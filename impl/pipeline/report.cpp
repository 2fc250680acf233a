// One table of names serves both query by key and the JSON text.
#include "pipeline/report.hpp"

#include "core/error.hpp"

#include <vector>

namespace graft::pipeline {

namespace {

struct Figure {
    const char* group; // "" = top level
    const char* name;
    double value;
};

std::vector<Figure> figures(const Report& report) {
    const Report::Times& t = report.time_s;
    std::vector<Figure> list = {
        {"", "n", static_cast<double>(report.n)},
        {"", "targets", static_cast<double>(report.targets)},
        {"", "threads", static_cast<double>(report.threads)},
        {"time_s", "import", t.import},
        {"time_s", "forces", t.forces},
        {"time_s", "output", t.output},
        {"time_s", "total", t.total},
        {"interactions", "p2p", report.pairs},
    };
    if (report.has_tree) {
        const std::vector<Figure> tree = {
            {"time_s", "sort", t.sort},
            {"time_s", "tree", t.tree},
            {"time_s", "moments", t.moments},
            {"time_s", "lists", t.lists},
            {"interactions", "m2p", report.cells},
            {"tree", "nodes", static_cast<double>(report.nodes)},
            {"tree", "leaves", static_cast<double>(report.leaves)},
            {"tree", "groups", static_cast<double>(report.groups)},
            {"tree", "levels", static_cast<double>(report.levels)},
            {"bytes", "lists", static_cast<double>(report.bytes_lists)},
        };
        list.insert(list.end(), tree.begin(), tree.end());
    }
    if (report.ranks.size > 0) {
        const Report::Ranks& r = report.ranks;
        const std::vector<Figure> ranks = {
            {"time_s", "ranks", t.ranks},
            {"ranks", "size", static_cast<double>(r.size)},
            {"ranks", "rank", static_cast<double>(r.rank)},
            {"ranks", "bytes_sent", static_cast<double>(r.bytes_sent)},
            {"ranks", "messages", static_cast<double>(r.messages)},
            {"ranks", "collectives", static_cast<double>(r.collectives)},
            {"ranks", "wait_s", r.wait_s},
            {"ranks", "imbalance", r.imbalance},
            {"ranks", "rounds", static_cast<double>(r.rounds)},
            {"ranks", "nodes", static_cast<double>(r.nodes)},
            {"ranks", "particles", static_cast<double>(r.particles)},
        };
        list.insert(list.end(), ranks.begin(), ranks.end());
    }
    list.push_back({"bytes", "total", static_cast<double>(report.bytes_total)});
    list.push_back({"bytes", "peak", static_cast<double>(report.bytes_peak)});
    list.push_back({"", "allocations", static_cast<double>(report.allocations)});
    return list;
}

std::string full_name(const Figure& figure) {
    return figure.group[0] == '\0' ? figure.name : std::string(figure.group) + "." + figure.name;
}

} // namespace

bool Report::find(const std::string& key, double* value) const {
    for (const Figure& figure : figures(*this))
        if (full_name(figure) == key) {
            *value = figure.value;
            return true;
        }
    return false;
}

std::string Report::json() const {
    std::string text =
        core::format("{\"method\":\"%s\",\"backend\":\"cpu\",\"simd\":\"%s\",\"precision\":\"%s\"", method,
                     simd, precision);
    const std::vector<Figure> list = figures(*this);
    for (const char* group : {"", "time_s", "interactions", "tree", "ranks", "bytes"}) {
        std::string members;
        for (const Figure& figure : list)
            if (std::string(figure.group) == group)
                members += core::format(",\"%s\":%.17g", figure.name, figure.value);
        if (members.empty())
            continue;
        text += group[0] == '\0' ? members : core::format(",\"%s\":{%s}", group, members.c_str() + 1);
    }
    return text + "}";
}

} // namespace graft::pipeline
