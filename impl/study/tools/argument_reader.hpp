// SPDX-License-Identifier: BSD-3-Clause
// Arguments of a tool by name, with defaults and ranges; every one must be asked for, so that none is
// overlooked.
#pragma once

#include "study/tools/tools.hpp"
#include "near/choice/choose.hpp" // model::Machine

#include <initializer_list>
#include <map>
#include <string>

namespace graft::study {

/// Keys "machine.KEY" fill machine(); `tool` begins the messages. All of it throws Error(argument) or what
/// model::set_machine throws.
class ArgumentReader {
  public:
    ArgumentReader(const char* tool, const ToolArguments& arguments);

    const model::Machine& machine() const { return machine_; }
    bool has(const std::string& key) const { return texts_.contains(key); }
    std::string text(const std::string& key, const std::string& otherwise);
    double number(const std::string& key, double otherwise, double least, double most);
    int64_t whole(const std::string& key, int64_t otherwise, int64_t least, int64_t most);
    /// One of `words`; the first where the key is absent.
    std::string word(const std::string& key, std::initializer_list<const char*> words);
    bool flag(const std::string& key) { return word(key, {"false", "true"}) == "true"; }
    /// After all have been asked for.
    void finish() const;

  private:
    std::string tool_;
    model::Machine machine_;
    std::map<std::string, std::string> texts_;
    std::string known_;
};

} // namespace graft::study
