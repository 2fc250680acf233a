// SPDX-License-Identifier: BSD-3-Clause
// Named numbers and words of the last decompose, balance and migrate, for query and query_text.
//
// A figure that does not exist (yet) is not there: never a zero that means "unknown".
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace graft::capi {

class Figures {
  public:
    using Numbers = std::vector<std::pair<std::string, double>>; // names may have a group: "time_s.cuts"
    struct Content {
        Numbers numbers;
        std::vector<std::pair<std::string, std::string>> words = {}; // texts, such as a decision's name
    };

    /// Replaces all figures of a section ("decompose").
    void set(const std::string& section, Content content);
    /// The same with what make() returns, after the outputs have been written: a small allocation refused by
    /// the system leaves the figures out, the call has succeeded all the same.
    template <typename Make>
    void note(const char* section, Make&& make) noexcept {
        try {
            set(section, make());
        } catch (...) {
            sections_.clear();
        }
    }
    void clear() noexcept { sections_.clear(); }

    bool empty() const { return sections_.empty(); }
    /// "decompose.time_s.cuts"; false when there is no such figure.
    bool find(const std::string& key, double* value) const;
    bool find_words(const std::string& key, std::string* words) const;
    /// `"decompose":{...},"balance":{...}`, without braces around it; "" when empty.
    std::string json_members() const;

  private:
    struct Section {
        std::string name;
        Content content;
    };
    std::vector<Section> sections_;
};

} // namespace graft::capi
