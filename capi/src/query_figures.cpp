// SPDX-License-Identifier: BSD-3-Clause
// Figures: one list a section, few enough to be searched from front to back.
#include "query_figures.hpp"

#include "core/error.hpp"

#include <algorithm>

namespace graft::capi {

namespace {

/// The numbers whose names lie in `group` ("" = without a group), as JSON members.
std::string members_of(const Figures::Numbers& numbers, const std::string& group) {
    std::string text;
    for (const auto& [name, value] : numbers) {
        const size_t dot = name.find('.');
        const std::string inside = dot == std::string::npos ? "" : name.substr(0, dot);
        if (inside == group)
            text += core::format("%s\"%s\":%.17g", text.empty() ? "" : ",",
                                 name.substr(dot == std::string::npos ? 0 : dot + 1).c_str(), value);
    }
    return text;
}

std::vector<std::string> groups_of(const Figures::Numbers& numbers) {
    std::vector<std::string> groups;
    for (const auto& [name, value] : numbers)
        if (const size_t dot = name.find('.'); dot != std::string::npos)
            if (std::ranges::find(groups, name.substr(0, dot)) == groups.end())
                groups.push_back(name.substr(0, dot));
    return groups;
}

void append(std::string& text, const std::string& member) {
    if (!member.empty())
        text += (text.empty() ? "" : ",") + member;
}

} // namespace

void Figures::set(const std::string& section, Content content) {
    Section fresh{section, std::move(content)};
    const auto found = std::ranges::find(sections_, section, &Section::name);
    if (found != sections_.end())
        *found = std::move(fresh);
    else
        sections_.push_back(std::move(fresh));
}

bool Figures::find(const std::string& key, double* value) const {
    for (const Section& section : sections_)
        for (const auto& [name, number] : section.content.numbers)
            if (key == section.name + "." + name) {
                *value = number;
                return true;
            }
    return false;
}

bool Figures::find_words(const std::string& key, std::string* words) const {
    for (const Section& section : sections_)
        for (const auto& [name, text] : section.content.words)
            if (key == section.name + "." + name) {
                *words = text;
                return true;
            }
    return false;
}

std::string Figures::json_members() const {
    std::string text;
    for (const Section& section : sections_) {
        std::string inside;
        for (const auto& [name, words] : section.content.words)
            append(inside, core::format("\"%s\":\"%s\"", name.c_str(), words.c_str()));
        append(inside, members_of(section.content.numbers, ""));
        for (const std::string& group : groups_of(section.content.numbers))
            append(inside, core::format("\"%s\":{%s}", group.c_str(),
                                        members_of(section.content.numbers, group).c_str()));
        append(text, core::format("\"%s\":{%s}", section.name.c_str(), inside.c_str()));
    }
    return text;
}

} // namespace graft::capi
