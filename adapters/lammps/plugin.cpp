// SPDX-License-Identifier: BSD-3-Clause
// For a LAMMPS with the package PLUGIN, and without PYTHON: after `plugin load libgraft_lammps.so` a deck has the command
//
//     graft attach FIX DECK
//     graft detach FIX
//
// with the arguments of graft_lammps_attach. Nothing of LAMMPS is included here, too: this takes what a plugin is (Plugin
// below; "Writing plugins" of LAMMPS's manual) and that a command's virtual functions are its destructor and command(), in
// this order. So it is in all versions that have plugins.
#include "functions.h"
#include "graft_lammps.h"

#include <cstdio>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

/// lammpsplugin_t, of a style whose maker takes LAMMPS alone.
struct Plugin {
    const char *version, *style, *name, *info, *author;
    void* (*create)(void* lammps);
    void* handle; // of this library, for plugin unload
};

class Command {
  public:
    virtual ~Command() = default;
    virtual void command(int count, char** words) = 0;
};

/// Ends the command, and the run of the deck, by LAMMPS's own hand where there is a way.
[[noreturn]] void fail(void* lammps, const std::string& text) {
    const lammps_functions* host = nullptr;
    if (lammps_find(&host) == GRAFT_OK)
        lammps_raise(host, lammps, text.c_str());
    throw std::runtime_error(text);
}

/// What decks attached and have not detached, by LAMMPS and fix. What programs attached is theirs.
std::map<std::pair<void*, std::string>, graft_lammps*> attached;

/// Frees those of this LAMMPS whose fix is gone (`clear`, `unfix`).
void forget_gone(void* lammps, const lammps_functions& host) {
    for (auto it = attached.begin(); it != attached.end();) {
        const bool gone = it->first.first == lammps && host.has_id(lammps, "fix", it->first.second.c_str()) == 0;
        if (gone)
            graft_lammps_detach(&it->second);
        it = gone ? attached.erase(it) : std::next(it);
    }
}

void attach(void* lammps, const char* fix, const char* deck) {
    const lammps_functions* host = nullptr;
    graft_lammps* handle = nullptr;
    if (lammps_find(&host) != GRAFT_OK)
        fail(lammps, graft_lammps_error());
    forget_gone(lammps, *host);
    const std::pair<void*, std::string> name(lammps, fix);
    if (graft_lammps_attach(lammps, fix, deck, &handle) != GRAFT_OK)
        fail(lammps, graft_lammps_error());
    graft_lammps_detach(&attached[name]); // one before it through this fix, which calls the new one now
    attached[name] = handle;
}

void detach(void* lammps, const char* fix) {
    const auto found = attached.find({lammps, fix});
    if (found == attached.end())
        fail(lammps, std::string("graft detach: no `graft attach ") + fix + " ...` came before");
    graft_lammps* handle = found->second;
    attached.erase(found);
    if (graft_lammps_detach(&handle) != GRAFT_OK)
        fail(lammps, graft_lammps_error());
}

class GraftCommand final : public Command {
  public:
    explicit GraftCommand(void* lammps) : lammps_(lammps) {}

    void command(int count, char** words) override {
        const std::vector<std::string> given(words, words + count); // LAMMPS's next command, which may be ours, takes their place
        const std::string what = count > 0 ? given[0] : "";
        if (what == "attach" && (count == 2 || count == 3))
            attach(lammps_, given[1].c_str(), count == 3 ? given[2].c_str() : nullptr);
        else if (what == "detach" && count == 2)
            detach(lammps_, given[1].c_str());
        else
            fail(lammps_, "graft " + what + ": expected `graft attach FIX [DECK]` or `graft detach FIX`");
    }

  private:
    void* lammps_;
};

void* create(void* lammps) {
    return static_cast<Command*>(new GraftCommand(lammps));
}

/// As LAMMPS writes its version: "2 Aug 2023" of 20230802.
std::string version_of(void* lammps) {
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const lammps_functions* host = nullptr;
    const int number = lammps_find(&host) == GRAFT_OK ? host->version(lammps) : 0;
    const int month = number / 100 % 100;
    if (month < 1 || month > 12)
        return "";
    char text[32];
    std::snprintf(text, sizeof text, "%d %s %d", number % 100, months[month - 1], number / 10000);
    return text;
}

} // namespace

extern "C" GRAFT_LAMMPS_EXPORT void lammpsplugin_init(void* lammps, void* handle, void* add);

/// Called by LAMMPS once the library is open.
void lammpsplugin_init(void* lammps, void* handle, void* add) {
    static std::string version; // LAMMPS keeps the pointer
    version = version_of(lammps);
    Plugin plugin{};
    plugin.version = version.c_str();
    plugin.style = "command";
    plugin.name = "graft";
    plugin.info = "Graft: gravity and Coulomb forces";
    plugin.author = "the authors of Graft";
    plugin.create = create;
    plugin.handle = handle;
    reinterpret_cast<void (*)(Plugin*, void*)>(add)(&plugin, lammps);
}
