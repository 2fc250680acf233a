// SPDX-License-Identifier: BSD-3-Clause
// One table of names serves both query by key and the JSON text.
#include "engine/report.hpp"

#include "core/error.hpp"
#include "core/memory.hpp"
#include "settings/settings.hpp"

#include <cstring>
#include <vector>

namespace graft::engine {

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
            {"interactions", "m2l", report.far_cells},
            {"", "order", static_cast<double>(report.order)},
            {"tree", "nodes", static_cast<double>(report.nodes)},
            {"tree", "leaves", static_cast<double>(report.leaves)},
            {"tree", "groups", static_cast<double>(report.groups)},
            {"tree", "levels", static_cast<double>(report.levels)},
            {"bytes", "lists", static_cast<double>(report.bytes.lists)},
        };
        list.insert(list.end(), tree.begin(), tree.end());
    }
    if (report.on_device()) {
        const Report::Device& d = report.device;
        const std::vector<Figure> device = {
            {"bytes", "device", static_cast<double>(d.bytes)},
            {"bytes", "device_peak", static_cast<double>(d.bytes_peak)},
            {"bytes", "pinned", static_cast<double>(d.bytes_pinned)},
            {"device", "ordinal", static_cast<double>(d.ordinal)},
            {"device", "allocations", static_cast<double>(d.allocations)},
            {"device", "waits", static_cast<double>(d.waits)},
            {"device", "repeats", static_cast<double>(d.repeats)},
            {"device", "lists_built", static_cast<double>(d.lists_built)},
            {"device", "lists_reused", static_cast<double>(d.lists_reused)},
            {"device", "launches", static_cast<double>(d.launches)},
            {"device", "batches", static_cast<double>(d.batches)},
            {"device", "graph", d.graph ? 1.0 : 0.0},
        };
        list.insert(list.end(), device.begin(), device.end());
        if (d.fed.buffer > 0)
            list.insert(list.end(), {{"time_s", "feed", d.fed.wall_s},
                                     {"time_s", "feed_append", d.fed.append_s},
                                     {"time_s", "feed_call", d.fed.call_s},
                                     {"time_s", "feed_wait", d.fed.wait_s}});
        if (t.p2p > 0 || t.m2p > 0) // of computations that take them apart
            list.insert(list.end(), {{"time_s", "p2p", t.p2p}, {"time_s", "m2p", t.m2p}});
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
    if (report.ewald_alpha > 0)
        list.push_back({"ewald", "alpha", report.ewald_alpha});
    list.push_back({"bytes", "total", static_cast<double>(report.bytes.total)});
    list.push_back({"bytes", "peak", static_cast<double>(report.bytes.peak)});
    list.push_back({"", "allocations", static_cast<double>(report.allocations)});
    return list;
}

std::string full_name(const Figure& figure) {
    return figure.group[0] == '\0' ? figure.name : std::string(figure.group) + "." + figure.name;
}

/// `text` without what would end a JSON string.
std::string plain(const char* text) {
    std::string words = text;
    for (char& c : words)
        if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20)
            c = '\'';
    return words;
}

const char* name_of(settings::Method method) {
    return method == settings::Method::direct ? "direct" : method == settings::Method::tree ? "tree" : "reference";
}

const char* name_of(settings::Precision precision) {
    return precision == settings::Precision::fp32    ? "fp32"
           : precision == settings::Precision::mixed ? "mixed"
                                                     : "fp64";
}

} // namespace

void Report::forget_counts() {
    has_tree = false;
    ewald_alpha = 0;
    pairs = cells = far_cells = 0;
    local.clear();
    ranks = {};
}

void Report::finish(const settings::Settings& settings, const core::Memory& memory) {
    valid = true;
    method = name_of(settings.method);
    order = settings.order;
    precision = settings.method == settings::Method::reference ? "reference" : name_of(settings.precision);
    bytes.total = memory.bytes_held();
    bytes.peak = memory.bytes_peak();
    allocations = memory.allocations();
}

bool Report::on_device() const {
    return std::strcmp(backend, "gpu") == 0;
}

bool Report::find_words(const std::string& key, std::string* words) const {
    const struct {
        const char* name;
        const char* text;
    } texts[] = {{"backend", backend},
                 {"simd", simd},
                 {"method", method},
                 {"precision", precision},
                 {"device", on_device() ? device.name : ""},
                 {"note", on_device() ? device.note : ""},
                 {"kernel", on_device() ? device.kernel : ""},
                 {"local", local.c_str()}};
    for (const auto& one : texts)
        if (key == one.name && one.text[0] != '\0') {
            *words = one.text;
            return true;
        }
    return false;
}

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
        core::format("{\"method\":\"%s\",\"backend\":\"%s\",\"simd\":\"%s\",\"precision\":\"%s\"", method,
                     backend, simd, precision);
    if (on_device())
        text += ",\"device_name\":\"" + plain(device.name) + "\"";
    if (std::string words; find_words("note", &words))
        text += ",\"note\":\"" + plain(words.c_str()) + "\"";
    if (std::string words; find_words("kernel", &words))
        text += ",\"kernel\":\"" + words + "\"";
    const std::vector<Figure> list = figures(*this);
    for (const char* group : {"", "time_s", "interactions", "tree", "ewald", "ranks", "bytes", "device"}) {
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

} // namespace graft::engine
