// SPDX-License-Identifier: BSD-3-Clause
// The flat YAML reader, on yaml-cpp's events (YAML::Parser::HandleNextDocument).
#include "deck/yaml_reader.hpp"

#include "deck/quantity.hpp"
#include "guard.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <sstream>

namespace graft::plugin {

using core::fail;
using core::Status;

namespace {

struct Level {
    bool is_map = false;
    std::string path;     // of the container
    bool has_key = false; // a map's key was read, its value comes next
    std::string key;      // the dotted key of the coming value
    YAML::Mark key_mark;
    size_t items = 0; // of a list
    bool in_list = false;
};

class Collector : public YAML::EventHandler {
  public:
    explicit Collector(const std::string& name) : name_(name) {}
    std::vector<Entry> take() { return std::move(entries_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
        if (levels_.empty())
            return; // an empty document
        if (expects_key())
            fail_at(mark, Status::deck_syntax, "a key is missing before ':'");
        add(mark, EntryKind::null, "");
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())
            fail_at(mark, Status::deck_syntax,
                    "an alias of a section or list; only single values can be used again");
        scalar(mark, found->second);
    }
    void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  const std::string& value) override {
        if (anchor != YAML::NullAnchor)
            anchors_[anchor] = value;
        scalar(mark, value);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                         YAML::EmitterStyle::value) override {
        open(mark, false);
    }
    void OnSequenceEnd() override { levels_.pop_back(); }
    void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                    YAML::EmitterStyle::value) override {
        open(mark, true);
    }
    void OnMapEnd() override { levels_.pop_back(); }

  private:
    [[noreturn]] void fail_at(const YAML::Mark& mark, Status status, const std::string& message) const {
        throw core::Error(status, place(name_, mark.line + 1, mark.column + 1) + message);
    }
    bool expects_key() const { return levels_.back().is_map && !levels_.back().has_key; }

    void scalar(const YAML::Mark& mark, const std::string& value) {
        if (levels_.empty())
            fail_at(mark, Status::deck_type, "the deck is a single value; expected 'key: value' lines");
        if (expects_key())
            take_key(mark, value);
        else
            add(mark, EntryKind::scalar, value);
    }

    void take_key(const YAML::Mark& mark, const std::string& word) {
        Level& level = levels_.back();
        level.key = level.path.empty() ? word : level.path + "." + word;
        if (word.empty() || level.key.size() > longest_deck_key)
            fail_at(mark, Status::deck_syntax,
                    word.empty() ? "an empty key" : "a key longer than 256 characters");
        level.key_mark = mark;
        level.has_key = true;
    }

    /// Enters the value that comes now into the list, and returns its key.
    std::string add(const YAML::Mark& mark, EntryKind kind, const std::string& value) {
        Level& level = levels_.back();
        Entry entry;
        entry.key = level.is_map ? level.key : level.path + "." + std::to_string(level.items);
        entry.text = value;
        entry.kind = kind;
        entry.in_list = level.in_list || !level.is_map;
        const YAML::Mark& at = level.is_map ? level.key_mark : mark;
        entry.key_line = at.line + 1;
        entry.key_column = at.column + 1;
        entry.value_line = mark.line + 1;
        entry.value_column = mark.column + 1;
        level.has_key = false;
        ++level.items;
        std::string key = entry.key;
        refuse_duplicate(entry, at);
        entries_.push_back(std::move(entry));
        return key;
    }

    void refuse_duplicate(const Entry& entry, const YAML::Mark& mark) {
        if (entries_.size() >= most_deck_entries)
            fail_at(mark, Status::deck_syntax, "more than 20000 keys; no deck needs that many");
        const auto [first, is_new] = lines_.try_emplace(entry.key, entry.key_line);
        if (!is_new)
            fail_at(mark, Status::deck_key,
                    "key '" + printable(entry.key) + "': given twice; the first is in line " +
                        std::to_string(first->second));
    }

    void open(const YAML::Mark& mark, bool is_map) {
        Level next;
        next.is_map = is_map;
        if (levels_.size() >= most_deck_depth)
            fail_at(mark, Status::deck_syntax, "nested deeper than 16 levels");
        if (levels_.empty() && !is_map)
            fail_at(mark, Status::deck_type, "the deck is a list; expected 'key: value' lines");
        if (!levels_.empty()) {
            if (expects_key())
                fail_at(mark, Status::deck_syntax, "a section or list stands where a key is expected");
            next.in_list = levels_.back().in_list || !levels_.back().is_map;
            next.path = add(mark, is_map ? EntryKind::section : EntryKind::list, "");
        }
        levels_.push_back(std::move(next));
    }

    const std::string& name_;
    std::vector<Entry> entries_;
    std::vector<Level> levels_;
    std::map<YAML::anchor_t, std::string> anchors_;
    std::map<std::string, int> lines_; // of the first entry of each key
};

/// The commonest reason of all, which yaml-cpp does not name: a line indented with a tab; "" when there is
/// none.
std::string tab_hint(std::string_view text) {
    int line = 1;
    for (size_t at = 0; at < text.size(); ++line) {
        const size_t first = text.find_first_not_of(' ', at);
        if (first != std::string_view::npos && text[first] == '\t')
            return "; line " + std::to_string(line) + " is indented with a tab, but YAML wants spaces";
        const size_t end = text.find('\n', at);
        at = end == std::string_view::npos ? text.size() : end + 1;
    }
    return "";
}

} // namespace

std::string place(const std::string& name, int line, int column) {
    return name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
}

std::vector<Entry> read_yaml(std::string_view text, const std::string& name) {
    if (text.size() > most_deck_bytes)
        fail(Status::deck_syntax, "%s:1:1: %zu bytes; expected at most %zu (is it a deck?)", name.c_str(),
             text.size(), most_deck_bytes);
    if (const size_t zero = text.find('\0'); zero != std::string_view::npos)
        fail(Status::deck_syntax, "%s:1:1: byte %zu is 0; expected YAML text (is it a deck?)", name.c_str(),
             zero);
    std::istringstream stream{std::string(text)};
    Collector collector(name);
    try {
        YAML::Parser parser(stream);
        Collector second(name);
        if (parser.HandleNextDocument(collector) && parser.HandleNextDocument(second))
            fail(Status::deck_syntax, "%s:1:1: more than one document ('---'); expected one", name.c_str());
    } catch (const YAML::Exception& error) {
        throw core::Error(Status::deck_syntax, place(name, error.mark.line + 1, error.mark.column + 1) +
                                                   "not valid YAML: " + error.msg + tab_hint(text));
    }
    return collector.take();
}

} // namespace graft::plugin
