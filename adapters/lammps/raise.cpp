// SPDX-License-Identifier: BSD-3-Clause
// Makes a text LAMMPS's error within a run (functions.h), by the call that its own fixes make: Error::all of its pointer `error`.
//
// With exceptions that throws; it passes the frames of this library (compiled with -fexceptions) and ends in whoever began
// the run: the main program of lmp, which stops, or a function of the C library, which keeps the text for has_error. No
// function of the C library would do: they all keep what they throw, and lmp would go on with its next command, without forces.
//
// Of LAMMPS this takes that `error` is the second pointer of the class LAMMPS, which has no virtual functions: so it is in all
// versions. The function's name has std::string's in it: where LAMMPS has another one than we have, it is not found.
#include "functions.h"

#include <string>

namespace {

constexpr int error_to_all = 2;               // library.h: LMP_ERROR_ALL
constexpr int no_word_of_the_input = -2;      // error.h: NOPOINTER
constexpr const char* place = "graft_lammps"; // LAMMPS names a file and a line

// A member function is called as a function whose first argument is the object.
using of_all = void (*)(void* error, const std::string& file, int line, const std::string& text);
using of_all_and_word = void (*)(void* error, const std::string& file, int line, int word, const std::string& text);

// The way that is left, for the C library alone: a function that quotes the name of a fix which it cannot find. Without
// exceptions it does not return; with them the run is over after this step.
void keep_as_error(const lammps_functions& table, void* lammps, const char* text) {
    const bool pending = table.has_exceptions() != 0 && table.has_error(lammps) != 0;
    if (pending && table.error != nullptr) // nobody took the last one: the host would go on without forces
        table.error(lammps, error_to_all, text);
    table.set_energy(lammps, text, 0.0);
    table.force_timeout(lammps);
}

} // namespace

void lammps_raise(const lammps_functions* table, void* lammps, const char* text) {
    void* error = static_cast<void**>(lammps)[1];
    if (table->error_all != nullptr)
        reinterpret_cast<of_all>(table->error_all)(error, place, 0, text);
    else if (table->error_all_word != nullptr)
        reinterpret_cast<of_all_and_word>(table->error_all_word)(error, place, 0, no_word_of_the_input, text);
    else
        keep_as_error(*table, lammps, text);
}
