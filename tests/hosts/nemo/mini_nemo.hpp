// SPDX-License-Identifier: BSD-3-Clause
// A NEMO in small: how it finds, opens and calls acceleration fields, learned from its sources
// (acceleration.cc, loadobjDL.c, falcON's externacc.h and nbody.cc). Faithful in what a field can notice:
// search in $ACCPATH or $POTPATH, dlopen with RTLD_LAZY and nothing else, handles never closed, names with up
// to two underscores appended, numbers of accpars parsed into an array of 64, error() and warning() exported
// by the program, one call a block of bodies with masses and flags only where they are needed, packed
// vectors, float or double, potentials in an array of their own (pex), indicator 2 beside self-gravity and 0
// without.
#pragma once

#include <string>
#include <vector>

using AccelerationFunction = void (*)(int, double, int, const void*, const void*, const void*, const int*,
                                      void*, void*, int, char);

namespace mini {

/// What NEMO's get_acceleration answers.
struct Field {
    AccelerationFunction function = nullptr;
    bool need_masses = false, need_velocities = false;
};

/// accname, accpars and accfile as a user gives them; empty is "not given". Ends the program by error() as
/// NEMO does.
Field get_acceleration(const std::string& name, const std::string& parameters, const std::string& file);

/// The bodies of one snapshot block, as falcON keeps them: packed arrays of one type.
template <typename T>
struct Block {
    std::vector<T> mass, position, velocity, pex, acceleration;
    std::vector<int> flags;
    int size() const { return static_cast<int>(mass.size()); }
};

constexpr int active_bit = 1;

/// externacc.h: acceleration::set(snapshot, all, add).
template <typename T>
void set(const Field& field, double time, std::vector<Block<T>>& blocks, bool all, int add) {
    for (Block<T>& b : blocks)
        field.function(3, time, b.size(), field.need_masses ? b.mass.data() : nullptr, b.position.data(),
                       field.need_velocities ? b.velocity.data() : nullptr, all ? nullptr : b.flags.data(),
                       b.pex.data(), b.acceleration.data(), add, sizeof(T) == sizeof(float) ? 'f' : 'd');
}

/// Warnings since the program began.
extern std::vector<std::string> warnings;

} // namespace mini
