// SPDX-License-Identifier: BSD-3-Clause
// See argument_reader.hpp.
#include "study/tools/argument_reader.hpp"

#include "core/error.hpp"

#include <cmath>
#include <cstdlib>

namespace graft::study {

using core::fail;
using core::Status;

ArgumentReader::ArgumentReader(const char* tool, const ToolArguments& arguments) : tool_(tool) {
    for (const auto& [key, text] : arguments) {
        if (key.starts_with("machine."))
            model::set_machine(machine_, std::string_view(key).substr(8), text);
        else
            texts_[key] = text;
    }
}

std::string ArgumentReader::text(const std::string& key, const std::string& otherwise) {
    known_ += (known_.empty() ? "" : ", ") + key;
    const auto found = texts_.find(key);
    if (found == texts_.end())
        return otherwise;
    std::string value = found->second;
    texts_.erase(found);
    return value;
}

double ArgumentReader::number(const std::string& key, double otherwise, double least, double most) {
    const std::string value = text(key, "");
    if (value.empty())
        return otherwise;
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    if (*end != '\0' || !(number >= least) || !(number <= most))
        fail(Status::argument, "%s: argument '%s: %s' is not a number from %g to %g", tool_.c_str(),
             key.c_str(), value.c_str(), least, most);
    return number;
}

int64_t ArgumentReader::whole(const std::string& key, int64_t otherwise, int64_t least, int64_t most) {
    const double value =
        number(key, static_cast<double>(otherwise), static_cast<double>(least), static_cast<double>(most));
    if (value != std::floor(value))
        fail(Status::argument, "%s: argument '%s: %g' is not a whole number", tool_.c_str(), key.c_str(),
             value);
    return static_cast<int64_t>(value);
}

std::string ArgumentReader::word(const std::string& key, std::initializer_list<const char*> words) {
    const std::string value = text(key, *words.begin());
    std::string list;
    for (const char* one : words) {
        if (value == one)
            return value;
        list += (list.empty() ? "" : ", ") + std::string(one);
    }
    fail(Status::argument, "%s: argument '%s: %s'; expected one of: %s", tool_.c_str(), key.c_str(),
         value.c_str(), list.c_str());
}

void ArgumentReader::finish() const {
    if (!texts_.empty())
        fail(Status::argument, "%s: there is no argument '%s'; known: %s", tool_.c_str(),
             texts_.begin()->first.c_str(), known_.c_str());
}

} // namespace graft::study
